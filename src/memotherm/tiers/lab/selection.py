"""Which memories of a replay a rule has to look at: columns for selections, and when a decision can change."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from memotherm.model import Memory, Priority, Retention, Scope, Tier
from memotherm.model.clock import to_micros
from memotherm.settings import Settings
from memotherm.tiers.rules.conditions import Condition, FieldType, Table
from memotherm.tiers.rules.properties import DATE_KEYS, HALF_LIFE_DAYS
from memotherm.tiers.rules.rule import Situation
from memotherm.tiers.rules.select import Select
from memotherm.tiers.rules.table import TableRule

__all__ = ["Columns", "next_decision_at"]

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
    """One row per memory; rows that are not stored yet or not active are never selected."""

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
        """Return whether `selected` is exact; metadata and times of retention have no column."""
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


# When a decision can change

#: Fields that depend on more than the memory and the time.
_CHANGING = frozenset({"session", "query_relevance"})
_FOREVER = datetime.max.replace(tzinfo=UTC)
#: Heat falls continuously, so the moment at which it crosses a bound is approximate.
_MARGIN = timedelta(minutes=1)


def next_decision_at(rule: object, memory: Memory, situation: Situation) -> datetime | None:
    """Return when a rule that has just decided nothing can decide about an unchanged memory; None if unknown."""
    if not isinstance(rule, TableRule):
        return None
    moments: list[datetime] = []
    tables = rule.when.tables
    if rule.when.holds(memory, situation):
        if any(tier is Tier.HOT for tier, _ in rule.targets):
            # Whether there is room in hot depends on other memories.
            return None
        tables = (*tables, *rule.unless.tables, *(table for _, each in rule.targets for table in each.tables))
        moments += _protections(memory, situation.now)
    # Otherwise nothing but `when` can change the decision.
    for table in tables:
        found = _crossings(table, memory, situation)
        if found is None:
            return None
        moments += found
    return min((moment for moment in moments if moment > situation.now), default=_FOREVER)


def _crossings(table: Table, memory: Memory, situation: Situation) -> list[datetime] | None:
    """Return the moments at which a condition of a table may change; None if they are not known.

    A table with a condition that does not hold and that time does not change has none.
    """
    moments: list[datetime] = []
    unknown = False
    for condition in table.conditions:
        if condition.field.name in _CHANGING:
            unknown = True
        elif condition.field.type is FieldType.DURATION:
            moments += _duration_crossings(condition, memory, situation)
        elif condition.field.name == "heat":
            moments += _heat_crossings(condition, memory, situation.settings)
        elif not condition.holds(memory, situation):
            return []
    return None if unknown else moments


def _duration_crossings(condition: Condition, memory: Memory, situation: Situation) -> Iterator[datetime]:
    """Yield the moments at which a duration reaches the bounds of its comparisons, and the next instant."""
    length = condition.field.read(memory, situation)
    if length is None:
        return
    sign = -1 if condition.field.name == "expires_in" else 1
    for comparison in condition.comparisons:
        bound = comparison.bound(situation.settings, duration=True)
        if isinstance(bound, timedelta):
            crossing = situation.now + sign * (bound - length)
            yield crossing
            yield crossing + timedelta(microseconds=1)


def _heat_crossings(condition: Condition, memory: Memory, settings: Settings) -> Iterator[datetime]:
    """Yield moments shortly before heat falls to the bounds of its comparisons, and shortly after."""
    uses = math.log2(1 + memory.use_weight)
    for comparison in condition.comparisons:
        bound = comparison.bound(settings, duration=False)
        if uses <= 0 or not isinstance(bound, int | float) or bound <= 0:
            continue
        days = HALF_LIFE_DAYS * math.log2(uses / bound)
        if 0 < days < 36_500:
            crossing = memory.used_at + timedelta(days=days)
            yield crossing - _MARGIN
            yield crossing
            yield crossing + _MARGIN


def _protections(memory: Memory, now: datetime) -> Iterator[datetime]:
    """Yield the moments at which a date of a memory comes."""
    if memory.expires_at is not None:
        yield memory.expires_at
    if any(key in memory.metadata for key in DATE_KEYS):
        # The date itself is read by the protection; look again every day.
        yield now + timedelta(days=1)
