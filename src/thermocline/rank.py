"""From what two searches found to one order, with the reason for every place in it.

Pure functions of numbers and words: no store, no clock, no embedder.

How the default fusion weighs evidence, in units of the embedder's own spread (the distance between
a usual and a rare similarity of unrelated texts):

    closeness   the cosine of question and memory
    coverage    which of the question's words the memory has, the rare ones counting most;
                a short turn of a conversation also profits from the turns before it
    author      the question names who said it, or speaks of "I" and the user said it
    time        the question names a time, and the memory is from about then
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thermocline.model import Priority, Tier, Why
from thermocline.settings import Settings

__all__ = ["Evidence", "Ranked", "Scale", "Weights", "Worded", "coverage", "newer_first", "rank"]

_RRF_K = 60
_MICROS_PER_DAY = 86_400_000_000
#: Uses after which more of them add nothing.
_MANY_USES = 20

#: What full coverage, a named author and a named time are worth, in units of the embedder's spread.
_COVERAGE = 1.43
_AUTHOR = 0.43
_TIME = 0.43
#: How much the words of the turn before count, and of the one before that.
_BEFORE = (0.7, 0.5)
#: Texts up to this many words are short: their length does not matter, and what came before does.
_SHORT = 50
#: How strongly the length of a long text damps its coverage.
_DAMPING = 0.25
#: How many of the first places are searched for versions of the same thing, how close their scores must be,
#: and what share of their words.
_VERSIONS = 20
_CLOSE = 0.1
_SAME = 0.6
_EQUAL = 0.02
#: A word that no memory has counts this much towards what could have been covered.
_ABSENT = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Weights:
    """How much each kind of evidence counts."""

    vector: float
    text: float
    fusion: str
    use: float
    use_half_life_days: float
    boosts: Mapping[Priority, float]
    #: What is taken off in each tier; empty unless a query spans all tiers on equal terms.
    penalties: Mapping[Tier, float]

    @classmethod
    def of(cls, settings: Settings, *, penalise: bool = False) -> Weights:
        """Return the weights that the settings ask for."""
        penalties = {Tier.WARM: settings.warm_penalty, Tier.COLD: settings.cold_penalty}
        return cls(
            vector=settings.vector_weight,
            text=settings.text_weight,
            fusion=settings.fusion,
            use=settings.use_weight,
            use_half_life_days=settings.use_half_life_days,
            boosts={priority: getattr(settings, f"boost_{priority}") for priority in Priority},
            penalties=penalties if penalise else {},
        )


@dataclass(frozen=True, slots=True)
class Scale:
    """What the cosines of an embedder mean."""

    #: From cosines, with other evidence added to them, to relevance in [0, 1].
    relevance: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    #: The distance between a usual and a rare cosine of unrelated texts.
    spread: float


class Worded(NamedTuple):
    """What a memory says, as words, and what was said just before it in its conversation."""

    #: Those of the question's words that it has.
    words: frozenset[str]
    length: int
    before: Sequence[tuple[frozenset[str], int]] = ()


class Evidence(NamedTuple):
    """What is known of one candidate."""

    no: int
    #: The cosine of question and memory; None when there are no vectors to compare.
    cosine: float | None
    #: BM25 of its words; None when they do not match.
    text: float | None
    priority: Priority
    tier: Tier
    access_count: int = 0
    accessed_at: int | None = None
    coverage: float = 0.0
    author: bool = False
    nearness: float = 0.0


class Ranked(NamedTuple):
    """A candidate with its score; `why` tells the parts of it."""

    no: int
    score: float
    #: What thresholds look at: the fused evidence, before use and boosts.
    relevance: float
    evidence: Evidence
    use: float
    boost: float
    penalty: float
    scale: Scale
    #: What changing places with another version of the same thing has added or taken.
    newer: float = 0.0

    @property
    def why(self) -> Why:
        """How the score came about; worked out only where somebody asks."""
        known = self.evidence
        closeness = None if known.cosine is None else float(self.scale.relevance(np.array([known.cosine]))[0])
        return Why(
            vector=closeness,
            text=min(1.0, known.coverage) if known.coverage or known.text is not None else None,
            author=known.author,
            time=known.nearness,
            relevance=self.relevance,
            use=self.use,
            boost=self.boost,
            tier=-self.penalty,
            newer=self.newer,
        )


def coverage(
    candidates: Mapping[int, Worded], weighed: Mapping[str, float], total: int, frequencies: Mapping[str, int]
) -> dict[int, float]:
    """Return for each candidate the share of the question's words that it has, rare words counting most.

    Args:
        candidates: What each memory says.
        weighed: The question's words and how much each of them says.
        total: How many memories there are.
        frequencies: How many of them have each word.
    """
    worth = {
        word: weight * math.log(1 + (total - frequencies[word] + 0.5) / (frequencies[word] + 0.5))
        for word, weight in weighed.items()
    }
    possible = sum(value * (1.0 if frequencies[word] else _ABSENT) for word, value in worth.items())
    if possible <= 0 or not candidates:
        return dict.fromkeys(candidates, 0.0)
    usual = sum(max(each.length, _SHORT) for each in candidates.values()) / len(candidates)
    sums: dict[frozenset[str], float] = {}
    found = {}
    for no, each in candidates.items():
        damping = (1 + _DAMPING) / (1 + _DAMPING * max(each.length, _SHORT) / usual)
        if any(words for words, _ in each.before):
            found[no] = _with_context(each, worth, damping) / possible
            continue
        if each.words not in sums:
            sums[each.words] = sum(worth.get(word, 0.0) for word in each.words)
        found[no] = damping * sums[each.words] / possible
    return found


def _with_context(each: Worded, worth: Mapping[str, float], damping: float) -> float:
    """Return what a message covers together with the messages before it, as far as all of them are short."""
    short = min(1.0, _SHORT / max(each.length, 1))
    lent: dict[str, float] = {}
    for share, (words, length) in zip(_BEFORE, each.before, strict=False):
        value = share * short * min(1.0, _SHORT / max(length, 1))
        for word in words:
            lent[word] = max(value, lent.get(word, 0.0))
    own = dict.fromkeys(each.words, damping)
    return sum(worth.get(word, 0.0) * max(own.get(word, 0.0), lent.get(word, 0.0)) for word in own.keys() | lent.keys())


def rank(candidates: Sequence[Evidence], weights: Weights, scale: Scale, now: int, min_score: float) -> list[Ranked]:
    """Order the candidates, best first, newest first among equals.

    The floor looks at relevance, before use and boosts, so that a boost admits no junk; a keyword
    match that covers enough of the question passes it too.
    """
    ranked = []
    for each, relevance in zip(candidates, _FUSIONS[weights.fusion](candidates, weights, scale), strict=True):
        if relevance < min_score and each.coverage < min_score:
            continue
        use = _use(each, weights, now) if each.access_count else 0.0
        boost, penalty = weights.boosts[each.priority], weights.penalties.get(each.tier, 0.0)
        ranked.append(Ranked(each.no, relevance + use + boost - penalty, relevance, each, use, boost, penalty, scale))
    ranked.sort(key=lambda each: (-each.score, -each.no))
    return ranked


def newer_first(ranked: list[Ranked], texts: Mapping[int, frozenset[str]]) -> list[Ranked]:
    """Let the newer of two memories that say nearly the same thing take the better place of the two.

    What is said again in other words is usually a correction: "the port is 5433", "the port is 5544".
    Only the first places are looked at, and only where the scores are close.

    Args:
        ranked: All candidates, best first.
        texts: The words of those that may be versions of each other; messages of a conversation are not.
    """
    front, rest = ranked[:_VERSIONS], ranked[_VERSIONS:]
    for place in range(1, len(front)):
        for better in range(place):
            older, newer = front[better], front[place]
            if newer.no > older.no and older.score - newer.score <= _CLOSE and _versions(older, newer, texts):
                gap = older.score - newer.score
                front[better] = newer._replace(score=older.score, newer=newer.newer + gap)
                front[place] = older._replace(score=newer.score, newer=older.newer - gap)
    return front + rest


def _versions(one: Ranked, other: Ranked, texts: Mapping[int, frozenset[str]]) -> bool:
    """Tell whether two short texts share most of their words, and answer the question equally well."""
    mine, theirs = texts.get(one.no), texts.get(other.no)
    if not mine or not theirs or one.evidence.priority is not other.evidence.priority:
        return False
    if abs(one.evidence.coverage - other.evidence.coverage) > _EQUAL:
        return False
    shorter, longer = sorted((len(mine), len(theirs)))
    return longer <= _SHORT and longer <= 2 * shorter and len(mine & theirs) >= _SAME * shorter


def _use(each: Evidence, weights: Weights, now: int) -> float:
    """Return what use adds: more for frequent use, fading with the time since the last."""
    if each.accessed_at is None or not weights.use:
        return 0.0
    days = max(0.0, (now - each.accessed_at) / _MICROS_PER_DAY)
    often = min(1.0, math.log1p(each.access_count) / math.log1p(_MANY_USES))
    return float(weights.use * often * 0.5 ** (days / weights.use_half_life_days))


def _evidence(candidates: Sequence[Evidence], _weights: Weights, scale: Scale) -> list[float]:
    """Return relevance from everything that is known; without vectors, coverage speaks alone."""
    added = [
        (_COVERAGE * each.coverage + _AUTHOR * each.author + _TIME * each.nearness) * scale.spread
        for each in candidates
    ]
    sums = np.array([(each.cosine or 0.0) + more for each, more in zip(candidates, added, strict=True)], np.float64)
    return [
        relevance if each.cosine is not None else _worded_relevance(each)
        for each, relevance in zip(candidates, scale.relevance(sums).tolist(), strict=True)
    ]


def _worded_relevance(each: Evidence) -> float:
    hints = _AUTHOR * each.author + _TIME * each.nearness
    return min(1.0, each.coverage / (1 + _ABSENT) * (1 + 0.2 * hints))


def _weighted(candidates: Sequence[Evidence], weights: Weights, scale: Scale) -> list[float]:
    """Return the weighted mean of calibrated closeness and of BM25 relative to the best match."""
    best = max((each.text or 0.0 for each in candidates), default=0.0)
    vector = weights.vector if any(each.cosine is not None for each in candidates) else 0.0
    text = weights.text if best > 0 or not vector else 0.0
    total = vector + text or 1.0
    cosines = np.array([-1.0 if each.cosine is None else each.cosine for each in candidates], np.float64)
    return [
        (vector * close + text * ((each.text or 0.0) / best if best > 0 else 0.0)) / total
        for each, close in zip(candidates, scale.relevance(cosines).tolist(), strict=True)
    ]


def _reciprocal(candidates: Sequence[Evidence], weights: Weights, _scale: Scale) -> list[float]:
    """Return reciprocal rank fusion, scaled so that first in every leg is 1."""
    scores = dict.fromkeys((each.no for each in candidates), 0.0)
    near = sorted(((each.cosine, each.no) for each in candidates if each.cosine is not None), reverse=True)
    worded = sorted(((each.text, each.no) for each in candidates if each.text is not None), reverse=True)
    legs = ((weights.vector, near), (weights.text, worded))
    total = sum(share for share, leg in legs if leg) or 1.0
    for share, leg in legs:
        for place, (_, no) in enumerate(leg):
            scores[no] += share / total * (_RRF_K + 1) / (_RRF_K + 1 + place)
    return [scores[each.no] for each in candidates]


_FUSIONS: Mapping[str, Callable[[Sequence[Evidence], Weights, Scale], list[float]]] = {
    "evidence": _evidence,
    "weighted": _weighted,
    "rrf": _reciprocal,
}
