"""Which values conditions allow, to compare conditions with each other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta

from memotherm.rules.conditions import Comparison, Condition
from memotherm.rules.fields import FieldType
from memotherm.settings import Settings

__all__ = ["contradictory", "implies"]


@dataclass(frozen=True, slots=True)
class _Range:
    """An interval of numbers; durations are seconds."""

    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    high_open: bool = False

    @property
    def empty(self) -> bool:
        return self.low > self.high or (self.low == self.high and (self.low_open or self.high_open))

    def within(self, other: _Range) -> bool:
        above = self.low > other.low or (self.low == other.low and (self.low_open or not other.low_open))
        below = self.high < other.high or (self.high == other.high and (self.high_open or not other.high_open))
        return above and below


def contradictory(condition: Condition, settings: Settings) -> bool:
    """Tell whether no value satisfies all comparisons of a condition."""
    return bool(condition.comparisons) and _range(condition, settings).empty


def implies(narrow: Condition, wide: Condition, settings: Settings) -> bool:
    """Tell whether every value that satisfies one condition on a field satisfies another one on it."""
    if wide.comparisons or narrow.comparisons:
        if not (wide.comparisons and narrow.comparisons) or _excludes(wide) or _excludes(narrow):
            return narrow == wide
        return _range(narrow, settings).within(_range(wide, settings))
    if wide.all or narrow.all:
        return wide.all and narrow.all and set(wide.values) <= set(narrow.values)
    return set(narrow.values) <= set(wide.values)


def _excludes(condition: Condition) -> bool:
    """Tell whether a condition leaves out a single value, which is no interval."""
    return any(comparison.operator == "!=" for comparison in condition.comparisons)


def _range(condition: Condition, settings: Settings) -> _Range:
    low, high, low_open, high_open = -math.inf, math.inf, False, False
    for comparison in condition.comparisons:
        bound = _number(comparison, settings, duration=condition.field.type is FieldType.DURATION)
        if comparison.operator in (">", ">=", "==") and (bound, comparison.operator == ">") > (low, low_open):
            low, low_open = bound, comparison.operator == ">"
        if comparison.operator in ("<", "<=", "==") and (-bound, comparison.operator == "<") > (-high, high_open):
            high, high_open = bound, comparison.operator == "<"
    return _Range(low, high, low_open, high_open)


def _number(comparison: Comparison, settings: Settings, *, duration: bool) -> float:
    bound = comparison.bound(settings, duration=duration)
    return bound.total_seconds() if isinstance(bound, timedelta) else float(bound)
