"""Caches over a trace of requests: LRU, and Belady's optimal replacement with bypass.

A trace is a sequence of steps. A step asks for a key, which counts, or adds or drops a key, which does not. A key that
is asked for and not in the cache is a miss and enters the cache, unless the optimal cache leaves it out because every
key in the cache is needed sooner. The size may differ from step to step.
"""

from __future__ import annotations

import gzip
import heapq
import os
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from memotherm.errors import InvalidInput, NotFound

#: The sizes of `auto`, as shares of the distinct keys.
AUTO_SHARES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.4, 0.8)


class Step(IntEnum):
    """The kinds of steps in a trace."""

    ASK = 0
    ADD = 1
    DROP = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class HitRates:
    """The share of the requests of a trace that caches of one size answer."""

    #: The number of keys that the caches hold.
    size: int
    requests: int
    lru_hits: int
    belady_hits: int

    @property
    def lru(self) -> float:
        """The hit rate of an LRU cache."""
        return self.lru_hits / self.requests if self.requests else 0.0

    @property
    def belady(self) -> float:
        """The hit rate of the optimal cache, which knows all later requests."""
        return self.belady_hits / self.requests if self.requests else 0.0


def auto_sizes(distinct: int) -> tuple[int, ...]:
    """Return sizes for a trace with a number of distinct keys, ascending."""
    return tuple(dict.fromkeys(max(1, round(distinct * share)) for share in AUTO_SHARES))


def hit_rates(keys: Sequence[int], size: int) -> HitRates:
    """Return the hit rates of caches with one size over a trace in which every step asks."""
    return HitRates(
        size=size, requests=len(keys), lru_hits=sum(lru_hits(keys, size)), belady_hits=sum(belady_hits(keys, size))
    )


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


def read_trace(path: str | os.PathLike[str]) -> list[int]:
    """Return the keys of a trace as numbers, in order; equal lines have equal numbers."""
    numbers: dict[str, int] = {}
    file = Path(path).expanduser()
    try:
        with gzip.open(file, "rt") if file.suffix == ".gz" else file.open() as lines:
            keys = [numbers.setdefault(key, len(numbers)) for line in lines if (key := line.strip())]
    except FileNotFoundError:
        raise NotFound(f"there is no trace {file}: pass a file with one key per line") from None
    except (OSError, UnicodeDecodeError, EOFError) as exc:
        raise InvalidInput(f"cannot read the trace {file}: {exc}") from exc
    if not keys:
        raise InvalidInput(f"the trace {file} has no requests: pass a file with one key per line")
    return keys
