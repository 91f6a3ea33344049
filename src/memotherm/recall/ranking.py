"""From what two searches found to one order, with the reason for every place in it.

Pure functions of numbers and words: no store, no clock, no embedder.

How the default fusion weighs evidence, in units of the embedder's own spread (the distance between
a usual and a rare similarity of unrelated texts):

    closeness   the cosine of question and memory
    coverage    which of the question's words the memory has, the rare ones counting most;
                a short turn of a conversation also profits from the turns before it
    author      the question names who said it, or speaks of "I" and the user said it
    time        the question names a time, and the memory is from about then

Half of a difference counts as it is. The other half counts by how far the candidates of this question lie
apart: where all of them are about equally close, or nearly all have its words, a small lead tells more.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memotherm.embed.calibration import Scale
from memotherm.model import Priority, Tier, Why
from memotherm.model.rows import named_tuples
from memotherm.settings import Settings

__all__ = [
    "IDEAS",
    "Evidence",
    "Ideas",
    "Ranked",
    "TermMatrix",
    "Weights",
    "behind",
    "coverage",
    "newer_first",
    "rank",
]

_RRF_K = 60
_MICROS_PER_DAY = 86_400_000_000
#: Uses after which more of them add nothing.
_MANY_USES = 20

#: Texts up to this many words are short: their length does not matter, and what came before does.
_SHORT = 50
#: Among the first places: how close the scores of two versions of the same thing must be, what share of their
#: words, and how equally they must cover the question.
_CLOSE = 0.1
_SAME = 0.6
_EQUAL = 0.02
#: A word that no memory has counts this much towards what could have been covered.
_ABSENT = 0.5
#: Which share of the best candidate's hints is taken off all: who lacks a hint that another one has is less likely
#: meant.
_MISSED = 0.3
#: Candidates that lie no further apart than this are not apart: in closeness (in units of the embedder's spread),
#: and in coverage.
_NEAR_APART = 1.0
_WORDS_APART = 0.3


@dataclass(frozen=True, kw_only=True, slots=True)
class Ideas:
    """What each idea of the default ranking is worth. Not a setting: evaluations leave out one of them at a time."""

    #: What full coverage, a named author and a named time are worth, in units of the embedder's spread.
    coverage: float = 1.43
    author: float = 0.6
    time: float = 0.6
    #: How much a word that frames a question counts, against one that tells what it is about.
    frame: float = 0.25
    #: How much the words of the turn before count, and of the one before that.
    before: tuple[float, ...] = (0.7, 0.5)
    #: How strongly the length of a long text damps its coverage.
    damping: float = 0.25
    #: Which share of a difference counts by how far the candidates of the question lie apart.
    relative: float = 0.5
    #: How many of the first places are searched for versions of the same thing.
    versions: int = 20


IDEAS = Ideas()


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
    ideas: Ideas = IDEAS

    @classmethod
    def of(cls, settings: Settings, *, penalise: bool = False, ideas: Ideas = IDEAS) -> Weights:
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
            ideas=ideas,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class TermMatrix:
    """What candidates say, as words, and what was said just before them in their conversations.

    One row for each candidate, then one for each earlier turn that they follow.
    """

    #: Which of the question's words (columns) each memory has.
    has: NDArray[np.bool_]
    #: How many words each memory has in all.
    lengths: NDArray[np.float64]
    #: The row of what was said just before; -1 where that is not known.
    previous: NDArray[np.int64]
    #: How many of the rows are candidates.
    candidates: int


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Evidence:
    """What is known of the candidates, one row for each."""

    nos: NDArray[np.int64]
    #: The cosine of question and memory; NaN when there are no vectors to compare.
    cosines: NDArray[np.float64]
    #: What the cosines mean, in [0, 1].
    closeness: NDArray[np.float64]
    #: The strength of its words; NaN when they do not match.
    texts: NDArray[np.float64]
    priorities: Sequence[Priority]
    tiers: Sequence[Tier]
    access_counts: NDArray[np.float64]
    #: When it was last used, in microseconds; NaN when it never was.
    accessed: NDArray[np.float64]
    coverage: NDArray[np.float64]
    #: How surely the question is about what this author said, in [0, 1].
    authors: NDArray[np.float64]
    nearness: NDArray[np.float64]


class Ranked(NamedTuple):
    """A candidate with its score; `why` tells the parts of it."""

    no: int
    score: float
    #: What thresholds look at: the fused evidence, before use and boosts.
    relevance: float
    use: float
    boost: float
    penalty: float
    #: Where to find what is known of it.
    row: int
    evidence: Evidence
    #: What changing places with another version of the same thing, or standing behind others, has added or taken.
    newer: float = 0.0

    @property
    def priority(self) -> Priority:
        """How strongly it insists."""
        return self.evidence.priorities[self.row]

    @property
    def coverage(self) -> float:
        """Which share of the question's words it has."""
        return float(self.evidence.coverage[self.row])

    @property
    def why(self) -> Why:
        """How the score came about; worked out only where somebody asks."""
        known, row = self.evidence, self.row
        coverage = self.coverage
        return Why(
            vector=None if math.isnan(known.cosines[row]) else float(known.closeness[row]),
            text=min(1.0, coverage) if coverage or not math.isnan(known.texts[row]) else None,
            author=bool(known.authors[row]),
            time=float(known.nearness[row]),
            relevance=self.relevance,
            use=self.use,
            boost=self.boost,
            tier=-self.penalty,
            newer=self.newer,
        )


