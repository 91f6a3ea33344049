"""Metadata filters as values, which each store compiles to SQL. A filter is a mapping:

    {"status": "open"}                         equal; None equals a missing field
    {"author": {"name": "Ada"}}                a field of a nested object
    {"position": [1, 2]}                       a list of the same length with equal elements
    {"votes": {"$gte": 3, "$lt": 10}}          operators: $eq $ne $gt $gte $lt $lte $in $nin $exists

All conditions must hold. Numbers compare with numbers and texts with texts; comparing other or different types is
false. A boolean does not equal a number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memotherm.errors import InvalidInput
from memotherm.text.patterns import lazy_pattern

#: The keys and positions that lead to a value.
Path = tuple[str | int, ...]
Scalar = str | int | float | bool

_MOST_CONDITIONS = 100
_DEEPEST_PATH = 32
_MOST_VALUES = 1000
_MOST_VALUES_IN_ALL = 10_000
_LONGEST_TEXT = 65_536
_SURROGATE = lazy_pattern("[\ud800-\udfff]")
_SMALLEST, _LARGEST = -(1 << 63), (1 << 63) - 1

#: The comparisons of `FieldTest.test` by their operator in a filter.
_COMPARISONS: dict[str, str] = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_OPERATORS = ("$eq", "$ne", *_COMPARISONS, "$in", "$nin", "$exists")


@dataclass(frozen=True, slots=True)
class FieldTest:
    """A test of one value of the metadata; False where there is no such value.

    `test` is one of: one_of (`value`: types and scalars), exists, not_null, object, members (`value`: how many an
    object has), elements (`value`: how many a list has), or a comparison (> >= < <= = <>) with a number or a text.
    """

    path: Path
    test: str
    value: Any = None


@dataclass(frozen=True, slots=True)
class AllOf:
    """Conditions that all hold."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Conditions, at least one of which holds."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """A condition that does not hold."""

    condition: Condition


Condition = FieldTest | AllOf | AnyOf | Not


# Parsing


def parsed_where(where: object) -> AllOf:
    """Return the conditions of a filter, or raise `InvalidInput`."""
    if not isinstance(where, Mapping):
        raise InvalidInput(f"where must be a mapping of metadata fields, not {type(where).__name__}")
    _require_few(where)
    condition = AllOf(tuple(_matching((_checked_key(key),), value) for key, value in where.items()))
    count = sum(1 for _ in _tests(condition))
    if count > _MOST_CONDITIONS:
        raise InvalidInput(f"where has {count} conditions and the limit is {_MOST_CONDITIONS}: use $in, or fewer")
    return condition


def _require_few(where: object) -> None:
    """Refuse more values than a useful filter has, before conditions are made of them."""
    left, count = [where], 0
    while left:
        value = left.pop()
        if isinstance(value, Mapping | list | tuple):
            count += len(value)
            left += value.values() if isinstance(value, Mapping) else value
        if count > _MOST_VALUES_IN_ALL:
            raise InvalidInput(f"where has more than {_MOST_VALUES_IN_ALL:,} values: ask in several steps")


def _matching(path: Path, value: object) -> Condition:
    """Return the condition that a value matches a part of a filter."""
    if len(path) > _DEEPEST_PATH:
        raise InvalidInput(f"where is nested more than {_DEEPEST_PATH} levels deep: flatten it")
    if isinstance(value, Mapping):
        if any(isinstance(key, str) and key.startswith("$") for key in value):
            return AllOf(tuple(_operation(path, name, operand) for name, operand in value.items()))
        inner = (_matching((*path, _checked_key(key)), part) for key, part in value.items())
        return AllOf((FieldTest(path, "object"), *inner))
    if isinstance(value, list | tuple):
        inner = (_matching((*path, position), part) for position, part in enumerate(value))
        return AllOf((FieldTest(path, "elements", len(value)), *inner))
    return _equal(path, value)


