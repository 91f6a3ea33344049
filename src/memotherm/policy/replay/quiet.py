"""How long the decision of a rule about a memory stays the same while nothing but time passes.

A run over many memories asks a rule only about those that have changed, or for which such a moment has come.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from memotherm.model import Memory, Tier
from memotherm.rules.conditions import Condition, Table
from memotherm.rules.fields import FieldType
from memotherm.rules.rule import Situation
from memotherm.rules.table import TableRule
from memotherm.settings import Settings

__all__ = ["quiet_until"]

#: Fields whose value depends on more than the memory and the time.
_CHANGING = frozenset({"session", "query_relevance"})
_FOREVER = datetime.max.replace(tzinfo=UTC)
#: Heat falls continuously, so the moment at which it crosses a number is only nearly known.
_MARGIN = timedelta(minutes=1)
_DATE_KEYS = ("date", "due", "until", "valid_until", "preserve_until")


def quiet_until(rule: object, memory: Memory, situation: Situation) -> datetime | None:
    """Return until when a rule decides nothing about a memory that does not change; None if that is not known.

    Call it for a rule that has just decided nothing.
    """
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
        days = settings.heat_half_life_days * math.log2(uses / bound)
        if 0 < days < 36_500:
            crossing = memory.used_at + timedelta(days=days)
            yield crossing - _MARGIN
            yield crossing
            yield crossing + _MARGIN


def _protections(memory: Memory, now: datetime) -> Iterator[datetime]:
    """Yield the moments at which a date of a memory comes."""
    if memory.expires_at is not None:
        yield memory.expires_at
    if any(key in memory.metadata for key in _DATE_KEYS):
        # The date itself is read by the protection; look again every day.
        yield now + timedelta(days=1)