def coverage(
    worded: TermMatrix, weighed: Mapping[str, float], total: int, frequencies: Mapping[str, int], ideas: Ideas = IDEAS
) -> NDArray[np.float64]:
    """Return for each candidate the share of the question's words that it has, rare words counting most.

    Args:
        worded: What each memory says; its columns are the question's words in their order.
        weighed: The question's words and how much each of them says.
        total: How many memories there are.
        frequencies: How many of them have each word.
        ideas: What each idea is worth.
    """
    count = worded.candidates
    worth = np.array(
        [
            weight * math.log(1 + (total - frequencies[word] + 0.5) / (frequencies[word] + 0.5))
            for word, weight in weighed.items()
        ]
    )
    possible = sum(
        value * (1.0 if frequencies[word] else _ABSENT) for word, value in zip(weighed, worth.tolist(), strict=True)
    )
    if possible <= 0 or not count:
        return np.zeros(count)
    effective = np.maximum(worded.lengths[:count], _SHORT)
    damping = (1 + ideas.damping) / (1 + ideas.damping * effective / effective.mean())
    own = worded.has[:count] * damping[:, np.newaxis]
    if (worded.previous[:count] >= 0).any():
        own = np.maximum(own, _lent(worded, ideas.before))
    return np.asarray(own @ worth / possible)


def _lent(worded: TermMatrix, shares: Sequence[float]) -> NDArray[np.float64]:
    """Return how much of each word the messages before lend to a message, as far as all of them are short."""
    short = np.minimum(1.0, _SHORT / np.maximum(worded.lengths, 1))
    lent = np.zeros((worded.candidates, worded.has.shape[1]))
    rows = np.arange(worded.candidates)
    before = worded.previous[: worded.candidates]
    for share in shares:
        rows, before = rows[before >= 0], before[before >= 0]
        value = share * short[rows] * short[before]
        lent[rows] = np.maximum(lent[rows], worded.has[before] * value[:, np.newaxis])
        before = worded.previous[before]
    return lent


def rank(evidence: Evidence, weights: Weights, scale: Scale, now: int, min_score: float) -> list[Ranked]:
    """Order the candidates, best first, newest first among equals.

    The floor looks at relevance, before use and boosts, so that a boost admits no junk; a keyword
    match that covers enough of the question passes it too.
    """
    relevance = _FUSIONS[weights.fusion](evidence, weights, scale)
    use = _use(evidence, weights, now)
    boosts = np.array([weights.boosts[priority] for priority in evidence.priorities], np.float64)
    penalties = np.zeros(len(relevance))
    if weights.penalties:
        penalties = np.array([weights.penalties.get(tier, 0.0) for tier in evidence.tiers], np.float64)
    scores = relevance + use + boosts - penalties
    kept = np.flatnonzero((relevance >= min_score) | (evidence.coverage >= min_score))
    rows = kept[np.lexsort((-evidence.nos[kept], -scores[kept]))]
    columns = (each[rows].tolist() for each in (evidence.nos, scores, relevance, use, boosts, penalties))
    return named_tuples(Ranked, zip(*columns, rows.tolist(), repeat(evidence), repeat(0.0)))


def newer_first(ranked: list[Ranked], texts: Mapping[int, str], ideas: Ideas = IDEAS) -> list[Ranked]:
    """Let the newer of two memories that say nearly the same thing take the better place of the two.

    What is said again in other words is usually a correction: "the port is 5433", "the port is 5544".
    Only the first places are looked at, and only where the scores are close.

    Args:
        ranked: All candidates, best first.
        texts: The words of those that may be versions of each other; messages of a conversation are not.
        ideas: How many of the first places are looked at.
    """
    front, rest = ranked[: ideas.versions], ranked[ideas.versions :]
    covered = [each.coverage for each in front]
    said = functools.cache(lambda no: frozenset(texts.get(no, "").split()))
    for place in range(1, len(front)):
        for better in range(place):
            older, newer = front[better], front[place]
            gap = older.score - newer.score
            if newer.no < older.no or gap > _CLOSE or abs(covered[better] - covered[place]) > _EQUAL:
                continue
            if older.priority is newer.priority and _versions(said(older.no), said(newer.no)):
                front[better] = newer._replace(score=older.score, newer=newer.newer + gap)
                front[place] = older._replace(score=newer.score, newer=older.newer - gap)
                covered[better], covered[place] = covered[place], covered[better]
    return front + rest


