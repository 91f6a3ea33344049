"""From evidence to an ordered list: the stages fusion, versions and successors.

The default fusion weighs evidence in units of the embedder's spread (the distance between a usual and a rare
cosine of unrelated texts):

    closeness   the cosine of query and memory
    coverage    which of the query's words the memory has, weighted by their rarity;
                a short turn of a conversation also has the words of the turns before it, and where the embedder
                hardly knows the language, a memory with a similar word has a part of the word
    author      the query names the author, or is in the first person and the author is the user
    time        the query names a time, and the memory is from about then

Each difference is averaged from two scales: an absolute one, and one normalised to the candidates of the query. Where
all candidates are about equally close, or nearly all have the query's words, a small difference counts more.

`vector_weight` and `text_weight` reduce closeness, as a difference from the usual cosine, or coverage, if their
ratio is not the default one. Closeness is reduced in the same way for a query in a language that the embedder
hardly knows (`QueryVector.weight`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from memotherm.model import Priority
from memotherm.model.clock import to_micros
from memotherm.recall.confidence import subject_words
from memotherm.recall.evidence import ABSENT_WORD
from memotherm.recall.values import (
    USE_HALF_LIFE_DAYS,
    Evidence,
    FusionWeights,
    Ranked,
    RankedBlock,
    RankingWeights,
    ScoreParts,
    State,
    scores_of,
)
from memotherm.settings import Settings
from memotherm.storage.store import Store
from memotherm.text.versions import COMMON_WORDS, MOST_WORDS, share_most

Numbers = NDArray[np.int64]

_RRF_K = 60
#: Less than any relevance that is not 0.
_LEAST_RELEVANCE = math.ulp(0.0)
#: The relevance of a candidate that has all words of the query and nothing near its meaning.
_FAR = 0.01
_MICROS_PER_DAY = 86_400_000_000
#: Uses after which more of them add nothing.
_MANY_USES = 20
#: The share of the best candidate's author and time hints that is subtracted from all candidates, so that one
#: without a hint is ranked lower if another one has it.
_MISSING_HINT = 0.3
#: Ranges of closeness (in units of the embedder's spread) and of coverage up to which a difference counts in full.
_CLOSENESS_RANGE = 1.0
_COVERAGE_RANGE = 0.3


class Fuse:
    """Scores and orders each block of candidates; pinned memories are separated."""

    def __init__(self, settings: Settings, weights: RankingWeights) -> None:
        self._weights = {
            penalise: FusionWeights.of(settings, penalise=penalise, ranking=weights) for penalise in (False, True)
        }
        self._plain = self._weights[False].plain()

    def __call__(self, state: State) -> None:
        """Add the ranked candidates of each block, and the pinned ones."""
        question = state.question
        weights = self._plain if question.plain else self._weights[question.penalise]
        if state.query.weight < 1 and not question.plain:
            weights = replace(weights, vector=weights.vector * state.query.weight)
        now = to_micros(question.search.now)
        blocks = [rank(evidence, weights, now) for evidence in state.evidence]
        if state.pinned_records:
            pinned = {record.no for record in state.pinned_records}
            state.pinned = sorted(
                (candidate for candidate in blocks[0] if candidate.no in pinned),
                key=lambda candidate: (-candidate.score, candidate.no),
            )
        least = -math.inf if question.irrelevant else question.min_score or _LEAST_RELEVANCE
        state.ranked_blocks = [relevant(block, weights, least) for block in blocks]


def relevant(ranked: RankedBlock, weights: FusionWeights, least: float) -> RankedBlock:
    """Return the candidates that are relevant enough to the query and not pinned.

    Relevance is that before use and boosts; a match of words that covers enough of the query passes, too, unless words
    have no weight.
    """
    evidence, relevance = ranked.parts.evidence, ranked.parts.relevance
    passing = relevance >= least
    if weights.text > 0:
        passing |= evidence.coverage >= least
    passing &= evidence.priorities != Priority.PINNED.rank
    return ranked if np.count_nonzero(passing) == len(passing) else ranked.where(passing)


def rank(evidence: Evidence, weights: FusionWeights, now: int) -> RankedBlock:
    """Order all candidates, best first, newest first among equals."""
    parts = ScoreParts(
        evidence=evidence,
        relevance=_FUSIONS[weights.fusion](evidence, weights),
        use=_use(evidence, weights, now),
        boost=weights.boosts[evidence.priorities],
        penalty=weights.penalties[evidence.tiers],
    )
    scores = parts.relevance + parts.use + parts.boost - parts.penalty
    rows = np.lexsort((-evidence.nos, -scores))
    return RankedBlock(evidence.nos[rows].tolist(), scores[rows].tolist(), rows.tolist(), parts)


def _use(evidence: Evidence, weights: FusionWeights, now: int) -> NDArray[np.float64]:
    """Return what use adds: more for frequent use, less with the time since the last."""
    if not np.count_nonzero(evidence.access_counts):
        return np.zeros(len(evidence.nos))
    days = np.maximum(0.0, (now - evidence.accessed) / _MICROS_PER_DAY)
    frequency = np.minimum(1.0, np.log1p(evidence.access_counts) / math.log1p(_MANY_USES))
    # Of NaN and 0, `fmax` returns 0.
    return np.fmax(weights.use * frequency * 0.5 ** (days / USE_HALF_LIFE_DAYS), 0.0)


def _evidence(evidence: Evidence, weights: FusionWeights) -> NDArray[np.float64]:
    """Return relevance from all evidence; without vectors, from coverage and hints alone."""
    ranking, calibration = weights.ranking, evidence.calibration
    spread = calibration.spread
    hints = _hints(evidence, ranking)
    without = np.isnan(evidence.cosines)
    missing = np.count_nonzero(without)
    if missing == len(without):
        return _words_only(evidence, hints)
    vector, text = weights.shares
    cosines = evidence.cosines if vector == 1 else vector * evidence.cosines + (1 - vector) * calibration.usual
    closeness = _scaled(_range(cosines[evidence.scale]) / spread, _CLOSENESS_RANGE, ranking.relative)
    words = text * _scaled(_range(evidence.coverage[evidence.scale]), _COVERAGE_RANGE, ranking.relative)
    other = (words * ranking.coverage * evidence.coverage + hints) / closeness
    # What has words of the query is never without relevance, however far its vector is.
    relevance = np.maximum(calibration.relevance(cosines + other * spread), _FAR * text * evidence.coverage)
    return np.where(without, text * _words_only(evidence, hints), relevance) if missing else relevance


def _hints(evidence: Evidence, ranking: RankingWeights) -> NDArray[np.float64] | float:
    """Return what authors and times add; 0 where the query names none that a candidate has."""
    if not (np.count_nonzero(evidence.authors) or np.count_nonzero(evidence.nearness)):
        return 0.0
    hints = ranking.author * evidence.authors + ranking.time * evidence.nearness
    return np.asarray(hints - _MISSING_HINT * hints[evidence.scale].max(initial=0.0))


def _words_only(evidence: Evidence, hints: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Return the relevance of candidates without vectors."""
    return np.minimum(1.0, evidence.coverage / (1 + ABSENT_WORD) * (1 + 0.2 * hints))


