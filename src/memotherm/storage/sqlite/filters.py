"""What the filters of searches let through, for filters that are used again and again.

A filter is applied to what a search has found. Reading everything that it lets through takes longer, and pays after
some searches: until the next event, the same filter is then a comparison of numbers.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memotherm.model import Tier
from memotherm.storage.selecting import compiled_filter
from memotherm.storage.sqlite.band import Allowed
from memotherm.storage.sqlite.statements import SqliteStatements
from memotherm.storage.values import Filter

__all__ = ["BandKey", "Filters"]

Numbers = NDArray[np.int64]

#: The largest cache, in numbers of memories of 8 bytes each.
CACHE_SIZE = 1_000_000
#: Stands for the time of a query in the keys of filters, which do not depend on it.
_ANY_TIME = datetime(1970, 1, 1, tzinfo=UTC)
#: After how many searches between two events a filter is read; a recall searches twice.
_SEARCHES = 16
#: How many filters are counted.
_MOST_COUNTED = 1000


class BandKey(NamedTuple):
    """The space and tier of a band."""

    space: int
    tier: Tier


Key = tuple[BandKey, Filter]


class Filters:
    """What some filters let through of the bands, valid until the next event."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seq = -1
        self._allowed: OrderedDict[Key, Allowed] = OrderedDict()
        self._size = 0
        self._searches: OrderedDict[Key, int] = OrderedDict()

    def numbers(
        self, statements: SqliteStatements, spaces: Sequence[int], tiers: Sequence[Tier], where: Filter
    ) -> list[Numbers] | None:
        """Return the memories that a filter lets through, each band in order; None unless they are worth to be read."""
        found: list[Numbers] = []
        for key in (BandKey(space, tier) for space in spaces for tier in tiers):
            allowed = self.known(statements, key, where)
            if allowed is None:
                return None
            found.append(allowed.nos)
        return found

    def known(self, statements: SqliteStatements, band: BandKey, where: Filter) -> Allowed | None:
        """Return what a filter lets through of a band; None unless it is worth to be read."""
        key = (band, replace(where, now=_ANY_TIME))
        with self._lock:
            self._renew(statements.moment().seq)
            if key in self._allowed:
                self._allowed.move_to_end(key)
                return self._allowed[key]
            searches = self._searches[key] = self._searches.pop(key, 0) + 1
            if len(self._searches) > _MOST_COUNTED:
                self._searches.popitem(last=False)
        return self.read(statements, band, where) if searches > _SEARCHES else None

    def read(self, statements: SqliteStatements, band: BandKey, where: Filter) -> Allowed:
        """Read what a filter lets through of a band."""
        conditions, values = compiled_filter(statements, where)
        place = {"space": band.space, "tier": band.tier.rank}
        rows = statements.rows_of("matching", {"conditions": conditions}, **place, **values)
        allowed = Allowed(np.sort(np.fromiter((no for (no,) in rows), np.int64)))
        with self._lock:
            if statements.moment().seq == self._seq:
                self._keep((band, replace(where, now=_ANY_TIME)), allowed)
        return allowed

    def _keep(self, key: Key, allowed: Allowed) -> None:
        before = self._allowed.pop(key, None)
        self._allowed[key] = allowed
        self._size += allowed.size - (before.size if before else 0)
        while self._size > CACHE_SIZE:
            self._size -= self._allowed.popitem(last=False)[1].size

    def _renew(self, seq: int) -> None:
        """Clear the cache if there is a newer event."""
        if seq != self._seq:
            self._allowed.clear()
            self._searches.clear()
            self._seq, self._size = seq, 0
