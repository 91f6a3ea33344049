"""The exact vectors that SQLite keeps in memory."""

from __future__ import annotations

from collections.abc import Sequence

from memotherm.storage.sqlite.keys import PART_BITS
from memotherm.storage.sqlite.vector_cache import VectorCache, VectorRow

#: The bytes of three vectors of eight bytes.
_ROOM = 3 * (8 + 200)


class Reader:
    """Vectors that tell their key, as a store would read them, in the order of keys."""

    def __init__(self, absent: Sequence[int] = ()) -> None:
        self.absent = absent
        self.read: list[int] = []

    def __call__(self, keys: Sequence[int]) -> list[VectorRow]:
        """Return the vectors of those keys that have one."""
        self.read.extend(keys)
        return [(key, key.to_bytes(8)) for key in sorted(set(keys) - set(self.absent))]


def keys_of(cache: VectorCache, keys: Sequence[int], reader: Reader) -> list[int]:
    rows = cache.rows(keys, reader)
    assert all(vector == key.to_bytes(8) for key, vector in rows)
    return sorted(key for key, _ in rows)


def test_vectors_that_were_not_used_for_long_leave_first() -> None:
    """A vector that was read twice stays while it is used; of more keys than there is room for, all are returned."""
    cache, reader = VectorCache(_ROOM), Reader(absent=[9])

    for _ in range(3):
        assert keys_of(cache, [3, 1, 2], reader) == [1, 2, 3]
    assert reader.read == [3, 1, 2, 3, 1, 2]
    for _ in range(2):
        assert keys_of(cache, [3, 4, 9], reader) == [3, 4]
    assert keys_of(cache, [2, 3, 4], reader) == [2, 3, 4]
    assert reader.read[6:] == [4, 9, 4, 9]
    assert keys_of(cache, [1, 2, 3, 4], reader) == [1, 2, 3, 4]
    assert reader.read[10:] == [1]
    assert keys_of(cache, [9], reader) == []


def test_the_vectors_of_a_changed_memory_are_read_again() -> None:
    """All parts of it leave, and those of other memories stay."""
    cache, reader = VectorCache(_ROOM), Reader()
    first, later, other = 5 << PART_BITS, 5 << PART_BITS | 3, 6 << PART_BITS
    for _ in range(2):
        keys_of(cache, [first, later, other], reader)
    cache.discard([4 << PART_BITS, first])

    assert keys_of(cache, [later, other, first], reader) == [first, later, other]
    assert reader.read[6:] == [later, first]
