"""The values that the stages of a recall share: weights, the question, the evidence, ranked candidates, the state."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, repeat
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from memotherm.embed.calibration import Calibration
from memotherm.embed.protocol import ScoreTexts
from memotherm.model import Priority, Tier, Why
from memotherm.settings import Settings
from memotherm.storage.candidates import Candidates
from memotherm.storage.values import Identity, Record, Scores, Search
from memotherm.text.framing import Framed
from memotherm.vectors.vectorizer import QueryVector


@dataclass(frozen=True, kw_only=True, slots=True)
class RankingWeights:
    """The parameters of the default ranking. They are not settings: evaluations change one of them at a time."""

    #: What full coverage, a named author and a named time add, in units of the embedder's spread.
    coverage: float = 1.25
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
_COLD_PENALTY = 0.25


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

    def plain(self) -> FusionWeights:
        """Return the weights of closeness and coverage, with nothing to be added to their mean."""
        fusion = self.fusion if self.fusion == "rrf" else "exact"
        return replace(self, fusion=fusion, use=0.0, boosts=self.boosts * 0, penalties=self.penalties * 0)

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
            boosts=np.array([getattr(settings.priority_boosts, priority) for priority in Priority], np.float64),
            penalties=np.array([penalties.get(tier, 0.0) for tier in Tier], np.float64),
            ranking=ranking,
        )


_PRIORITIES = tuple(Priority)


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A query and everything that limits its answer, except the number of hits."""

    text: str
    search: Search
    #: The embedder that serves searches there.
    serving: Identity | None
    min_score: float = 0.0
    #: Whether candidates without any relevance are hits as well.
    irrelevant: bool = False
    #: Whether a score is the weighted mean of closeness and coverage and nothing else, as in a search of notes.
    plain: bool = False
    #: Whether lower tiers rank lower (queries that span all tiers).
    penalise: bool = False
    #: More spaces, of which only the pinned memories are returned.
    pinned_spaces: tuple[int, ...] = ()
    #: Returns the spaces of past sessions, which are searched if the others have no answer.
    past_spaces: Callable[[], tuple[int, ...]] | None = None

    @property
    def all_spaces(self) -> tuple[int, ...]:
        """The spaces that are searched, and those of which only the pinned memories are returned."""
        return tuple(dict.fromkeys((*self.search.spaces, *self.pinned_spaces)))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Evidence:
    """What is known about the candidates, one row for each."""

    nos: NDArray[np.int64]
    #: The cosine of query and memory; NaN when there are no vectors to compare.
    cosines: NDArray[np.float64]
    #: What the cosines mean.
    calibration: Calibration
    #: The results of the text search, by number.
    text_scores: Scores
    #: The ranks of priorities and tiers.
    priorities: NDArray[np.int64]
    tiers: NDArray[np.int64]
    access_counts: NDArray[np.float64]
    #: The time of the last use, in microseconds; NaN when never used.
    accessed: NDArray[np.float64]
    #: The share of the query's words that it has.
    coverage: NDArray[np.float64]
    #: How likely the question is about what this author wrote, in [0, 1].
    authors: NDArray[np.float64]
    #: How near it is to a time that the question names, in [0, 1].
    nearness: NDArray[np.float64]
    #: How many of the last rows are pinned memories.
    pinned: int = 0
    #: The calibrated cosines, in [0, 1].
    closeness: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "closeness", self.calibration.relevance(self.cosines))

    @property
    def scale(self) -> slice:
        """The rows whose values scale the scores: all but pinned memories, unless there are no others."""
        others = len(self.nos) - self.pinned
        return slice(others or None)

    @property
    def texts(self) -> NDArray[np.float64]:
        """The score of the text search; NaN when no word matches."""
        return column_of(self.nos.tolist(), self.text_scores)


def column_of(nos: Sequence[int], scores: Scores) -> NDArray[np.float64]:
    """Return the score of each memory; NaN where there is none."""
    return np.fromiter(map(scores.get, nos, repeat(math.nan)), np.float64, len(nos))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ScoreParts:
    """The parts of the scores of some candidates, one row for each, as in their evidence."""

    evidence: Evidence
    #: The fused evidence, before use and boosts; thresholds look at it.
    relevance: NDArray[np.float64]
    use: NDArray[np.float64]
    boost: NDArray[np.float64]
    penalty: NDArray[np.float64]


class Ranked(NamedTuple):
    """A candidate with its score; `why` explains the parts of it."""

    no: int
    score: float
    #: The row of the candidate in the evidence and in the parts of the score.
    row: int
    parts: ScoreParts
    #: The row that tells how relevant it is: its own, or that of a memory that it has superseded and stands for.
    judged: int
    #: What an exchange with another version of the same statement, or the limit of an earlier block, has added.
    newer: float = 0.0
    #: The reranker's score.
    rerank: float | None = None
    #: "newer" or "older" if it stands behind, or before, another version of the same statement because of its tier.
    version: str | None = None

    @property
    def priority(self) -> Priority:
        """The candidate's priority."""
        return _PRIORITIES[self.parts.evidence.priorities.item(self.row)]

    @property
    def relevance(self) -> float:
        """The fused evidence, before use and boosts; thresholds look at it."""
        return self.parts.relevance.item(self.judged)

    @property
    def penalty(self) -> float:
        """What was subtracted because of its tier."""
        return self.parts.penalty.item(self.row)

    @property
    def coverage(self) -> float:
        """The share of the query's words that it has."""
        return self.parts.evidence.coverage.item(self.judged)

    @property
    def closeness(self) -> float:
        """The calibrated cosine, in [0, 1]; NaN without a vector."""
        return self.parts.evidence.closeness.item(self.judged)

    @property
    def author(self) -> float:
        """How likely the query is about what its author wrote, in [0, 1]."""
        return self.parts.evidence.authors.item(self.row)

    @property
    def nearness(self) -> float:
        """How near it is to a time that the query names, in [0, 1]."""
        return self.parts.evidence.nearness.item(self.row)

    @property
    def why(self) -> Why:
        """The parts of the score."""
        row, parts = self.row, self.parts
        evidence = parts.evidence
        coverage = evidence.coverage.item(row)
        return Why(
            vector=None if math.isnan(evidence.cosines.item(row)) else evidence.closeness.item(row),
            text=min(1.0, coverage) if coverage or self.no in evidence.text_scores else None,
            author=bool(evidence.authors.item(row)),
            time=evidence.nearness.item(row),
            relevance=parts.relevance.item(row),
            use=parts.use.item(row),
            boost=parts.boost.item(row),
            tier=-parts.penalty.item(row),
            newer=self.newer,
            rerank=self.rerank,
            version=self.version,
        )


