"""The exact vectors that were compared last, in memory, for bands that keep only codes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from memotherm.storage.sqlite.keys import PART_BITS

__all__ = ["Read", "VectorCache"]

Numbers = NDArray[np.int64]
Vectors = NDArray[np.float32]
#: Reads those of some keys that have vectors, with these.
Read = Callable[[Sequence[int]], tuple[Numbers, Vectors]]

#: What a vector takes beside its numbers (its key in an array and in a dictionary), in bytes.
_ENTRY_SIZE = 140
_PART_MASK = (1 << PART_BITS) - 1
#: The key of a row whose vector was removed.
_NO_KEY = -1
#: How many rows the matrix has at first.
_FIRST_ROWS = 256


class VectorCache:
    """Vectors by key, as rows of one matrix; those that were used again stay longer.

    Args:
        capacity: How many bytes they may take.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        #: The most parts of a memory.
        self._parts = 1
        self.clear()

    def clear(self) -> None:
        """Remove all vectors."""
        self._rows: dict[int, int] = {}
        self._matrix: Vectors = np.empty((0, 0), np.float32)
        #: The key of each row.
        self._keys: Numbers = np.empty(0, np.int64)
        #: Whether a row was used again, since all of them were.
        self._used: NDArray[np.bool_] = np.empty(0, np.bool_)
        #: How many rows were filled, and the row after the one that was replaced last.
        self._filled = self._next = 0

    def __len__(self) -> int:
        """Return the number of vectors in it."""
        return len(self._rows)

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return self._filled * (int(self._matrix.shape[1]) * self._matrix.itemsize + _ENTRY_SIZE)

    def vectors(self, keys: Sequence[int], read: Read) -> tuple[Numbers, Vectors]:
        """Return those of some keys that have vectors, with these; `read` reads what is not here."""
        here = self._rows
        missing = [key for key in keys if key not in here]
        if not missing:
            return np.array(keys, np.int64), self._found(keys)
        found = [key for key in keys if key in here]
        new_keys, vectors = read(missing)
        if found:
            old = self._found(found)
            self._add(new_keys, vectors)
            return np.concatenate([np.array(found, np.int64), new_keys]), np.concatenate([old, vectors])
        self._add(new_keys, vectors)
        return new_keys, vectors

    def discard(self, first_keys: Iterable[int]) -> None:
        """Remove the vectors of the memories whose first parts have some keys, if there are any."""
        for first in first_keys:
            for key in range(first, first + self._parts):
                row = self._rows.pop(key, None)
                if row is not None:
                    self._keys[row], self._used[row] = _NO_KEY, False

    def _found(self, keys: Sequence[int]) -> Vectors:
        rows = np.array([self._rows[key] for key in keys], np.int64)
        self._used[rows] = True
        return np.asarray(self._matrix.take(rows, axis=0))

    def _add(self, keys: Numbers, vectors: Vectors) -> None:
        most = self._capacity // (vectors.shape[1] * vectors.itemsize + _ENTRY_SIZE)
        keys, vectors = keys[:most], vectors[:most]
        if not len(keys):
            return
        rows = self._replaceable(len(keys), vectors.shape[1], most)
        for key in self._keys[rows].tolist():
            self._rows.pop(key, None)
        self._matrix[rows], self._keys[rows], self._used[rows] = vectors, keys, False
        self._rows.update(zip(keys.tolist(), rows.tolist(), strict=True))
        self._parts = max(self._parts, int((keys & _PART_MASK).max()) + 1)

    def _replaceable(self, count: int, dimensions: int, most: int) -> Numbers:
        """Return rows for new vectors: empty ones, or else those that were not used again, in turn."""
        end = min(self._filled + count, most)
        if end > len(self._keys):
            self._grow(min(most, max(end, 2 * len(self._keys), _FIRST_ROWS)), dimensions)
        empty = np.arange(self._filled, end)
        self._filled = end
        if len(empty) == count:
            return empty
        unused = np.flatnonzero(~self._used[: end - len(empty)])
        if len(unused) < count - len(empty):
            self._used[:] = False
            unused = np.arange(end - len(empty))
        first = int(unused.searchsorted(self._next))
        replaced = unused.take(np.arange(first, first + count - len(empty)), mode="wrap")
        self._next = int(replaced[-1]) + 1
        return np.concatenate([empty, replaced])

    def _grow(self, rows: int, dimensions: int) -> None:
        matrix = np.empty((rows, dimensions), np.float32)
        matrix[: self._filled] = self._matrix[: self._filled].reshape(-1, dimensions)
        added = rows - len(self._keys)
        self._matrix = matrix
        self._keys = np.concatenate([self._keys, np.full(added, _NO_KEY, np.int64)])
        self._used = np.concatenate([self._used, np.zeros(added, np.bool_)])
