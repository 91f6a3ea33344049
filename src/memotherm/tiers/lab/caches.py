"""Caches over a trace of requests: LRU, and Belady's optimal replacement with bypass.

A trace is a sequence of steps. A step asks for a key, which counts, or adds or drops a key, which does not. A key that
is asked for and not in the cache is a miss and enters the cache, unless the optimal cache leaves it out because every
key in the cache is needed sooner. The size may differ from step to step.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Sequence
from enum import IntEnum

from memotherm.errors import InvalidInput


class Step(IntEnum):
    """The kinds of steps in a trace."""

    ASK = 0
    ADD = 1
    DROP = 2


def next_uses(keys: Sequence[int], steps: Sequence[int] | None = None) -> list[int]:
    """Return per step the position of the next request for its key, or the length of the trace."""
    never = len(keys)
    later: dict[int, int] = {}
    positions = [never] * never
    for position in range(never - 1, -1, -1):
        key = keys[position]
        step = Step.ASK if steps is None else steps[position]
        positions[position] = never if step == Step.DROP else later.get(key, never)
        if step == Step.ASK:
            later[key] = position
    return positions


def lru_hits(keys: Sequence[int], size: int | Sequence[int], steps: Sequence[int] | None = None) -> bytearray:
    """Return 1 per step that is a hit in an LRU cache."""
    sizes = _checked_sizes(size, len(keys))
    cache: OrderedDict[int, None] = OrderedDict()
    hits = bytearray(len(keys))
    for position, key in enumerate(keys):
        step = Step.ASK if steps is None else steps[position]
        if step == Step.DROP:
            cache.pop(key, None)
            continue
        if key in cache:
            hits[position] = step == Step.ASK
            cache.move_to_end(key)
        else:
            cache[key] = None
        while len(cache) > sizes[position]:
            cache.popitem(last=False)
    return hits


def belady_hits(keys: Sequence[int], size: int | Sequence[int], steps: Sequence[int] | None = None) -> bytearray:
    """Return 1 per step that is a hit in the optimal cache, which may bypass keys.

    It keeps the keys with the nearest next request; no cache of the same size has more hits.
    """
    sizes = _checked_sizes(size, len(keys))
    #: The position of the next request of each key in the cache.
    cache: dict[int, int] = {}
    #: (minus that position, key), with entries that are out of date.
    farthest: list[tuple[int, int]] = []
    hits = bytearray(len(keys))
    for position, (key, following) in enumerate(zip(keys, next_uses(keys, steps), strict=True)):
        step = Step.ASK if steps is None else steps[position]
        if step == Step.DROP:
            cache.pop(key, None)
            continue
        hits[position] = step == Step.ASK and key in cache
        cache[key] = following
        heapq.heappush(farthest, (-following, key))
        while len(cache) > sizes[position]:
            position_of_next, other = heapq.heappop(farthest)
            if cache.get(other) == -position_of_next:
                del cache[other]
    return hits


def _checked_sizes(size: int | Sequence[int], length: int) -> Sequence[int]:
    """Return the size at each step."""
    sizes = [size] * length if isinstance(size, int) else size
    if len(sizes) != length:
        raise InvalidInput(f"{length} steps need {length} sizes, not {len(sizes)}")
    if min(sizes, default=0) < 0:
        raise InvalidInput("the size of a cache cannot be negative")
    return sizes