def behind(before: Sequence[Ranked], block: Sequence[Ranked]) -> list[Ranked]:
    """Return a block of candidates as it stands behind another one: none of them scores more than its last."""
    most = before[-1].score if before else math.inf
    cut = [max(0.0, each.score - most) for each in block]
    return [each._replace(score=each.score - off, newer=each.newer - off) for each, off in zip(block, cut, strict=True)]


def _versions(mine: frozenset[str], theirs: frozenset[str]) -> bool:
    """Tell whether two short texts share most of their words."""
    shorter, longer = sorted((len(mine), len(theirs)))
    return shorter > 0 and longer <= _SHORT and longer <= 2 * shorter and len(mine & theirs) >= _SAME * shorter


def _use(evidence: Evidence, weights: Weights, now: int) -> NDArray[np.float64]:
    """Return what use adds: more for frequent use, fading with the time since the last."""
    days = np.maximum(0.0, (now - evidence.accessed) / _MICROS_PER_DAY)
    often = np.minimum(1.0, np.log1p(evidence.access_counts) / math.log1p(_MANY_USES))
    use = weights.use * often * 0.5 ** (days / weights.use_half_life_days)
    return np.where(np.isnan(use), 0.0, use)


def _evidence(evidence: Evidence, weights: Weights, scale: Scale) -> NDArray[np.float64]:
    """Return relevance from everything that is known; without vectors, coverage speaks alone."""
    ideas = weights.ideas
    hints = ideas.author * evidence.authors + ideas.time * evidence.nearness
    hints = hints - _MISSED * hints.max(initial=0.0)
    closeness = _worth(_range(evidence.cosines) / scale.spread, _NEAR_APART, ideas.relative)
    words = _worth(_range(evidence.coverage), _WORDS_APART, ideas.relative)
    beside = (words * ideas.coverage * evidence.coverage + hints) / closeness
    near = scale.relevance(evidence.cosines + beside * scale.spread)
    worded = np.minimum(1.0, evidence.coverage / (1 + _ABSENT) * (1 + 0.2 * hints))
    return np.where(np.isnan(evidence.cosines), worded, near)


def _worth(apart: float, least: float, share: float) -> float:
    """Return what a difference is worth among candidates that lie so far apart."""
    return 1 - share + share * least / max(apart, least)


def _range(values: NDArray[np.float64]) -> float:
    known = values[~np.isnan(values)]
    return float(np.ptp(known)) if known.size else 0.0


def _weighted(evidence: Evidence, weights: Weights, _scale: Scale) -> NDArray[np.float64]:
    """Return the weighted mean of calibrated closeness and of the words relative to the best match."""
    texts = np.nan_to_num(evidence.texts)
    best = max(texts.tolist(), default=0.0)
    vector = 0.0 if np.isnan(evidence.cosines).all() else weights.vector
    text = weights.text if best > 0 or not vector else 0.0
    close = np.where(np.isnan(evidence.cosines), 0.0, evidence.closeness)
    return np.asarray((vector * close + text * (texts / best if best > 0 else texts)) / (vector + text or 1.0))


def _reciprocal(evidence: Evidence, weights: Weights, _scale: Scale) -> NDArray[np.float64]:
    """Return reciprocal rank fusion, scaled so that first in every leg is 1."""
    scores = np.zeros(len(evidence.nos))
    legs = [(weights.vector, evidence.cosines), (weights.text, evidence.texts)]
    total = sum(share for share, leg in legs if not np.isnan(leg).all()) or 1.0
    for share, leg in legs:
        inside = np.flatnonzero(~np.isnan(leg))
        order = inside[np.lexsort((-evidence.nos[inside], -leg[inside]))]
        scores[order] += share / total * (_RRF_K + 1) / (_RRF_K + 1 + np.arange(len(order)))
    return scores


_FUSIONS: Mapping[str, Callable[[Evidence, Weights, Scale], NDArray[np.float64]]] = {
    "evidence": _evidence,
    "weighted": _weighted,
    "rrf": _reciprocal,
}