def _scaled(value_range: float, least: float, share: float) -> float:
    """Return the weight of a difference among candidates whose values have this range."""
    return 1 - share + share * least / max(value_range, least)


def _range(values: NDArray[np.float64]) -> float:
    """Return the difference between the largest and the smallest value; NaN is neither."""
    difference = float(np.fmax.reduce(values) - np.fmin.reduce(values))
    return 0.0 if math.isnan(difference) else difference


def _weighted(evidence: Evidence, weights: FusionWeights) -> NDArray[np.float64]:
    """Return the weighted mean of calibrated closeness and of coverage, as `Why` tells them; a missing one counts 0.

    A search that finds nothing has no weight, so that the other one uses the whole range.
    """
    scale = evidence.scale
    vector = 0.0 if np.isnan(evidence.cosines[scale]).all() else weights.vector
    text = weights.text if evidence.coverage[scale].any() or not vector else 0.0
    return _mean(evidence, vector, text)


def _exact(evidence: Evidence, weights: FusionWeights) -> NDArray[np.float64]:
    """Return the weighted mean with the weights as they are set, also where no candidate has the query's words.

    Without any vectors, words decide alone.
    """
    vector = 0.0 if np.isnan(evidence.cosines[evidence.scale]).all() else weights.vector
    return _mean(evidence, vector, weights.text if vector else 1.0)