def _operation(path: Path, name: object, operand: Any) -> Condition:  # noqa: ANN401
    if name == "$ne":
        return Not(_equal(path, operand))
    if name == "$eq":
        return _equal(path, operand)
    if name in ("$in", "$nin"):
        if not isinstance(operand, list | tuple | set | frozenset):
            raise InvalidInput(f"{name} takes a list of values, not {operand!r}")
        found = one_of(path, list(operand))
        return found if name == "$in" else Not(found)
    if name == "$exists":
        if not isinstance(operand, bool):
            raise InvalidInput(f"$exists takes true or false, not {operand!r}")
        return FieldTest(path, "exists") if operand else Not(FieldTest(path, "exists"))
    if name in _COMPARISONS:
        if isinstance(operand, bool) or not isinstance(operand, str | int | float):
            raise InvalidInput(f"{name} compares with a number or a text, not {operand!r}")
        return FieldTest(path, _COMPARISONS[str(name)], _checked_scalar(operand))
    raise InvalidInput(f"unknown operator {name!r} in where: use one of {', '.join(_OPERATORS)}")


def one_of(path: Path, values: Sequence[Any]) -> Condition:
    """Return the condition that a field equals one of the values."""
    if len(values) > _MOST_VALUES:
        raise InvalidInput(f"$in and $nin take at most {_MOST_VALUES} values, not {len(values)}")
    scalars = tuple(_typed(_checked_scalar(value)) for value in values if isinstance(value, Scalar))
    others = tuple(_equal(path, value) for value in values if not isinstance(value, Scalar))
    return AnyOf((*((FieldTest(path, "one_of", scalars),) if scalars else ()), *others))


def _equal(path: Path, value: object, *, exactly: bool = False) -> Condition:
    """Return the condition that a value equals another; `exactly`: a missing value does not equal None."""
    if len(path) > _DEEPEST_PATH:
        raise InvalidInput(f"where is nested more than {_DEEPEST_PATH} levels deep: flatten it")
    if value is None:
        null = Not(FieldTest(path, "not_null"))
        return AllOf((FieldTest(path, "exists"), null)) if exactly else null
    if isinstance(value, Mapping):
        inner = (_equal((*path, _checked_key(key)), part, exactly=True) for key, part in value.items())
        return AllOf((FieldTest(path, "members", len(value)), *inner))
    if isinstance(value, list | tuple):
        inner = (_equal((*path, position), part, exactly=True) for position, part in enumerate(value))
        return AllOf((FieldTest(path, "elements", len(value)), *inner))
    return FieldTest(path, "one_of", (_typed(_checked_scalar(value)),))


def _checked_key(key: object) -> str:
    if not isinstance(key, str):
        raise InvalidInput(f"a field in where is named by a text, not {key!r}")
    return str(_checked_scalar(key))


def _checked_scalar(value: object) -> Scalar:
    """Return a value that every store can compare, or raise `InvalidInput`."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        if not _SMALLEST <= value <= _LARGEST:
            raise InvalidInput(f"{value} in where is out of range: use a number of at most 64 bits")
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInput("where cannot compare with NaN or infinity: use a finite number")
        return value
    if not isinstance(value, str):
        raise InvalidInput(f"where compares JSON values, not {value!r}")
    if len(value) > _LONGEST_TEXT or "\x00" in value or _SURROGATE.search(value):
        raise InvalidInput(f"a text in where must be Unicode without NUL, of at most {_LONGEST_TEXT:,} characters")
    return str(value)


def _tests(condition: Condition) -> Iterator[FieldTest]:
    if isinstance(condition, FieldTest):
        yield condition
    elif isinstance(condition, Not):
        yield from _tests(condition.condition)
    else:
        for part in condition.conditions:
            yield from _tests(part)


def _typed(value: Scalar) -> tuple[str, Scalar]:
    """Return a value with its type, because True equals 1 in Python and not in JSON."""
    return json_type(value), value


def json_type(value: object) -> str:
    """Return the type of a JSON value."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "text" if isinstance(value, str) else "other"
