"""The confidence stage: how likely the best candidates answer the query at all.

A search returns the nearest memories whatever was asked, also for "thanks". Confidence tells such queries from those
that the memories answer. It is a logistic function of what is known about the query and its candidates, the `Signs`.
The framing of a question ("by the way", "again") is no part of it.

The weights were fitted on conversations of 10 to 700 turns, notes, sessions and small stores of facts, in four
languages, against prompts such as "thanks" and "sort the imports".
It depends on the first block of candidates only, so that it is the same for every limit.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memotherm.embed.calibration import Calibration
from memotherm.recall.values import DEFAULT_WEIGHTS, State
from memotherm.text.phrases import conversational_words, is_self_contained

_DECIMALS = 4
#: With fewer cosines, their spread is not known and this one is taken.
_FEW_COSINES = 5
_USUAL_SPREAD = 0.3


class Signs(NamedTuple):
    """What confidence is estimated from."""

    #: How far the best cosine is above that of unrelated texts, in units of the embedder's spread; None without any.
    #: The more memories there are, the closer the best of them is to any query.
    closeness: float | None
    #: How far the best cosine is above the median of the candidates, in the same units.
    lead: float
    #: The standard deviation of the cosines, in the same units: a query about nothing is equally close to all.
    spread: float
    #: By how many standard deviations the best of that many unrelated memories is expected above their mean.
    size: float
    #: Whether the query has words that tell about its subject: 0 for none, 0.5 for one, 0.75 for two and so on.
    telling: float
    #: The same for the telling words that some memory has.
    known: float
    #: How much of these words the first candidate has, weighted by their rarity, from 0 to 1; not known with vectors.
    covered: float
    #: Whether the query names the author or the time of the first candidate, from 0 to 1.
    hint: float
    #: Whether the query asks to be told something ("?", "tell me", "suggest"), 0 or 1.
    asks: float


class EstimateConfidence:
    """Adds the confidence of a query; it is 0 without words or candidates, and for a prompt that needs no memory."""

    def __call__(self, state: State) -> None:
        """Estimate confidence from the first block of candidates."""
        ranked = state.ranked_blocks[0]
        if not ranked or not state.terms or is_self_contained(state.framed.text):
            return
        first, telling = ranked[0], subject_words(state.terms)
        # Of all candidates, also of those that are not relevant, but pinned memories.
        cosines = state.evidence[0].cosines[state.evidence[0].scale]
        closeness, lead, spread = _closeness(cosines, state.query.calibration)
        # Cosines of a language that the embedder hardly knows tell less.
        trust = (1 + math.sqrt(state.query.weight)) / 2
        known = sum(weight for word, weight in telling.items() if state.frequencies.get(word))
        signs = Signs(
            closeness=None if closeness is None else trust * closeness,
            lead=trust * lead,
            spread=trust * spread,
            size=math.sqrt(2 * math.log(max(state.total, 2))),
            telling=1 - 0.5 ** sum(telling.values()),
            known=1 - 0.5**known,
            covered=first.coverage * _share(telling, state.total, state.frequencies) if closeness is None else 0.0,
            hint=max(first.author, first.nearness),
            asks=float(state.framed.asks),
        )
        state.confidence = round(confidence(signs), _DECIMALS)


def subject_words(terms: Mapping[str, float]) -> dict[str, float]:
    """Return the words of a query that tell something about its subject, with their weights."""
    small_talk = conversational_words()
    return {
        word: weight
        for word, weight in terms.items()
        if weight > DEFAULT_WEIGHTS.framing_word and word not in small_talk
    }


def confidence(signs: Signs) -> float:
    """Return how likely the candidates answer the query, in [0, 1]."""
    if signs.closeness is None:
        return _logistic(-3.8 + 5.7 * signs.telling + 2.4 * signs.covered)
    return _logistic(
        -1.8
        + 4.6 * signs.closeness
        + 2.2 * signs.lead
        + 4.1 * signs.spread
        - 2.3 * signs.size
        + 4.0 * signs.telling
        + 4.0 * signs.known
        + 0.8 * signs.hint
        + 2.2 * signs.asks
    )


def _closeness(cosines: NDArray[np.float64], calibration: Calibration) -> tuple[float | None, float, float]:
    """Return how far the best cosine is above a usual one and above the median, and the spread of all.

    All are in units of the embedder's spread.
    """
    cosines = np.sort(cosines)
    cosines = cosines[: cosines.searchsorted(np.nan)]  # NaN comes last
    if not cosines.size:
        return None, 0.0, 0.0
    unit, best, median = calibration.spread, cosines.item(-1), cosines.item(cosines.size // 2)
    spread = _USUAL_SPREAD if cosines.size < _FEW_COSINES else _deviation(cosines) / unit
    return (best - calibration.usual) / unit, (best - median) / unit, spread


def _deviation(values: NDArray[np.float64]) -> float:
    """Return the standard deviation; for a few values, faster than `std`."""
    differences = values - values.sum() / values.size
    return math.sqrt((differences * differences).sum() / values.size)


def _share(words: Collection[str], total: int, frequencies: Mapping[str, int]) -> float:
    """Return the share of some words in the rarity of all."""
    rarity = {word: math.log(1 + (total - count + 0.5) / (count + 0.5)) for word, count in frequencies.items()}
    return sum(rarity[word] for word in words) / sum(rarity.values())


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value))
