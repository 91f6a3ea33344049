"""The exact vectors that were compared last, in memory, for bands that keep only codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from memotherm.storage.sqlite.keys import PART_BITS

__all__ = ["VectorCache"]

Numbers = NDArray[np.int64]
Vectors = NDArray[np.float32]

#: What a vector takes beside its numbers (key, dictionary slot), in bytes.
_ENTRY_SIZE = 128
#: The key of a row without a vector.
_NO_KEY = -1


class VectorCache:
    """Vectors by key; those that were not used for long leave first.

    Args:
        capacity: How many bytes they may take.
        dimensions: The length of a vector.
    """

    def __init__(self, capacity: int, dimensions: int) -> None:
        most = capacity // (4 * dimensions + _ENTRY_SIZE)
        #: Key -> row, in the order in which they were used.
        self._row: dict[int, int] = {}
        # The operating system provides the memory of a row when it is first written.
        self._matrix: Vectors = np.empty((most, dimensions), np.float32)
        self._keys: Numbers = np.full(most, _NO_KEY)
        self._free = list(reversed(range(most)))

    def vectors(
        self, keys: Sequence[int], read: Callable[[Sequence[int]], tuple[Numbers, Vectors]]
    ) -> tuple[Numbers, Vectors]:
        """Return those of some keys that have vectors, and these; `read` reads what is not here."""
        if len(keys) > len(self._keys):
            return read(keys)
        missing = []
        for key in keys:
            row = self._row.pop(key, None)
            if row is None:
                missing.append(key)
            else:
                self._row[key] = row
        if missing:
            self._add(*read(missing))
        rows = [row for row in map(self._row.get, keys) if row is not None]
        return self._keys[rows], self._matrix[rows]

    def _add(self, keys: Numbers, vectors: Vectors) -> None:
        while len(self._free) < len(keys):
            self._free.append(self._row.pop(next(iter(self._row))))
        rows = [self._free.pop() for _ in range(len(keys))]
        self._keys[rows], self._matrix[rows] = keys, vectors
        self._row.update(zip(keys.tolist(), rows, strict=True))

    def discard(self, nos: Sequence[int]) -> None:
        """Remove the vectors of some memories, if there are any."""
        rows = np.flatnonzero(np.isin(self._keys >> PART_BITS, nos))
        for key in self._keys[rows].tolist():
            self._free.append(self._row.pop(key))
        self._keys[rows] = _NO_KEY
