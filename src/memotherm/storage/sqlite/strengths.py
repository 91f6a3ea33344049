"""The strengths of the vectors that were compared with the queries asked last.

A query is often asked again: a context follows a recall, a prompt is repeated. The strengths of its vectors take a
hundredth of the bytes that the vectors take.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memotherm.storage.sqlite.keys import PART_BITS

__all__ = ["StrengthCache"]

Numbers = NDArray[np.int64]
Vectors = NDArray[np.float32]
#: Returns those of some keys that have vectors, with the strengths of these.
Compare = Callable[[Numbers], tuple[Numbers, Vectors]]

#: What a query takes beside keys and strengths (name, array headers, dictionary slot), in bytes.
_ENTRY_SIZE = 700
#: How many memories may be changed before all strengths are forgotten.
_MOST_CHANGES = 1000


class _Compared(NamedTuple):
    """Keys in order, their strengths, and how many memories were changed before."""

    keys: Numbers
    strengths: Vectors
    changes: int

    @property
    def size(self) -> int:
        return _ENTRY_SIZE + self.keys.nbytes + self.strengths.nbytes


class StrengthCache:
    """Strengths by query and key; those of the queries that were not asked for long leave first.

    Args:
        capacity: How many bytes they may take.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self.clear()

    def clear(self) -> None:
        """Forget all strengths."""
        self._queries: OrderedDict[bytes, _Compared] = OrderedDict()
        #: The bytes that they take.
        self.size = 0
        #: The memories that were changed since the first query was asked.
        self._changed: list[int] = []

    def discard(self, nos: Iterable[int]) -> None:
        """Forget the strengths of some memories."""
        if self._queries:
            self._changed.extend(nos)
            if len(self._changed) > _MOST_CHANGES:
                self.clear()

    def strengths(self, query: Vectors, keys: Numbers, compare: Compare) -> tuple[Numbers, Vectors]:
        """Return those of some keys that have vectors, with their strengths; `compare` finds what is not here."""
        name = blake2b(query.tobytes(), digest_size=16).digest()
        known = self._known(name)
        if known is None:
            found, strengths = compare(keys)
            self._keep(name, _sorted(found, strengths))
            return found, strengths
        places = np.minimum(known.keys.searchsorted(keys), len(known.keys) - 1)
        here = known.keys[places] == keys
        if here.all():
            return keys, known.strengths[places]
        found, strengths = compare(keys[~here])
        self._keep(name, _sorted(np.concatenate([known.keys, found]), np.concatenate([known.strengths, strengths])))
        return (
            np.concatenate([keys[here], found]),
            np.concatenate([known.strengths[places[here]], strengths]),
        )

    def _known(self, name: bytes) -> _Compared | None:
        """Return what is known of a query, without the memories that were changed since; None if nothing is."""
        known = self._queries.get(name)
        if known is None:
            return None
        self._queries.move_to_end(name)
        if known.changes < len(self._changed):
            left = ~np.isin(known.keys >> PART_BITS, self._changed[known.changes :])
            known = _Compared(known.keys[left], known.strengths[left], 0)
            self._keep(name, (known.keys, known.strengths))
        return known if len(known.keys) else None

    def _keep(self, name: bytes, compared: tuple[Numbers, Vectors]) -> None:
        before = self._queries.pop(name, None)
        kept = self._queries[name] = _Compared(*compared, len(self._changed))
        self.size += kept.size - (before.size if before else 0)
        while self.size > self._capacity:
            self.size -= self._queries.popitem(last=False)[1].size


def _sorted(keys: Numbers, strengths: Vectors) -> tuple[Numbers, Vectors]:
    order = np.argsort(keys)
    return keys[order], strengths[order]
