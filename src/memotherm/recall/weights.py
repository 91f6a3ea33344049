"""How much each kind of evidence counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memotherm.embed.protocol import ScoreTexts
from memotherm.model import Priority, Tier
from memotherm.settings import Settings

__all__ = [
    "DEFAULT_RANKING",
    "DEFAULT_WEIGHTS",
    "USE_HALF_LIFE_DAYS",
    "FusionWeights",
    "RankingOptions",
    "RankingWeights",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class RankingWeights:
    """The parameters of the default ranking. They are not settings: evaluations change one of them at a time."""

    #: What full coverage, a named author and a named time add, in units of the embedder's spread.
    coverage: float = 1.43
    author: float = 0.6
    time: float = 0.6
    #: The weight of a word that frames a question ("how often", "recently"), against 1 for other words.
    framing_word: float = 0.25
    #: The weight of a word of the same meaning as one of the query's, where the embedder hardly knows the language.
    similar_word: float = 0.7
    #: The weight of the words of the previous turn of a conversation, and of the one before that.
    previous_turns: tuple[float, ...] = (0.7, 0.5)
    #: How strongly the length of a long text reduces its coverage.
    length_damping: float = 0.25
    #: The share of a difference that is scaled by the range of the candidates' values.
    relative: float = 0.5
    #: How many of the best candidates are searched for versions of the same statement.
    versions: int = 20


DEFAULT_WEIGHTS = RankingWeights()


@dataclass(frozen=True, kw_only=True, slots=True)
class RankingOptions:
    """What a caller may choose about ranking beside the settings."""

    weights: RankingWeights = DEFAULT_WEIGHTS
    reranker: ScoreTexts | None = None


DEFAULT_RANKING = RankingOptions()

#: The vector weight and the text weight for which the default ranking was measured.
_DEFAULT_RATIO = (0.7, 0.3)
#: The maximum that recent use adds to a score, and the days after which that has halved.
_USE_WEIGHT = 0.02
USE_HALF_LIFE_DAYS = 30
#: Subtracted from the scores of warm and cold memories by a query over all tiers.
_WARM_PENALTY = 0.02
_COLD_PENALTY = 0.1


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FusionWeights:
    """What the settings say about fusion, use and priorities, and the weights of the default ranking."""

    vector: float
    text: float
    fusion: str
    use: float
    #: What is added for each priority, by its rank.
    boosts: NDArray[np.float64]
    #: What is subtracted in each tier, by its rank; nothing unless a query spans all tiers on equal terms.
    penalties: NDArray[np.float64]
    ranking: RankingWeights = DEFAULT_WEIGHTS

    @property
    def shares(self) -> tuple[float, float]:
        """What closeness and coverage count in the default fusion; 1 and 1 at the default ratio of their weights."""
        vector, text = self.vector / _DEFAULT_RATIO[0], self.text / _DEFAULT_RATIO[1]
        most = max(vector, text) or 1.0
        return vector / most, text / most

    @classmethod
    def of(
        cls, settings: Settings, *, penalise: bool = False, ranking: RankingWeights = DEFAULT_WEIGHTS
    ) -> FusionWeights:
        """Return the weights that the settings ask for."""
        penalties = {Tier.WARM: _WARM_PENALTY, Tier.COLD: _COLD_PENALTY} if penalise else {}
        return cls(
            vector=settings.vector_weight,
            text=settings.text_weight,
            fusion=settings.fusion,
            use=_USE_WEIGHT,
            boosts=np.array([getattr(settings, f"boost_{priority}") for priority in Priority], np.float64),
            penalties=np.array([penalties.get(tier, 0.0) for tier in Tier], np.float64),
            ranking=ranking,
        )
