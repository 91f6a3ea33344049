"""Conditions of a policy file: tables of fields and values, checked when read and tested against a memory.

    when = { kind = "decision", tags.any = ["api", "contract"], idle = "< 90d" }

Every field of a table must hold. A list of tables holds when one of them does.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any

from memotherm.errors import InvalidInput
from memotherm.model import Memory
from memotherm.model.clock import as_duration
from memotherm.rules.fields import FIELDS, FREE_FIELDS, Field, FieldType, field_named
from memotherm.rules.findings import Finding, suggestion
from memotherm.rules.rule import Situation
from memotherm.settings import Settings

__all__ = ["Comparison", "Condition", "Table", "Tables", "read_tables"]

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
_COMPARISON = re.compile(r"\s*(<=|>=|==|!=|<|>)\s*(\S+)\s*")
_NUMERIC_SETTINGS = frozenset(setting.name for setting in fields(Settings) if setting.type in ("int", "float"))


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison with a number, a duration, or a setting that holds one."""

    operator: str
    #: A number, a timedelta, or the name of a setting.
    value: float | timedelta | str

    def bound(self, settings: Settings, *, duration: bool) -> float | timedelta:
        """Return the value to compare with; a setting that is a duration holds days."""
        if not isinstance(self.value, str):
            return self.value
        number: float = getattr(settings, self.value)
        return timedelta(days=number) if duration else number


@dataclass(frozen=True, slots=True)
class Condition:
    """One field of a table and what it must be: one of some values, or within all comparisons."""

    field: Field
    values: tuple[Any, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    #: Whether all of the values must be there; only of tags.
    all: bool = False

    def holds(self, memory: Memory, situation: Situation) -> bool:
        """Tell whether a memory satisfies the condition."""
        found = self.field.read(memory, situation)
        if found is None:
            return False
        if self.field.type is FieldType.TAGS:
            return set(self.values) <= set(found) if self.all else not set(self.values).isdisjoint(found)
        if not self.comparisons:
            return any(_same(found, value) for value in self.values)
        duration = self.field.type is FieldType.DURATION
        if not duration and (isinstance(found, bool) or not isinstance(found, int | float)):
            return False
        return all(
            _OPERATORS[comparison.operator](found, comparison.bound(situation.settings, duration=duration))
            for comparison in self.comparisons
        )


def _same(found: object, wanted: object) -> bool:
    """Tell whether two values are equal; true and 1 are not."""
    return found == wanted and isinstance(found, bool) is isinstance(wanted, bool)


@dataclass(frozen=True, slots=True)
class Table:
    """Conditions that must all hold."""

    conditions: tuple[Condition, ...] = ()

    def holds(self, memory: Memory, situation: Situation) -> bool:
        """Tell whether a memory satisfies every condition."""
        return all(condition.holds(memory, situation) for condition in self.conditions)

    def named(self, name: str) -> Condition | None:
        """Return the condition on a field, or None."""
        return next((condition for condition in self.conditions if condition.field.name == name), None)


@dataclass(frozen=True, slots=True)
class Tables:
    """Tables of which one must hold."""

    tables: tuple[Table, ...] = ()

    def holds(self, memory: Memory, situation: Situation) -> bool:
        """Tell whether a memory satisfies one of the tables."""
        return any(table.holds(memory, situation) for table in self.tables)


def read_tables(value: object, path: tuple[str | int, ...], found: list[Finding]) -> Tables:
    """Return the conditions of a table or a list of tables; add what is wrong to `found`."""
    tables = value if isinstance(value, list) else [value]
    read = []
    for place, table in enumerate(tables):
        where = (*path, place) if isinstance(value, list) else path
        if not isinstance(table, Mapping):
            message = f'{path[-1]} must be a table such as {{ kind = "message" }}, or a list of them'
            found.append(Finding(code="P002", message=message, path=where))
            continue
        read.append(Table(tuple(_conditions(table, where, found))))
    return Tables(tuple(read))


def _conditions(table: Mapping[str, Any], path: tuple[str | int, ...], found: list[Finding]) -> Iterator[Condition]:
    for name, value in _flat(table):
        where = (*path, name)
        whole = name.endswith(".all")
        known = field_named(name.removesuffix(".all").removesuffix(".any") if name.startswith("tags.") else name)
        if known is None:
            names = [*FIELDS, "tags.any", "tags.all", *(f"{free}.NAME" for free in FREE_FIELDS)]
            message = f"unknown field {name}: {suggestion(name, names)}"
            found.append(Finding(code="P001", message=message, path=where))
            continue
        try:
            yield _condition(known, value, whole=whole)
        except InvalidInput as exc:
            code = "P003" if known.type in (FieldType.NUMBER, FieldType.DURATION) else "P002"
            found.append(Finding(code=code, message=f"{name}: {exc}", path=where))


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the fields of a table with their dotted names."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _condition(field: Field, value: object, *, whole: bool) -> Condition:
    """Return the condition that a field has a value, or raise `InvalidInput`."""
    values = tuple(value) if isinstance(value, list) else (value,)
    if not values:
        raise InvalidInput("an empty list matches nothing: name at least one value, or leave the field out")
    if field.type is FieldType.YES_NO:
        _require(values, bool, field)
        return Condition(field, values)
    if field.type in (FieldType.WORD, FieldType.TAGS):
        _require(values, str, field)
        for word in values:
            if field.words and word not in field.words:
                raise InvalidInput(f"unknown value {word!r}: {suggestion(word, field.words)}")
        return Condition(field, values, all=whole)
    if field.type is FieldType.VALUE and not _is_comparison(value):
        if not all(isinstance(each, str | int | float | bool) for each in values):
            raise InvalidInput(f"expected {field.type}, not {value!r}")
        return Condition(field, values)
    if field.type is FieldType.NUMBER and isinstance(value, int | float) and not isinstance(value, bool):
        return Condition(field, comparisons=(Comparison("==", value),))
    if not isinstance(value, str):
        raise InvalidInput(f"expected {field.type}, not {value!r}")
    return Condition(field, comparisons=tuple(_comparisons(value, duration=field.type is FieldType.DURATION)))


def _require(values: Sequence[object], kind: type, field: Field) -> None:
    for value in values:
        if not isinstance(value, kind):
            raise InvalidInput(f"expected {field.type}, not {value!r}")


def _is_comparison(value: object) -> bool:
    return isinstance(value, str) and _COMPARISON.fullmatch(value.split(",")[0]) is not None


def _comparisons(text: str, *, duration: bool) -> Iterator[Comparison]:
    """Yield the comparisons of a text such as ">= 7d, < 30d"."""
    for part in text.split(","):
        match = _COMPARISON.fullmatch(part)
        if match is None:
            example = ">= 14d" if duration else ">= 3"
            raise InvalidInput(f'cannot read the comparison {part.strip()!r}: write for example "{example}"')
        yield Comparison(match[1], _bound(match[2], duration=duration))


def _bound(text: str, *, duration: bool) -> float | timedelta | str:
    """Return the number or duration to compare with, or the name of a setting that holds one."""
    if text in _NUMERIC_SETTINGS:
        return text
    if not duration:
        try:
            return float(text)
        except ValueError:
            raise InvalidInput(f"{text!r} is neither a number nor a setting that holds one") from None
    if re.fullmatch(r"0+[smhdw]?", text):
        return timedelta(0)
    return as_duration(text)
