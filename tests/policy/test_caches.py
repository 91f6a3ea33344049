"""Caches over traces: equal to an implementation written here, to the last request."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Sequence

import pytest

from memotherm.tiers.lab.caches import CacheStep, Kind, belady_hits, lru_hits


def _asked(keys: Sequence[int], size: int) -> list[CacheStep]:
    return [CacheStep(key, Kind.ASK, size) for key in keys]


def plain_lru(keys: list[int], size: int) -> list[bool]:
    """An LRU by the time of the last request: a key is held if fewer than `size` others were asked for since."""
    # The number of distinct keys since the last request, from a tree of the positions that are a key's last.
    length = len(keys)
    tree = [0] * (length + 1)

    def add(position: int, amount: int) -> None:
        position += 1
        while position <= length:
            tree[position] += amount
            position += position & -position

    def total(position: int) -> int:
        amount = 0
        while position:
            amount += tree[position]
            position -= position & -position
        return amount

    last: dict[int, int] = {}
    hits = []
    for position, key in enumerate(keys):
        before = last.get(key)
        hits.append(before is not None and total(position) - total(before + 1) < size)
        if before is not None:
            add(before, -1)
        add(position, 1)
        last[key] = position
    return hits


def plain_optimum(keys: list[int], size: int) -> list[bool]:
    """The optimal cache as a choice of intervals: between two requests, a key is held or not.

    Intervals are taken in the order of their ends, each if fewer than `size` of those taken are open at every moment
    inside it. Slots by their last end decide that, because a taken interval fills the slot that became free last.
    """
    last: dict[int, int] = {}
    hits = [False] * len(keys)
    free = [-1] * size
    for position, key in enumerate(keys):
        begin = last.get(key)
        last[key] = position
        if begin is None:
            continue
        slot = bisect_right(free, begin) - 1
        if slot >= 0:
            del free[slot]
            free.append(position)
            hits[position] = True
    return hits


def _checked(keys: list[int], size: int) -> None:
    assert lru_hits(_asked(keys, size)) == plain_lru(keys, size)
    assert sum(belady_hits(_asked(keys, size))) == sum(plain_optimum(keys, size))


@pytest.mark.parametrize("seed", range(4))
def test_hits_equal_an_independent_implementation(seed: int):
    """LRU hits request by request, and the optimal number of hits, at five sizes of a random trace."""
    source = random.Random(seed)
    keys = [min(200, int(source.paretovariate(0.7))) for _ in range(2000)]
    for size in (1, 2, 7, 40, 150):
        _checked(keys, size)


def test_no_cache_of_the_same_size_has_more_hits_than_the_optimum():
    """The optimum is at least as good as every choice of what to hold, tried out on short traces."""
    source = random.Random(3)
    for _ in range(40):
        keys = [source.randrange(5) for _ in range(10)]
        states: dict[frozenset[int], int] = {frozenset(): 0}
        for key in keys:
            following: dict[frozenset[int], int] = {}
            for held, hits in states.items():
                hit = hits + (key in held)
                for kept in [held, *([held | {key}] if len(held | {key}) <= 2 else [])] + [
                    held - {other} | {key} for other in held
                ]:
                    following[kept] = max(following.get(kept, 0), hit)
            states = following
        assert sum(belady_hits(_asked(keys, 2))) == max(states.values())


def test_keys_that_are_added_or_dropped_do_not_count_as_requests():
    """A key that was added is found, a dropped one is not, and only requests count."""
    kinds = [(1, Kind.ADD), (1, Kind.ASK), (2, Kind.ADD), (1, Kind.DROP), (1, Kind.ASK)]
    trace = [CacheStep(key, kind, 5) for key, kind in kinds]
    assert lru_hits(trace) == belady_hits(trace) == [True, False]


def test_a_cache_that_becomes_smaller_evicts_at_once():
    """Sizes may differ from step to step."""
    trace = [CacheStep(key, Kind.ASK, size) for key, size in ((1, 2), (2, 2), (1, 1), (2, 1))]
    assert lru_hits(trace) == [False, False, True, False]
