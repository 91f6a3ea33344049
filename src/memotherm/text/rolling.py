"""Hashes of all passages of a text, each in constant time after one pass over the text.

The hash of a passage is a polynomial of its characters, modulo 2**64. It is made from the sums of the terms before both
ends of the passage. It selects the passages to compare and proves nothing: whoever knows the factors can find two
passages with the same hash.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Positions = NDArray[np.int64]
Numbers = NDArray[np.uint64]

_MODULUS = 1 << 64
#: The bits of a short hash.
_BITS = 16


class RollingHash:
    """The hashes of the passages of a text; `factors` are two numbers of 64 bits."""

    def __init__(self, text: str, factors: tuple[int, int]) -> None:
        base, self._mixer = (factor | 1 for factor in factors)
        characters = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint64)
        self._powers = _powers(pow(base, -1, _MODULUS), len(text))
        terms = characters * _powers(base, len(text))[:-1]
        self._sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])

    def of(self, starts: Positions, ends: Positions) -> Numbers:
        """Return the hashes of the passages between positions."""
        hashes: Numbers = (self._sums[ends] - self._sums[starts]) * self._powers[starts]
        return hashes

    def short(self, hashes: Numbers) -> Numbers:
        """Return 16 bits of each hash."""
        return (hashes * np.uint64(self._mixer)) >> np.uint64(64 - _BITS)


def _powers(base: int, count: int) -> Numbers:
    """Return the powers of a number from 0 to `count`, modulo 2**64."""
    factors = np.full(count + 1, base, np.uint64)
    factors[0] = 1
    return np.cumprod(factors, dtype=np.uint64)
