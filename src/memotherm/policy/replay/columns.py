"""The memories of a replay as columns, so that a selection over all of them is a few comparisons."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from memotherm.model import Memory, Priority, Retention, Scope
from memotherm.model.clock import to_micros
from memotherm.rules.select import Select

__all__ = ["Columns"]

_NEVER = np.iinfo(np.int64).min
_ALWAYS = np.iinfo(np.int64).max
#: The durations of a `Select` and the columns that they look at.
_SINCE = {
    "unused_for": "idle_since",
    "unaccessed_for": "accessed",
    "older_than": "created",
    "unchanged_for": "updated",
    "in_tier_for": "tier_since",
}


class Columns:
    """One row for each memory; those that are not stored yet, or not active, are selected by nothing."""

    def __init__(self, count: int) -> None:
        self._tier = np.full(count, -1, np.int8)
        self._priority = np.zeros(count, np.int8)
        self._kind = np.zeros(count, np.int32)
        self._scope = np.zeros(count, np.int32)
        self._times = {
            name: np.full(count, _NEVER, np.int64)
            for name in ("idle_since", "accessed", "used", "created", "updated", "tier_since")
        }
        self._expires = np.full(count, _ALWAYS, np.int64)
        self._kinds: dict[str, int] = {}
        self._scopes: dict[Scope, int] = {}
        self._tagged: dict[str, set[int]] = {}
        self._seen: dict[tuple[Scope, bool], NDArray[np.bool_]] = {}

    def put(self, index: int, memory: Memory, before: Memory | None) -> None:
        """Store the values of a memory."""
        active = memory.retention is Retention.ACTIVE
        self._tier[index] = memory.tier.rank if active else -1
        self._priority[index] = memory.priority.rank
        self._kind[index] = self._kinds.setdefault(memory.kind, len(self._kinds))
        self._scope[index] = self._scope_number(memory.scope)
        times = self._times
        times["idle_since"][index] = to_micros(memory.used_at)
        times["accessed"][index] = to_micros(memory.accessed_at or memory.created_at)
        times["created"][index] = to_micros(memory.created_at)
        times["updated"][index] = to_micros(memory.updated_at)
        times["tier_since"][index] = to_micros(memory.tier_since)
        times["used"][index] = _NEVER if memory.last_used_at is None else to_micros(memory.last_used_at)
        expires = memory.expires_at if memory.priority is not Priority.PINNED else None
        self._expires[index] = _ALWAYS if expires is None else to_micros(expires)
        if before is None or before.tags != memory.tags:
            for tag in () if before is None else before.tags:
                self._tagged[tag].discard(index)
            for tag in memory.tags:
                self._tagged.setdefault(tag, set()).add(index)

    def use(self, index: int, at: datetime, *, weighed: bool) -> None:
        """Store the time of a use, or of an access that is none."""
        for name in ("accessed", "used", "idle_since") if weighed else ("accessed",):
            self._times[name][index] = to_micros(at)

    def seen_from(self, scope: Scope) -> NDArray[np.bool_]:
        """Return which memories a scope sees."""
        return self._in_scopes(scope, inside=False)

    def inside(self, scope: Scope) -> NDArray[np.bool_]:
        """Return which memories lie inside a scope."""
        return self._in_scopes(scope, inside=True)

    def selected(self, selects: Select, now: datetime, among: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the indexes of the memories that a selection may match; see `decides`."""
        moment = to_micros(now)
        mask = among & self._matching(selects, moment)
        if selects.expired is not None:
            mask &= (self._expires <= moment) == selects.expired
        return np.flatnonzero(mask)

    @classmethod
    def decides(cls, selects: Select) -> bool:
        """Tell whether all selected memories match; metadata and times of retention are in no column."""
        return (
            Retention.ACTIVE in selects.retentions
            and not selects.metadata
            and selects.in_retention_for is None
            and all(map(cls.decides, selects.either))
        )

    def _matching(self, selects: Select, moment: int) -> NDArray[np.bool_]:
        mask = np.isin(self._tier, [tier.rank for tier in selects.tiers])
        if selects.kinds is not None:
            mask &= np.isin(self._kind, [self._kinds.get(kind, -1) for kind in selects.kinds])
        if selects.priorities is not None:
            mask &= np.isin(self._priority, [Priority.of(priority).rank for priority in selects.priorities])
        if selects.tags is not None:
            mask &= self._with_tags(selects.tags, len(mask))
        for name, column in _SINCE.items():
            duration = getattr(selects, name)
            if isinstance(duration, timedelta):
                mask &= self._times[column] <= moment - _micros(duration)
        used = self._times["used"]
        if selects.used_in_tier is not None:
            mask &= (used > self._times["tier_since"]) == selects.used_in_tier
        if isinstance(selects.used_within, timedelta):
            mask &= used > moment - _micros(selects.used_within)
        if selects.either:
            one = np.zeros(len(mask), np.bool_)
            for part in selects.either:
                one |= self._matching(part, moment)
            mask &= one
        return np.asarray(mask)

    def _with_tags(self, tags: Iterable[str], length: int) -> NDArray[np.bool_]:
        mask = np.zeros(length, np.bool_)
        for tag in tags:
            mask[list(self._tagged.get(tag, ()))] = True
        return mask

    def _scope_number(self, scope: Scope) -> int:
        number = self._scopes.get(scope)
        if number is None:
            number = self._scopes[scope] = len(self._scopes)
            self._seen.clear()
        return number

    def _in_scopes(self, scope: Scope, *, inside: bool) -> NDArray[np.bool_]:
        key = (scope, inside)
        if key not in self._seen:
            related = [other.sees(scope) if inside else scope.sees(other) for other in self._scopes]
            self._seen[key] = np.array([*related, False], np.bool_)
        return np.asarray(self._seen[key][self._scope])


def _micros(duration: timedelta) -> int:
    return duration // timedelta(microseconds=1)
