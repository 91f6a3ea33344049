"""The memories of a replay as columns, which narrow down what a rule has to look at."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from memotherm.model import Memory, Retention, Scope
from memotherm.tiers.rules.select import Select

_NEVER = np.iinfo(np.int64).min
_MICROSECOND = timedelta(microseconds=1)


class Columns:
    """One row per memory; the tier of a row that is not stored yet or not active is -1."""

    def __init__(self, count: int) -> None:
        self._tier = np.full(count, -1, np.int8)
        self._scope = np.zeros(count, np.int32)
        self._scopes: dict[Scope, int] = {}

    def put(self, index: int, memory: Memory) -> None:
        """Store the values of a new or changed memory."""
        self._tier[index] = memory.tier.rank if memory.retention is Retention.ACTIVE else -1
        self._scope[index] = self._scopes.setdefault(memory.scope, len(self._scopes))

    def seen_from(self, scope: Scope) -> NDArray[np.bool_]:
        """Return which memories a scope sees."""
        return np.array([*map(scope.sees, self._scopes), False])[self._scope]

    def inside(self, scope: Scope) -> NDArray[np.bool_]:
        """Return which memories lie inside a scope."""
        return np.array([*(other.sees(scope) for other in self._scopes), False])[self._scope]

    def candidates(self, selects: Select, among: NDArray[np.bool_]) -> list[int]:
        """Return the indexes of the active memories that a selection can match; some of them it may not."""
        mask = np.isin(self._tier, [tier.rank for tier in selects.tiers])
        indexes: list[int] = np.flatnonzero(among & mask).tolist()
        return indexes
