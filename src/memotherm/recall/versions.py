"""The versions stage: of two memories that say nearly the same, the newer one comes first; then one list.

Where tiers are penalised, a newer version in a lower tier stays behind an older one in a closer tier, and `why`
says of both what they are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memotherm.recall.evidence import SHORT_TEXT
from memotherm.recall.values import Ranked, RankedBlock, State
from memotherm.recall.weights import RankingWeights

__all__ = ["OrderVersions", "limit_scores", "newer_first"]

Numbers = NDArray[np.int64]

#: The words of a message, which has no versions.
_NO_WORDS: Numbers = np.empty(0, np.int64)
#: Two memories are versions of each other if their scores and their coverage of the query differ by no more
#: than this, and this share of the shorter one's words is in the other.
_SCORE_GAP = 0.1
_COVERAGE_GAP = 0.02
_COMMON_WORDS = 0.6
#: The rounding error of a share.
_NOISE = 1e-9
#: How many bits a text has for its words.
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
            front = ranked.rows[: self._weights.versions]
            block = newer_first(ranked, [_NO_WORDS if kinds[row] == "message" else words[row] for row in front])
            state.ranked = [*state.ranked, *limit_scores(block, state.ranked[-1].score)] if state.ranked else block


def newer_first(ranked: RankedBlock, texts: Sequence[Numbers]) -> Sequence[Ranked]:
    """Exchange two memories that say nearly the same if the older one comes first.

    What is stored again in other words is usually a correction: "the port is 5433", "the port is 5544".
    Only the first candidates are compared, and only where their scores are close. A newer version whose tier
    is penalised more than that of the older one does not pass it; both are marked instead.

    Args:
        ranked: All candidates of a block, best first.
        texts: The numbers of the words of the first candidates, which are compared; none for a message.
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
    return {(one, other) for one, other in pairs if _are_versions(words[one], words[other])}


def _may_be_versions(texts: Sequence[Numbers]) -> NDArray[np.bool_]:
    """Return which texts (rows) may share enough words with which others (columns).

    Each word is one of some bits; a bit that only one of two texts has is a word that only it has, and a text has
    at least as many different words as bits.
    """
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    bits = np.zeros((len(texts), _BITS), np.float32)
    firsts = np.arange(0, bits.size, _BITS).repeat(lengths)
    bits.reshape(-1)[firsts + np.concatenate(texts) % _BITS] = 1
    common = bits @ bits.T
    own = common.diagonal()
    alone = own[:, np.newaxis] - common
    enough = alone <= ((1 - _COMMON_WORDS) * lengths + _NOISE)[:, np.newaxis]
    short = own <= SHORT_TEXT
    return np.asarray((enough | enough.T) & short & short[:, np.newaxis])


def _are_versions(first: frozenset[int], second: frozenset[int]) -> bool:
    """Return whether two short texts share most of their words."""
    shorter, longer = (first, second) if len(first) <= len(second) else (second, first)
    if not shorter or len(longer) > SHORT_TEXT or len(longer) > 2 * len(shorter):
        return False
    return len(shorter & longer) >= _COMMON_WORDS * len(shorter)
