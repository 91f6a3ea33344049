"""The memories of a replay as columns, which narrow down what a rule has to look at."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from memotherm.model import Memory, Retention, Scope
from memotherm.model.clock import to_micros
from memotherm.tiers.rules.select import MOMENTS, Select

_NEVER = np.iinfo(np.int64).min
_MICROSECOND = timedelta(microseconds=1)


class Columns:
    """One row per memory; the tier of a row that is not stored yet or not active is -1."""

    def __init__(self, count: int) -> None:
        self._tier = np.full(count, -1, np.int8)
        self._kind = np.zeros(count, np.int32)
        self._scope = np.zeros(count, np.int32)
        self._moments = {name: np.full(count, _NEVER, np.int64) for name in MOMENTS}
        self._used = np.full(count, _NEVER, np.int64)
        self._kinds: dict[str, int] = {}
        self._scopes: dict[Scope, int] = {}
        self._tagged: dict[str, set[int]] = defaultdict(set)

    def put(self, index: int, memory: Memory, before: Memory | None) -> None:
        """Store the values of a new or changed memory."""
        self._tier[index] = memory.tier.rank if memory.retention is Retention.ACTIVE else -1
        self._kind[index] = self._kinds.setdefault(memory.kind, len(self._kinds))
        self._scope[index] = self._scopes.setdefault(memory.scope, len(self._scopes))
        for name, moment_of in MOMENTS.items():
            self._moments[name][index] = to_micros(moment_of(memory))
        self._used[index] = _NEVER if memory.accessed_at is None else to_micros(memory.accessed_at)
        if before is None or before.tags != memory.tags:
            for tag in () if before is None else before.tags:
                self._tagged[tag].discard(index)
            for tag in memory.tags:
                self._tagged[tag].add(index)

    def seen_from(self, scope: Scope) -> NDArray[np.bool_]:
        """Return which memories a scope sees."""
        return np.array([*map(scope.sees, self._scopes), False])[self._scope]

    def inside(self, scope: Scope) -> NDArray[np.bool_]:
        """Return which memories lie inside a scope."""
        return np.array([*(other.sees(scope) for other in self._scopes), False])[self._scope]

    def candidates(self, selects: Select, now: datetime, among: NDArray[np.bool_]) -> list[int]:
        """Return the indexes of the active memories that a selection can match; some of them it may not."""
        indexes: list[int] = np.flatnonzero(among & self._mask(selects, to_micros(now))).tolist()
        return indexes

    def _mask(self, selects: Select, now: int) -> NDArray[np.bool_]:
        mask = np.isin(self._tier, [tier.rank for tier in selects.tiers])
        if selects.kinds is not None:
            mask &= np.isin(self._kind, [self._kinds.get(kind, -1) for kind in selects.kinds])
        if selects.tags is not None:
            tagged = np.zeros(len(mask), np.bool_)
            tagged[[index for tag in selects.tags for index in self._tagged[tag]]] = True
            mask &= tagged
        for name, moments in self._moments.items():
            duration = getattr(selects, name)
            if duration is not None:
                mask &= moments <= now - duration // _MICROSECOND
        if selects.used_in_tier is not None:
            mask &= (self._used > self._moments["in_tier_for"]) == selects.used_in_tier
        if isinstance(selects.used_within, timedelta):
            mask &= self._used > now - selects.used_within // _MICROSECOND
        if selects.either:
            mask &= np.logical_or.reduce([self._mask(part, now) for part in selects.either])
        return mask
