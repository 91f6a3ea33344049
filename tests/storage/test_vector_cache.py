"""The exact vectors that SQLite keeps in memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memotherm.storage.sqlite.keys import PART_BITS
from memotherm.storage.sqlite.vector_cache import VectorCache

#: The bytes of three vectors of two numbers.
_ROOM = 3 * (8 + 140)


class Reader:
    """Vectors that tell their key, as a store would read them, in the order of keys."""

    def __init__(self, absent: Sequence[int] = ()) -> None:
        self.absent = absent
        self.read: list[int] = []

    def __call__(self, keys: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the vectors of those keys that have one."""
        self.read.extend(keys)
        found = np.array(sorted(set(keys) - set(self.absent)), np.int64)
        return found, np.stack([found, -found], axis=1).astype(np.float32)


def keys_of(cache: VectorCache, keys: Sequence[int], reader: Reader) -> list[int]:
    found, vectors = cache.vectors(keys, reader)
    assert np.array_equal(vectors, np.stack([found, -found], axis=1).astype(np.float32))
    return sorted(found.tolist())


def test_vectors_that_were_used_again_stay_longer() -> None:
    """Those that were not leave first; of more keys than there is room for, all are returned."""
    cache, reader = VectorCache(_ROOM), Reader(absent=[9])

    assert keys_of(cache, [3, 1, 2], reader) == [1, 2, 3]
    assert keys_of(cache, [2, 3], reader) == [2, 3]
    assert reader.read == [3, 1, 2]
    for _ in range(2):
        assert keys_of(cache, [3, 4, 9], reader) == [3, 4]
    assert reader.read[3:] == [4, 9, 9]
    assert keys_of(cache, [2, 3, 4], reader) == [2, 3, 4]
    assert reader.read[6:] == []
    for _ in range(2):
        assert keys_of(cache, [1, 2, 3, 4, 5], reader) == [1, 2, 3, 4, 5]
    assert len(cache) == 3
    assert keys_of(cache, [9], reader) == []


def test_vectors_take_no_more_than_the_capacity() -> None:
    """However many are read, in whatever portions, the newest stay and the size does not exceed the limit."""
    capacity = 1000 * (8 + 140)
    cache, reader = VectorCache(capacity), Reader()

    for start in range(0, 30_000, 700):
        assert keys_of(cache, range(start, start + 700), reader) == list(range(start, start + 700))
        assert cache.size <= capacity
    assert len(cache) == 1000
    assert len(reader.read) == 30_100
    assert keys_of(cache, range(29_400, 30_100), reader)
    assert len(reader.read) == 30_100


def test_the_vectors_of_a_changed_memory_are_read_again() -> None:
    """All parts of it leave, and those of other memories stay."""
    cache, reader = VectorCache(_ROOM), Reader()
    first, later, other = 5 << PART_BITS, 5 << PART_BITS | 3, 6 << PART_BITS
    keys_of(cache, [first, later, other], reader)
    cache.discard([4 << PART_BITS, first])

    assert keys_of(cache, [later, other, first], reader) == [first, later, other]
    assert reader.read[3:] == [later, first]
