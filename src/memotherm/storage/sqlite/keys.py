"""Keys made of bits, so that a scope, a tier or an embedder is one range of an index.

text index:  space (25 bits) | tier (2) | memory (36)
vectors:     embedder (7)    | memory (36) | part (20)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memotherm.model import Tier

__all__ = ["MEMORY_MASK", "PART_BITS", "Range", "text_band", "text_key", "text_ranges", "vector_base", "vector_range"]

_MEMORY_BITS = 36
_TIER_BITS = 2
PART_BITS = 20
MEMORY_MASK = (1 << _MEMORY_BITS) - 1


class Range(NamedTuple):
    """An inclusive range of keys."""

    low: int
    high: int


def text_key(space: int, tier: Tier, no: int) -> int:
    """Return the row of a memory in its text index."""
    return (space << _TIER_BITS | tier.rank) << _MEMORY_BITS | no


def text_band(key: int) -> tuple[int, int]:
    """Return the space and the rank of the tier of a row in a text index."""
    band = key >> _MEMORY_BITS
    return band >> _TIER_BITS, band & (1 << _TIER_BITS) - 1


def text_ranges(spaces: Sequence[int], tiers: Sequence[Tier]) -> Iterator[tuple[str, Range]]:
    """Yield (table, range) for every space and tier; hot and warm of a space are one range."""
    live = sorted((tier for tier in tiers if tier is not Tier.COLD), key=lambda tier: tier.rank)
    for space in spaces:
        if live:
            yield "text_live", Range(text_key(space, live[0], 0), text_key(space, live[-1], MEMORY_MASK))
        if Tier.COLD in tiers:
            yield "text_cold", Range(text_key(space, Tier.COLD, 0), text_key(space, Tier.COLD, MEMORY_MASK))


def vector_base(embedder: int) -> int:
    """Return the first key of an embedder's vectors."""
    return embedder << (_MEMORY_BITS + PART_BITS)


def vector_range(embedder: int, no: int) -> Range:
    """Return the keys of one memory's vectors."""
    low = vector_base(embedder) | no << PART_BITS
    return Range(low, low | (1 << PART_BITS) - 1)