class RankedBlock(Sequence[Ranked]):
    """The candidates of a block, best first; a `Ranked` is made of each when it is read."""

    __slots__ = ("_nos", "_scores", "parts", "rows")

    def __init__(self, nos: list[int], scores: list[float], rows: list[int], parts: ScoreParts) -> None:
        self._nos = nos
        self._scores = scores
        #: The rows of the candidates in the evidence and in the parts of the scores.
        self.rows = rows
        self.parts = parts

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> Ranked: ...
    @overload
    def __getitem__(self, place: slice) -> list[Ranked]: ...
    def __getitem__(self, place: int | slice) -> Ranked | list[Ranked]:
        if isinstance(place, int):
            return Ranked(self._nos[place], self._scores[place], self.rows[place], self.parts, self.rows[place])
        columns = zip(self._nos[place], self._scores[place], self.rows[place], strict=True)
        return [Ranked(no, score, row, self.parts, row) for no, score, row in columns]

    def __iter__(self) -> Iterator[Ranked]:
        return iter(self[:])

    def where(self, passing: NDArray[np.bool_]) -> RankedBlock:
        """Return the candidates whose rows pass."""
        kept = passing[self.rows].tolist()
        nos, scores = compress(self._nos, kept), compress(self._scores, kept)
        return RankedBlock(list(nos), list(scores), list(compress(self.rows, kept)), self.parts)

    def best_relevance(self) -> float | None:
        """Return the best relevance of the candidates; None without any."""
        return self.parts.relevance[self.rows].max().item() if self.rows else None

    def scores(self, count: int) -> list[tuple[int, float]]:
        """Return the numbers and the scores of the first candidates."""
        return list(zip(self._nos[:count], self._scores[:count], strict=True))


def scores_of(ranked: Sequence[Ranked], count: int) -> list[tuple[int, float]]:
    """Return the numbers and the scores of the first candidates."""
    if isinstance(ranked, RankedBlock):
        return ranked.scores(count)
    return [(candidate.no, candidate.score) for candidate in ranked[:count]]


def best_relevance(ranked: Sequence[Ranked]) -> float | None:
    """Return the best relevance of some candidates; None without any."""
    if isinstance(ranked, RankedBlock):
        return ranked.best_relevance()
    return max((candidate.relevance for candidate in ranked), default=None)


@dataclass(kw_only=True, slots=True)
class State:
    """What is known about one query so far; each stage adds its part."""

    question: Question
    #: How many candidates are wanted.
    depth: int
    #: When the query began, by `time.perf_counter_ns`.
    started: int = 0
    #: The number of the last event in the snapshot; None if the store does not know it.
    seen: int | None = None
    # From the question: without its framing, the words of that, and its vector
    framed: Framed
    terms: Mapping[str, float]
    query: QueryVector
    # From the candidates stage
    pinned_records: list[Record] = field(default_factory=list)
    vector_scores: Scores = field(default_factory=dict)
    text_scores: Scores = field(default_factory=dict)
    #: How many memories there are, and how many of them have each word.
    total: int = 0
    frequencies: Mapping[str, int] = field(default_factory=dict)
    #: Candidates are ranked in blocks; pinned memories are the last rows of the first.
    blocks: list[Candidates] = field(default_factory=list)
    pinned_rows: int = 0
    #: Words of the query, and those of another name of the same.
    also: list[tuple[Sequence[str], Sequence[str]]] = field(default_factory=list)
    # From the evidence stage, one for each block
    evidence: list[Evidence] = field(default_factory=list)
    # From the fusion stage, each best first
    ranked_blocks: list[RankedBlock] = field(default_factory=list)
    pinned: list[Ranked] = field(default_factory=list)
    # From the confidence stage
    confidence: float = 0.0
    # From the versions stage, best first
    ranked: Sequence[Ranked] = ()
    # Read by the caller
    records: Mapping[int, Record] = field(default_factory=dict)
    #: What did not work, in plain words.
    degraded: list[str] = field(default_factory=list)


#: One step of a recall: reads the state and adds to it.
Stage = Callable[[State], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Ranking:
    """All candidates of a query in order, the records of the best of them, and what did not work."""

    question: Question
    ranked: Sequence[Ranked] = ()
    #: Pinned memories, best first; they are not among `ranked`.
    pinned: list[tuple[Record, Ranked]] = field(default_factory=list)
    #: The memories of the best candidates by number, from the snapshot in which they were ranked.
    records: Mapping[int, Record] = field(default_factory=dict)
    #: How likely the best candidates answer the query at all, in [0, 1].
    confidence: float = 0.0
    degraded: tuple[str, ...] = ()
    #: When the query began, by `time.perf_counter_ns`.
    started: int = 0
    #: The number of the last event in the snapshot; None if the store does not know it.
    seen: int | None = None
