"""Caches over a trace of requests: LRU, and Belady's optimal replacement with bypass.

A key that is asked for and not in the cache is a miss and enters the cache, unless the optimal cache leaves it out
because every key in the cache is needed sooner.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple


class Kind(Enum):
    """The kinds of steps: only those that ask count as hits or misses."""

    ASK = "ask"
    ADD = "add"
    DROP = "drop"


class CacheStep(NamedTuple):
    """A step of a trace."""

    key: int
    kind: Kind
    #: How many keys the cache may hold after it.
    size: int


def lru_hits(trace: Sequence[CacheStep]) -> list[bool]:
    """Return for each request whether an LRU cache answers it."""
    #: The last used at the end.
    cache: dict[int, None] = {}
    hits: list[bool] = []
    for key, kind, size in trace:
        known = cache.pop(key, True) is None
        if kind is Kind.ASK:
            hits.append(known)
        if kind is not Kind.DROP:
            cache[key] = None
        while len(cache) > size:
            del cache[next(iter(cache))]
    return hits


def belady_hits(trace: Sequence[CacheStep]) -> list[bool]:
    """Return for each request whether the optimal cache answers it, which may bypass keys.

    It keeps the keys with the nearest next request; no cache of the same size has more hits.
    """
    following, later = [len(trace)] * len(trace), dict[int, int]()
    for position in range(len(trace) - 1, -1, -1):
        key, kind, _ = trace[position]
        following[position] = later.get(key, len(trace))
        if kind is Kind.ASK:
            later[key] = position
    #: The position of the next request of each key in the cache.
    cache: dict[int, int] = {}
    #: (minus that position, key), with entries that are out of date.
    farthest: list[tuple[int, int]] = []
    hits: list[bool] = []
    for (key, kind, size), position in zip(trace, following, strict=True):
        known = cache.pop(key, None) is not None
        if kind is Kind.ASK:
            hits.append(known)
        if kind is not Kind.DROP:
            cache[key] = position
            heapq.heappush(farthest, (-position, key))
        while len(cache) > size:
            next_request, other = heapq.heappop(farthest)
            if cache.get(other) == -next_request:
                del cache[other]
    return hits
