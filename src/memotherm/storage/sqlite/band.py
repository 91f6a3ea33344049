"""The vectors of one space and tier, in memory, ready to be searched.

A small band keeps exact vectors and is one matrix product. A large one keeps 4-bit codes
and returns candidates to be rescored with the exact vectors. A band knows neither SQL nor
files of the store; `bands.py` fills it and keeps it true.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from memotherm.storage.sqlite.statements import PART_BITS

Numbers = NDArray[np.int64]
Vectors = NDArray[np.float32]
Real = TypeVar("Real", bound=np.floating[Any])

_CODE_BITS = 4
_CALIBRATION_SAMPLE = 2000
#: Codes are made for vectors whose length this number divides.
CODED_MULTIPLE = 8
#: The least number of codes whose vectors are compared; measured, the best 128 contain the true best 50.
LEAST_RESCORED = 128
#: How many changes a coded band collects before it repacks its codes (which costs a full pass).
_MOST_FRESH = 4096
_MOST_DEAD = 1024
#: What a band takes beside its vectors: for each of them its key in arrays and in a dictionary, and once for itself.
_KEY_BYTES = 112
_BAND_BYTES = 1024
#: The rounding error of a matrix product, which depends on the row's position.
_NOISE = 1e-5


def coding_available() -> bool:
    """Tell whether 4-bit codes can be used on this platform."""
    try:
        import turbovec  # noqa: F401
    except ImportError:
        return False
    return True


class Slots:
    """The key of each code of an index, in the order of the codes."""

    def __init__(self, keys: Numbers) -> None:
        self.keys = keys
        self._order = np.argsort(keys)
        self._sorted = keys[self._order]

    def __len__(self) -> int:
        return len(self.keys)

    def of(self, nos: Numbers) -> Numbers:
        """Return where the codes of some memories are."""
        first = np.searchsorted(self._sorted, nos << PART_BITS)
        parts = np.searchsorted(self._sorted, (nos + 1) << PART_BITS) - first
        # The keys of a memory follow each other: the first one, and how far behind it.
        behind = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
        return np.asarray(self._order[np.repeat(first, parts) + behind], np.int64)


class ExactBand:
    """Exact vectors under keys (memory << 20 | part), in a matrix; removal moves the last row into the gap."""

    exact = True

    def __init__(self, dimensions: int) -> None:
        self._matrix: Vectors = np.empty((0, dimensions), np.float32)
        self._keys: Numbers = np.empty(0, np.int64)
        self._row: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._row)

    @property
    def size(self) -> int:
        """About how many bytes it takes in memory."""
        return self._matrix.nbytes + len(self._keys) * _KEY_BYTES + _BAND_BYTES

    @property
    def keys(self) -> Numbers:
        """The keys it holds, in the order of its rows."""
        return self._keys[: len(self)]

    @property
    def vectors(self) -> Vectors:
        """The vectors it holds, in the order of its rows."""
        return self._matrix[: len(self)]

    def add(self, keys: Numbers, vectors: Vectors) -> None:
        """Add vectors under new keys."""
        start, end = len(self), len(self) + len(keys)
        if end > len(self._keys):
            rows = max(end, 2 * len(self._keys)) if start else end
            matrix, numbers = np.empty((rows, self._matrix.shape[1]), np.float32), np.zeros(rows, np.int64)
            matrix[:start], numbers[:start] = self.vectors, self.keys
            self._matrix, self._keys = matrix, numbers
        self._matrix[start:end] = vectors
        self._keys[start:end] = keys
        self._row.update(zip(keys.tolist(), range(start, end), strict=True))

    def discard(self, no: int) -> None:
        """Remove every vector of a memory, if there are any."""
        key = no << PART_BITS
        while (row := self._row.pop(key, None)) is not None:
            last = len(self)
            if row != last:
                self._matrix[row] = self._matrix[last]
                self._keys[row] = self._keys[last]
                self._row[int(self._keys[row])] = row
            key += 1

    def search(self, query: Vectors, limit: int, allowed: Numbers | None) -> tuple[Numbers, Vectors]:
        """Return up to `limit` (keys, similarities), best first, of the memories allowed (None = all)."""
        keys, vectors = self.keys, self.vectors
        if allowed is not None:
            rows = np.flatnonzero(np.isin(keys >> PART_BITS, allowed))
            keys, vectors = keys[rows], vectors[rows]
        # Not `vectors @ query`: BLAS would share a large product among threads, which wait for each other.
        near = _strongest(np.einsum("ij,j->i", vectors, query), limit, _NOISE)
        return best(keys[near], products(vectors[near], query), limit)

    def similarities(self, nos: Sequence[int], query: Vectors) -> dict[int, float]:
        """Return the similarity of those memories that are here; the nearest part counts."""
        keys: list[int] = []
        part = [key for no in nos if (key := no << PART_BITS) in self._row]
        while part:
            keys += part
            part = [key + 1 for key in part if key + 1 in self._row]
        if not keys:
            return {}
        return strongest_parts(keys, products(self._matrix[[self._row[key] for key in keys]], query))


class CodedBand:
    """4-bit codes of the vectors: an eighth of the memory, scanned in place.

    Changing the codes costs a pass over all of them, so changes wait beside them: new vectors
    in an exact band, removed memories in a set that searches skip.
    """

    exact = False

    def __init__(self, index: Any, keys: Numbers, dimensions: int) -> None:  # noqa: ANN401 - turbovec has no types
        self._index = index
        #: Replaced whenever the codes change.
        self._slots = Slots(keys)
        self._fresh = ExactBand(dimensions)
        self._dead: set[int] = set()
        #: How often the codes changed since they were made or loaded.
        self.repacked = 0

    @classmethod
    def of(cls, keys: Numbers, vectors: Vectors) -> CodedBand:
        """Return a band of the given vectors."""
        import turbovec

        index = turbovec.TurboQuantIndex(vectors.shape[1], _CODE_BITS)
        stride = max(1, len(vectors) // _CALIBRATION_SAMPLE)
        with suppress(ValueError):  # a sample without variation cannot be calibrated; codes work without it
            index.calibrate(np.ascontiguousarray(vectors[::stride]))
        index.add(np.ascontiguousarray(vectors))
        return cls(index, keys.copy(), vectors.shape[1])

    @classmethod
    def load(cls, path: str, keys: Numbers) -> CodedBand:
        """Read a band that `save` wrote; raises ValueError or OSError when that is impossible."""
        import turbovec

        index = turbovec.TurboQuantIndex.load(path)
        if len(index) != len(keys):
            raise ValueError(f"{path} holds {len(index)} vectors instead of {len(keys)}")
        return cls(index, keys, index.dim)

    def save(self, path: str) -> Numbers:
        """Write the codes to a file, at once or not at all, and return their keys in the same order."""
        self._repack()
        self._index.write(path, durable=False)
        self.repacked = 0
        return self._slots.keys

    def extend(self, keys: Numbers, vectors: Vectors) -> None:
        """Add many vectors straight to the codes."""
        self._index.add(np.ascontiguousarray(vectors))
        self._slots = Slots(np.concatenate([self._slots.keys, keys]))

    def __len__(self) -> int:
        return len(self._slots) + len(self._fresh)

    @property
    def size(self) -> int:
        """About how many bytes it takes in memory."""
        code = int(self._index.dim) * _CODE_BITS // 8
        return len(self._slots) * (code + 3 * 8) + self._fresh.size

    def add(self, keys: Numbers, vectors: Vectors) -> None:
        """Add vectors under new keys; those of a dead memory stay beside its codes until these are repacked."""
        self._fresh.add(keys, vectors)
        if len(self._fresh) > _MOST_FRESH:
            self._repack()

    def discard(self, no: int) -> None:
        """Remove every vector of a memory, if there are any."""
        self._fresh.discard(no)
        if len(self._slots.of(np.array([no], np.int64))):
            self._dead.add(no)
        if len(self._dead) > _MOST_DEAD:
            self._repack()

    def _repack(self) -> None:
        """Let the codes catch up with what changed."""
        if not self._dead and not len(self._fresh):
            return
        keys, left = self._slots.keys.copy(), len(self._slots)
        # The last code takes the place of a removed one; from behind, it is never one to be removed.
        for slot in sorted(self._slots.of(np.fromiter(self._dead, np.int64)).tolist(), reverse=True):
            left -= 1
            self._index.swap_remove(slot)
            keys[slot] = keys[left]
        if len(self._fresh):
            self._index.add(self._fresh.vectors.copy())
        self._slots = Slots(np.concatenate([keys[:left], self._fresh.keys]))
        self._fresh = ExactBand(self._fresh.vectors.shape[1])
        self._dead.clear()
        self.repacked += 1

    @property
    def keys(self) -> Numbers:
        """The keys it holds, in any order."""
        return np.concatenate([self._alive(self._slots.keys), self._fresh.keys])

    def keys_of(self, nos: Numbers) -> Numbers:
        """Return the keys of those memories that are here."""
        keys = self._alive(self._slots.keys[self._slots.of(nos)])
        if not len(self._fresh):
            return keys
        fresh = self._fresh.keys
        return np.concatenate([keys, fresh[np.isin(fresh >> PART_BITS, nos)]])

    def _alive(self, keys: Numbers) -> Numbers:
        """Return the keys without those of dead memories."""
        return keys[~np.isin(keys >> PART_BITS, np.fromiter(self._dead, np.int64))] if self._dead else keys

    def search(self, query: Vectors, limit: int, allowed: Numbers | None) -> tuple[Numbers, Vectors]:
        """Return up to `limit` (keys, similarities), best first, of the memories allowed (None = all)."""
        dead = np.fromiter(self._dead, np.int64)
        mask, count = None, len(self._slots)
        if allowed is not None:
            mask = np.zeros(len(self._slots), np.bool_)
            mask[self._slots.of(allowed)] = True
            count = int(mask.sum())
        keys, similarities = np.empty(0, np.int64), np.empty(0, np.float32)
        if wanted := min(limit + len(self._slots.of(dead)), count):
            strengths, slots = self._index.search(query[np.newaxis, :], wanted, mask=mask)
            keys, similarities = self._slots.keys[slots[0]], strengths[0].astype(np.float32)
        if self._dead:
            alive = ~np.isin(keys >> PART_BITS, dead)
            keys, similarities = keys[alive], similarities[alive]
        if len(self._fresh):
            fresh_keys, fresh_similarities = self._fresh.search(query, limit, allowed)
            keys = np.concatenate([keys, fresh_keys])
            similarities = np.concatenate([similarities, fresh_similarities])
        return best(keys, similarities, limit)


def products(vectors: Vectors, query: Vectors) -> Vectors:
    """Return the product of each row with the query: equal rows have equal products, wherever they are."""
    # One row at a time, so that a product does not depend on the row's position.
    rows = np.matmul(vectors.astype(np.float64)[:, np.newaxis, :], query.astype(np.float64)[:, np.newaxis])
    return np.asarray(rows[:, 0, 0], np.float32)


def strongest_parts(keys: Sequence[int], similarities: Vectors) -> dict[int, float]:
    """Return the similarity of each memory, which is that of its nearest part."""
    order = similarities.argsort().tolist()  # the strongest comes last
    return {keys[place] >> PART_BITS: float(similarities[place]) for place in order}


def _strongest(similarities: NDArray[Real], limit: int, noise: float = 0.0) -> Numbers:
    """Return the rows of the strongest, with all that are as strong as the last that fits."""
    if limit >= len(similarities):
        return np.arange(len(similarities))
    threshold = np.partition(similarities, -limit)[-limit] if limit else np.inf
    return np.flatnonzero(similarities >= threshold - noise)


def best(keys: Numbers, similarities: NDArray[Real], limit: int) -> tuple[Numbers, NDArray[Real]]:
    """Return the strongest, newest first among equals."""
    if limit < len(similarities) // 2:  # to sort a few too many is cheaper than to part them
        rows = _strongest(similarities, limit)
        keys, similarities = keys[rows], similarities[rows]
    order = np.lexsort((-keys, -similarities))[:limit]
    return keys[order], similarities[order]
