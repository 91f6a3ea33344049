"""Filters on metadata: parsed here, checked here in Python, compiled to SQL by each store.

    {"status": "open"}                         equal; None is equal to a missing field
    {"author": {"name": "Ada"}}                a field of a nested object
    {"position": [1, 2]}                       a list of the same length with equal elements
    {"votes": {"$gte": 3, "$lt": 10}}          operators: $eq $ne $gt $gte $lt $lte $in $nin $exists

Every condition must hold. Numbers compare with numbers and texts with texts; a comparison of values of other or
different types is false. A boolean is not equal to a number.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memotherm.errors import InvalidInput

__all__ = ["AllOf", "AnyOf", "Condition", "FieldTest", "Not", "holds", "json_type", "one_of", "parsed_where"]

#: The keys and positions that lead to a value.
Path = tuple[str | int, ...]
Scalar = str | int | float | bool

_MOST_CONDITIONS = 100
_DEEPEST_PATH = 32
_MOST_VALUES = 1000
_LONGEST_TEXT = 65_536
_SMALLEST, _LARGEST = -(1 << 63), (1 << 63) - 1

#: The comparisons of `FieldTest.test` by their operator in a filter.
_COMPARISONS: dict[str, str] = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_OPERATORS = ("$eq", "$ne", *_COMPARISONS, "$in", "$nin", "$exists")
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}


@dataclass(frozen=True, slots=True)
class FieldTest:
    """A test of one value of the metadata; False where there is no such value.

    `test` is one of: one_of (`value`: types and scalars), exists, not_null, object, members (`value`: how many an
    object has), elements (`value`: how many a list has), or a comparison (> >= < <=) with a number or a text.
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
    """Conditions of which at least one holds."""

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
    condition = AllOf(tuple(_matching((_checked_key(key),), value) for key, value in where.items()))
    count = sum(1 for _ in _tests(condition))
    if count > _MOST_CONDITIONS:
        raise InvalidInput(f"where has {count} conditions and the limit is {_MOST_CONDITIONS}: use $in, or fewer")
    return condition


def one_of(key: str, values: Sequence[Any]) -> Condition:
    """Return the condition that a top-level field equals one of some values."""
    return _one_of((key,), list(values))


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
    if name in ("$eq", "$ne"):
        return _equal(path, operand) if name == "$eq" else Not(_equal(path, operand))
    if name in ("$in", "$nin"):
        if not isinstance(operand, list | tuple | set | frozenset):
            raise InvalidInput(f"{name} takes a list of values, not {operand!r}")
        return _one_of(path, list(operand)) if name == "$in" else Not(_one_of(path, list(operand)))
    if name == "$exists":
        if not isinstance(operand, bool):
            raise InvalidInput(f"$exists takes true or false, not {operand!r}")
        return FieldTest(path, "exists") if operand else Not(FieldTest(path, "exists"))
    if name in _COMPARISONS:
        if isinstance(operand, bool) or not isinstance(operand, str | int | float):
            raise InvalidInput(f"{name} compares with a number or a text, not {operand!r}")
        return FieldTest(path, _COMPARISONS[str(name)], _checked_scalar(operand))
    raise InvalidInput(f"unknown operator {name!r} in where: use one of {', '.join(_OPERATORS)}")


def _one_of(path: Path, values: list[Any]) -> Condition:
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
        if value != value or value in (float("inf"), float("-inf")):
            raise InvalidInput("where cannot compare with NaN or infinity: use a finite number")
        return value
    if not isinstance(value, str):
        raise InvalidInput(f"where compares JSON values, not {value!r}")
    if len(value) > _LONGEST_TEXT or "\x00" in value or (not value.isascii() and _lone_surrogate(value)):
        raise InvalidInput(f"a text in where must be Unicode without NUL, of at most {_LONGEST_TEXT:,} characters")
    return str(value)


def _lone_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def _tests(condition: Condition) -> Iterator[FieldTest]:
    if isinstance(condition, FieldTest):
        yield condition
    elif isinstance(condition, Not):
        yield from _tests(condition.condition)
    else:
        for part in condition.conditions:
            yield from _tests(part)


# Checking


def holds(condition: Condition, metadata: Mapping[str, Any]) -> bool:
    """Return whether metadata meets a condition."""
    if isinstance(condition, AllOf):
        return all(holds(part, metadata) for part in condition.conditions)
    if isinstance(condition, AnyOf):
        return any(holds(part, metadata) for part in condition.conditions)
    if isinstance(condition, Not):
        return not holds(condition.condition, metadata)
    found = _found(metadata, condition.path)
    return bool(found) and _passes(found[0], condition)


def _found(value: Any, path: Path) -> tuple[Any, ...]:  # noqa: ANN401
    """Return the value at a path, as a tuple of one; empty if there is none."""
    for step in path:
        if isinstance(step, int):
            if not isinstance(value, list) or step >= len(value):
                return ()
        elif not isinstance(value, Mapping) or step not in value:
            return ()
        value = value[step]
    return (value,)


def _passes(value: Any, test: FieldTest) -> bool:  # noqa: ANN401
    """Return whether a value passes a test."""
    if test.test == "one_of":
        return isinstance(value, Scalar) and _typed(value) in test.value
    if test.test == "not_null":
        return value is not None
    if test.test == "object":
        return isinstance(value, Mapping)
    if test.test == "members":
        return isinstance(value, Mapping) and len(value) == test.value
    if test.test == "elements":
        return isinstance(value, list) and len(value) == test.value
    if test.test == "exists":
        return True
    return json_type(value) == json_type(test.value) and _COMPARE[test.test](value, test.value)


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
