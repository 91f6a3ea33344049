"""The exact vectors that SQLite keeps in memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memotherm.storage.sqlite.keys import PART_BITS
from memotherm.storage.sqlite.vector_cache import VectorCache

#: The length of a vector, and room for three of them.
_DIMENSIONS = 2
_ROOM = 3 * (4 * _DIMENSIONS + 128)


class Reader:
    """Vectors that tell their key, as a store would read them, in the order of keys."""

    def __init__(self, absent: Sequence[int] = ()) -> None:
        self.absent = absent
        self.read: list[int] = []

    def __call__(self, keys: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the vectors of those keys that have one."""
        self.read.extend(keys)
        found = np.array(sorted(set(keys) - set(self.absent)), np.int64)
        return found, np.stack([found, found], axis=1).astype(np.float32)


def keys_of(cache: VectorCache, keys: Sequence[int], reader: Reader) -> list[int]:
    found, vectors = cache.vectors(keys, reader)
    assert vectors[:, 0].tolist() == vectors[:, 1].tolist() == found.tolist()
    return sorted(found.tolist())


def test_vectors_that_were_not_used_for_long_leave_first() -> None:
    """A vector that is used again stays; more keys than there is room for are read, and all are returned."""
    cache, reader = VectorCache(_ROOM, _DIMENSIONS), Reader(absent=[9])

    assert keys_of(cache, [3, 1, 2], reader) == [1, 2, 3]
    assert keys_of(cache, [3, 4, 9], reader) == [3, 4]
    assert keys_of(cache, [2, 3, 4], reader) == [2, 3, 4]
    assert reader.read == [3, 1, 2, 4, 9]
    assert keys_of(cache, [1, 2, 3, 4], reader) == [1, 2, 3, 4]
    assert reader.read[5:] == [1, 2, 3, 4]


def test_the_vectors_of_a_changed_memory_are_read_again() -> None:
    """All parts of it leave, and those of other memories stay."""
    cache, reader = VectorCache(_ROOM, _DIMENSIONS), Reader()
    first, later, other = 5 << PART_BITS, 5 << PART_BITS | 3, 6 << PART_BITS
    keys_of(cache, [first, later, other], reader)
    cache.discard([4, 5])

    assert keys_of(cache, [later, other, first], reader) == [first, later, other]
    assert reader.read[3:] == [later, first]
