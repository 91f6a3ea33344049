"""The confidence stage: how likely the best candidates answer the query at all.

A search returns the nearest memories whatever was asked, also for "thanks". Confidence tells such queries from
those that the memories answer. It is a logistic function of what is known about the query and its candidates:

    closeness   how far the best cosine is above that of unrelated texts, in units of the embedder's spread;
                the more memories there are, the closer the best of them is to any query
    lead        how far the best cosine is above the median of the candidates, in the same units
    telling     whether the query has words that tell something about its subject
    covered     how much of those words the first candidate has, weighted by their rarity
    hint        whether the query names the author or the time of the first candidate

The weights were fitted on conversations, notes and small stores of facts, against prompts such as "thanks".
It depends on the first block of candidates only, so that it is the same for every limit.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from memotherm.embed.calibration import Calibration
from memotherm.recall.values import Evidence, State
from memotherm.recall.weights import DEFAULT_WEIGHTS
from memotherm.text.conversation import conversational_words

__all__ = ["EstimateConfidence", "Signs", "confidence"]

_DECIMALS = 4


class Signs(NamedTuple):
    """What confidence is estimated from."""

    #: In units of the embedder's spread; None without vectors.
    closeness: float | None
    lead: float
    #: The natural logarithm of the number of memories.
    size: float
    #: 0 for no telling word, 0.5 for one, 0.75 for two and so on.
    telling: float
    #: From 0 to 1 for all telling words.
    covered: float
    #: From 0 to 1.
    hint: float


class EstimateConfidence:
    """Adds the confidence of a query; it is 0 without words or candidates."""

    def __call__(self, state: State) -> None:
        """Estimate confidence from the first block of candidates."""
        ranked = state.ranked_blocks[0]
        if not ranked or not state.terms:
            return
        first = ranked[0]
        telling = {
            word: weight
            for word, weight in state.terms.items()
            if weight > DEFAULT_WEIGHTS.framing_word and word not in conversational_words()
        }
        closeness, lead = _closeness(
            state.evidence[0], [candidate.row for candidate in ranked], state.query.calibration
        )
        # Cosines of a language that the embedder hardly knows tell less.
        trust = (1 + state.query.weight) / 2
        signs = Signs(
            closeness=None if closeness is None else trust * closeness,
            lead=trust * lead,
            size=math.log(max(state.total, 1)),
            telling=1 - 0.5 ** sum(telling.values()),
            covered=first.coverage * _share(telling, state.total, state.frequencies),
            hint=max(first.author, first.nearness),
        )
        state.confidence = round(confidence(signs), _DECIMALS)


def confidence(signs: Signs) -> float:
    """Return how likely the candidates answer the query, in [0, 1]."""
    if signs.closeness is None:
        return _logistic(-3.8 + 5.7 * signs.telling + 2.4 * signs.covered)
    return _logistic(
        -0.45
        + 6.1 * signs.closeness
        + 1.1 * signs.lead
        - 1.2 * signs.size
        + 5.4 * signs.telling
        + 1.55 * signs.covered
        + 2.0 * signs.hint
    )


def _closeness(evidence: Evidence, rows: Sequence[int], calibration: Calibration) -> tuple[float | None, float]:
    """Return how far the best cosine is above a usual one and above the median, in units of the spread."""
    cosines = evidence.cosines[rows]
    cosines = np.sort(cosines[~np.isnan(cosines)])
    if not cosines.size:
        return None, 0.0
    best, median = float(cosines[-1]), float(cosines[cosines.size // 2])
    return (best - calibration.usual) / calibration.spread, (best - median) / calibration.spread


def _share(words: Collection[str], total: int, frequencies: Mapping[str, int]) -> float:
    """Return the share of some words in the rarity of all."""
    rarity = {word: math.log(1 + (total - count + 0.5) / (count + 0.5)) for word, count in frequencies.items()}
    return sum(rarity[word] for word in words) / sum(rarity.values())


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value))
