"""Search by words: posting lists of the text index, and the best matches among them.

FTS5 can order by BM25 itself, but reads the length of every match for that: 5.5 ms for 3,000 matches among
100,000 memories, where reading the lists takes 0.6 ms. So the memories in the lists are scored here, by the sum of the
inverse document frequencies of their words: BM25 with k1 = 0, which depends neither on length nor on repetition.

A word that most memories have adds next to nothing to a score, but its list is long. The rare words decide which
memories can be among the best, and the long lists are only asked about those.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memotherm.model import Tier
from memotherm.storage.sqlite.band import best
from memotherm.storage.sqlite.statements import SQL, SqliteStatements, text_ranges
from memotherm.text.words import is_fragment

Numbers = NDArray[np.int64]
Weights = NDArray[np.float64]

#: The share of all memories from which on a list is long.
_LONG = 1 / 16
#: How many numbers there may be for each match, so that one sum for each number is cheaper than sorting.
_SPARSE = 4
#: The rounding error of a sum of weights.
_NOISE = 1e-9


def posting_lists(
    statements: SqliteStatements, spaces: Sequence[int], tiers: Sequence[Tier], words: Sequence[str]
) -> list[Numbers]:
    """Return for each word the memories in some spaces and tiers that have it, in order of number."""
    ranges = [(SQL[f"{table}_postings"], span._asdict()) for table, span in text_ranges(spaces, tiers)]
    execute, one_tier = statements.connection.execute, len(spaces) * len({*tiers}) == 1
    found = []
    for word in words:
        match = f'"{word}" *' if is_fragment(word) else f'"{word}"'
        # One text of numbers comes out of SQLite three times as fast as a row for each.
        texts = [execute(statement, {"match": match, **span}).fetchone()[0] for statement, span in ranges]
        numbers = np.fromstring(",".join(filter(None, texts)), np.int64, sep=",")
        # Each tier of a space is in order already.
        found.append(numbers if one_tier else np.sort(numbers, kind="stable"))
    return found


def best_matches(lists: Sequence[Numbers], total: int, limit: int) -> tuple[Numbers, Weights]:
    """Return the memories with the highest scores and these, best first, newest first among equals.

    A list has the memories that contain a word, in order of number; `total` is the number of all memories.
    """
    lists = [numbers for numbers in lists if len(numbers)]
    weights = [_rarity(len(numbers), total) for numbers in lists]
    contenders = _contenders(lists, weights, total, limit)
    if contenders is not None:
        lists = [contenders[_contained(contenders, numbers)] for numbers in lists]
    return best(*_summed(lists, weights), limit)


def _contenders(lists: Sequence[Numbers], weights: Sequence[float], total: int, limit: int) -> Numbers | None:
    """Return the memories that can be among the best; None if that is not cheaper to find out than all scores."""
    long = [len(numbers) > _LONG * total for numbers in lists]
    if not any(long):
        return None
    # The most that the words with long lists can add to a score.
    rest = sum(weight for weight, is_long in zip(weights, long, strict=True) if is_long) + _NOISE
    short = [place for place, is_long in enumerate(long) if not is_long]
    nos, scores = _summed([lists[place] for place in short], [weights[place] for place in short])
    if len(nos) >= limit and (least := _least(scores, limit)) > rest:
        return nos[scores >= least - rest]
    return _best_of_long(lists, weights, limit)


def _best_of_long(lists: Sequence[Numbers], weights: Sequence[float], limit: int) -> Numbers | None:
    """Return the memories that can be among the best, from one sum for each number; None if most numbers are unused."""
    first, end = min(numbers[0] for numbers in lists), max(numbers[-1] for numbers in lists) + 1
    if end - first > _SPARSE * sum(map(len, lists)) or end - first <= limit:
        return None
    scores = np.zeros(end - first)
    for numbers, weight in zip(lists, weights, strict=True):
        scores[numbers - first] += weight
    least = _least(scores, limit)
    if least <= 0:  # fewer memories than are wanted have any of the words
        return None
    others = np.flatnonzero((scores >= least - _NOISE) & (scores != least))
    # Of those that have the same words, the newest are the best.
    ties = np.flatnonzero(scores == least)[-limit:]
    return np.asarray(np.sort(np.concatenate([others, ties])) + first, np.int64)


def _least(scores: Weights, limit: int) -> float:
    """Return the least of the highest scores."""
    return float(np.partition(scores, -limit)[-limit])


def _contained(nos: Numbers, numbers: Numbers) -> NDArray[np.bool_]:
    """Return which of some memories are in a list, which is in order."""
    if not len(numbers):
        return np.zeros(len(nos), np.bool_)
    places = np.searchsorted(numbers, nos)
    places[places == len(numbers)] = 0
    return np.asarray(numbers[places] == nos)


def _summed(lists: Sequence[Numbers], weights: Sequence[float]) -> tuple[Numbers, Weights]:
    """Return the memories in some lists, in order, and for each the sum of the weights of its lists."""
    if not any(map(len, lists)):
        return np.empty(0, np.int64), np.empty(0)
    nos, added = np.concatenate(lists), np.repeat(weights, [len(numbers) for numbers in lists])
    order = nos.argsort(kind="stable")
    nos, added = nos[order], added[order]
    first = np.concatenate(([0], np.flatnonzero(nos[1:] != nos[:-1]) + 1))
    return nos[first], np.add.reduceat(added, first)


def _rarity(count: int, total: int) -> float:
    """Return the inverse document frequency of a word that some of all memories have."""
    return math.log(1 + max(total - count + 0.5, 0.0) / (count + 0.5))