def _mean(evidence: Evidence, vector: float, text: float) -> NDArray[np.float64]:
    close = np.where(np.isnan(evidence.cosines), 0.0, evidence.closeness)
    return np.asarray((vector * close + text * np.minimum(1.0, evidence.coverage)) / (vector + text or 1.0))


def _reciprocal(evidence: Evidence, weights: FusionWeights) -> NDArray[np.float64]:
    """Return reciprocal rank fusion, scaled so that the first of every search has 1."""
    scores, scale = np.zeros(len(evidence.nos)), evidence.scale
    searches = [(weights.vector, evidence.cosines), (weights.text, evidence.texts)]
    total = sum(weight for weight, values in searches if not np.isnan(values[scale]).all()) or 1.0
    for weight, values in searches:
        matching = np.flatnonzero(~np.isnan(values))
        order = matching[np.lexsort((-evidence.nos[matching], -values[matching]))]
        # Pinned memories have the rank of the place where they would stand, and do not move others.
        counted = order < len(evidence.nos[scale])
        ranks: Numbers = np.cumsum(counted) - counted
        scores[order] += weight / total * (_RRF_K + 1) / (_RRF_K + 1 + ranks)
    return scores


_FUSIONS: Mapping[str, Callable[[Evidence, FusionWeights], NDArray[np.float64]]] = {
    "evidence": _evidence,
    "weighted": _weighted,
    "exact": _exact,
    "rrf": _reciprocal,
}


#: The words of a message, which has no versions.
_NO_WORDS: Numbers = np.empty(0, np.int64)
#: Two memories that share most of their words are versions of each other if their scores and their coverage of the
#: query differ by no more than this.
_SCORE_GAP = 0.1
_COVERAGE_GAP = 0.02
#: The rounding error of a share.
_NOISE = 1e-9
#: How many bits a text has for its words: a power of two.
_BITS = 128
#: What `Why.version` says of the two.
OLDER, NEWER = "older", "newer"


class OrderVersions:
    """Puts newer versions first in each block, and joins the blocks to one list."""

    def __init__(self, weights: RankingWeights) -> None:
        self._weights = weights

    def __call__(self, state: State) -> None:
        """Add the list of all candidates; a later block never scores more than the end of an earlier one."""
        for ranked, candidates in zip(state.ranked_blocks, state.blocks, strict=True):
            words, kinds = candidates.words, candidates.kind
            front = [] if state.question.plain else ranked.rows[: self._weights.versions]
            block = newer_first(ranked, [_NO_WORDS if kinds[row] == "message" else words[row] for row in front])
            state.ranked = [*state.ranked, *limit_scores(block, state.ranked[-1].score)] if state.ranked else block


def newer_first(ranked: RankedBlock, texts: Sequence[Numbers]) -> Sequence[Ranked]:
    """Exchange two memories that say nearly the same if the older one comes first.

    What is stored again in other words is usually a correction: "the port is 5433", "the port is 5544".
    Only the first candidates are compared, and only where their scores are close. A newer version whose tier
    is penalised more than that of the older one does not pass it; both are marked instead.

    `texts` are the numbers of the words of the first candidates, none for a message.
    """
    alike = _alike(ranked, texts)
    if not alike:
        return ranked
    front, rest = ranked[: len(texts)], ranked[len(texts) :]
    # Where each of them was at first; they may change places several times.
    places = list(range(len(front)))
    for low in range(1, len(front)):
        for high in range(low):
            older, newer = front[high], front[low]
            if newer.no < older.no or (places[high], places[low]) not in alike:
                continue
            # Compared as if both were in the same tier, where the newer one is in a lower tier.
            farther = max(0.0, newer.penalty - older.penalty)
            gap = older.score - newer.score
            if gap - farther > _SCORE_GAP or older.priority is not newer.priority:
                continue
            if farther:
                front[high], front[low] = older._replace(version=OLDER), newer._replace(version=NEWER)
                continue
            front[high] = newer._replace(score=older.score, newer=newer.newer + gap)
            front[low] = older._replace(score=newer.score, newer=older.newer - gap)
            places[high], places[low] = places[low], places[high]
    return front + rest


