"""The exact vectors that are compared again and again, in memory, for bands that keep only codes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence

from memotherm.storage.sqlite.keys import PART_BITS

__all__ = ["VectorCache", "VectorRow"]

#: A key and its vector as it is stored.
VectorRow = tuple[int, bytes]

#: How many keys of vectors that were read once are known.
_MOST_READ = 100_000
#: What a vector takes beside its numbers (key, object headers, dictionary slot), in bytes.
_ENTRY_SIZE = 200
_PART_MASK = (1 << PART_BITS) - 1


class VectorCache:
    """Vectors by key; those that were not used for long leave first.

    A vector is kept when it is read for the second time: most are read once, and keeping them takes a third of the
    time of reading them.

    Args:
        capacity: How many bytes they may take.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        #: In the order in which they were used.
        self._vectors: OrderedDict[int, bytes] = OrderedDict()
        #: The keys of those that were read once.
        self._read: set[int] = set()
        #: The most parts of a memory.
        self._parts = 1

    def clear(self) -> None:
        """Remove all vectors."""
        self._vectors.clear()
        self._read.clear()

    def rows(self, keys: Sequence[int], read: Callable[[Sequence[int]], list[VectorRow]]) -> list[VectorRow]:
        """Return those of some keys that have vectors, with these; `read` reads what is not here."""
        vectors, found, missing = self._vectors, [], []
        for key in keys:
            vector = vectors.get(key)
            if vector is None:
                missing.append(key)
            else:
                vectors.move_to_end(key)
                found.append((key, vector))
        if missing:
            new = read(missing)
            found += new
            if again := self._read.intersection(missing):
                self._add([row for row in new if row[0] in again])
            self._note_read(missing)
        return found

    def _note_read(self, keys: Sequence[int]) -> None:
        if len(self._read) > _MOST_READ:
            self._read.clear()
        self._read.update(keys)

    def _add(self, rows: Sequence[VectorRow]) -> None:
        if not rows:
            return
        self._vectors.update(rows)
        self._parts = max(self._parts, max(key & _PART_MASK for key, _ in rows) + 1)
        # The vectors of an embedder have one length.
        most = self._capacity // (len(rows[0][1]) + _ENTRY_SIZE)
        while len(self._vectors) > most:
            self._vectors.popitem(last=False)

    def discard(self, first_keys: Iterable[int]) -> None:
        """Remove the vectors of the memories whose first parts have some keys, if there are any."""
        for first in first_keys:
            for key in range(first, first + self._parts):
                self._vectors.pop(key, None)