def limit_scores(ranked: Sequence[Ranked], most: float) -> list[Ranked]:
    """Return candidates with no score above a limit; `newer` has what was subtracted."""
    return [
        candidate._replace(score=min(candidate.score, most), newer=candidate.newer - max(0.0, candidate.score - most))
        for candidate in ranked
    ]


def _alike(ranked: RankedBlock, texts: Sequence[Numbers]) -> set[tuple[int, int]]:
    """Return the pairs of candidates, by place, that cover the query equally and share most of their words."""
    places = [place for place, ids in enumerate(texts) if len(ids)]
    if len(places) < 2:
        return set()
    coverage = ranked.parts.evidence.coverage[[ranked.rows[place] for place in places]]
    close = np.abs(coverage[:, np.newaxis] - coverage) <= _COVERAGE_GAP
    close &= _may_be_versions([texts[place] for place in places])
    np.fill_diagonal(close, val=False)
    if not close.any():
        return set()
    # Each pair is there in both orders.
    ones, others = (side.tolist() for side in close.nonzero())
    pairs = [(places[one], places[other]) for one, other in zip(ones, others, strict=True)]
    words = {place: frozenset(texts[place].tolist()) for place, _ in pairs}
    return {(one, other) for one, other in pairs if share_most(words[one], words[other])}


def _may_be_versions(texts: Sequence[Numbers]) -> NDArray[np.bool_]:
    """Return which texts (rows) may share enough words with which others (columns).

    Each word is one of some bits; a bit that only one of two texts has is a word that only it has, and a text has
    at least as many different words as bits.
    """
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    bits = np.zeros((len(texts), _BITS), np.float32)
    firsts = np.arange(0, bits.size, _BITS).repeat(lengths)
    bits.reshape(-1)[firsts + (np.concatenate(texts) & (_BITS - 1))] = 1
    common = bits @ bits.T
    own = common.diagonal()
    alone = own[:, np.newaxis] - common
    enough = alone <= ((1 - COMMON_WORDS) * lengths + _NOISE)[:, np.newaxis]
    short = own <= MOST_WORDS
    return np.asarray((enough | enough.T) & short & short[:, np.newaxis])


#: How many of the best candidates may be superseded; the others are seldom shown.
_FIRST = 40


class OrderSuccessors:
    """Puts what a correction has superseded behind its successor, if both were found."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __call__(self, state: State) -> None:
        """Let a successor take the place and the score of what it has superseded, if that comes first."""
        scores = dict(scores_of(state.ranked, len(state.ranked)))
        nos = list(scores)
        found = self._store.successors(nos[:_FIRST], nos, state.question.search.now) if len(nos) > 1 else []
        if not found:
            return
        from memotherm.statements.replacing import concerns

        asked = subject_words(state.terms).keys()
        successors = {
            each.no: each.successor for each in found
            # What else a memory says may be what was asked for.
            if not each.parts or scores[each.no] - scores[each.successor] <= _SCORE_GAP
            or any(concerns(asked, part, each.content) for part in each.parts)
        }  # fmt: skip
        ranked = list(state.ranked)
        places = {candidate.no: place for place, candidate in enumerate(ranked)}
        # Each exchange puts one of them right; several may follow each other.
        for _ in range(len(successors) ** 2):
            wrong = next(((old, new) for old, new in successors.items() if places[old] < places[new]), None)
            if wrong is None:
                break
            high, low = (places[no] for no in wrong)
            older, newer = ranked[high], ranked[low]
            gap = older.score - newer.score
            judged = older.row if newer.relevance < older.relevance else newer.row
            ranked[high] = newer._replace(score=older.score, newer=newer.newer + gap, judged=judged)
            ranked[low] = older._replace(score=newer.score, newer=older.newer - gap)
            places |= {older.no: low, newer.no: high}
        state.ranked = ranked
