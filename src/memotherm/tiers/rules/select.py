"""Selections and metadata filters as values: tested here in Python, compiled to SQL by each store.

A `Select` says which memories a rule looks at. A metadata filter is a mapping:

    {"status": "open"}                         equal; None equals a missing field
    {"author": {"name": "Ada"}}                a field of a nested object
    {"position": [1, 2]}                       a list of the same length with equal elements
    {"votes": {"$gte": 3, "$lt": 10}}          operators: $eq $ne $gt $gte $lt $lte $in $nin $exists

All conditions must hold. Numbers compare with numbers and texts with texts; comparing other or different types is
false. A boolean does not equal a number.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from memotherm.errors import InvalidInput
from memotherm.model import Memory, Priority, Retention, Tier
from memotherm.model.clock import as_duration
from memotherm.settings import Settings

# Metadata filters

#: The keys and positions that lead to a value.
Path = tuple[str | int, ...]
Scalar = str | int | float | bool

_MOST_CONDITIONS = 100
_DEEPEST_PATH = 32
_MOST_VALUES = 1000
_MOST_VALUES_IN_ALL = 10_000
_LONGEST_TEXT = 65_536
_SURROGATE = re.compile("[\ud800-\udfff]")
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


# Selections

#: The occasions on which rules run.
RUNS = ("compact", "maintain", "spill", "promote")

#: The durations of a `Select`, and the moment of a memory that each counts from.
MOMENTS: Mapping[str, Callable[[Memory], datetime]] = {
    "unused_for": lambda memory: memory.last_accessed_at,
    "older_than": lambda memory: memory.created_at,
    "unchanged_for": lambda memory: memory.updated_at,
    "in_tier_for": lambda memory: memory.tier_since,
    "in_retention_for": lambda memory: memory.retention_since,
}

#: A field (tier, kind, tags, metadata.name) and its value.
Word = tuple[str, str]
_ANY: frozenset[Word | None] = frozenset({None})

#: A duration, text such as "30d", or the name of a setting that holds a number of days.
Duration = timedelta | str


@dataclass(frozen=True, kw_only=True, slots=True)
class Select:
    """Which memories a rule looks at, and when. All given conditions must hold."""

    #: When the rule runs: compact, maintain, spill (a session needs room in hot) or promote (a recall found it).
    during: str = "compact"
    tiers: tuple[Tier, ...] = tuple(Tier)
    retentions: tuple[Retention, ...] = (Retention.ACTIVE,)
    kinds: tuple[str, ...] | None = None
    #: At least one of these tags.
    tags: tuple[str, ...] | None = None
    priorities: tuple[Priority, ...] | None = None
    #: Not used or created for at least this long.
    unused_for: Duration | None = None
    #: Created at least this long ago.
    older_than: Duration | None = None
    #: Content, kind, tags and metadata unchanged for at least this long.
    unchanged_for: Duration | None = None
    #: In its tier for at least this long.
    in_tier_for: Duration | None = None
    #: In its state of retention for at least this long.
    in_retention_for: Duration | None = None
    #: Whether it was used since it came into its tier.
    used_in_tier: bool | None = None
    #: Used less than this long ago.
    used_within: Duration | None = None
    #: Whether it is past its expiry; None selects both.
    expired: bool | None = False
    #: Metadata keys and their allowed values (text, numbers, booleans).
    metadata: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    #: At least one of these must hold as well. Their `during`, `retentions`, `expired` and `order` are not looked at.
    either: tuple[Select, ...] = ()
    #: The order in which memories are decided: names of memory attributes, with "-" for descending.
    order: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.during not in RUNS:
            raise InvalidInput(f"a rule runs during one of {', '.join(RUNS)}, not {self.during!r}")
        listed: dict[str, Callable[[Any], object]] = {
            "tiers": Tier.of,
            "retentions": Retention.of,
            "priorities": Priority.of,
            "kinds": lambda kind: kind,
            "tags": lambda tag: tag,
        }
        for name, read in listed.items():
            if getattr(self, name) is not None:
                object.__setattr__(self, name, tuple(map(read, _several(getattr(self, name)))))
        metadata = {key: _several(values) for key, values in self.metadata.items()}
        object.__setattr__(self, "metadata", metadata)
        for name in self.order:
            if name.removeprefix("-") not in _ORDERABLE:
                raise InvalidInput(f"cannot order memories by {name!r}: use one of {', '.join(_ORDERABLE)}")

    def resolved(self, settings: Settings) -> Select:
        """Return the same selection with every duration as a timedelta."""
        durations: dict[str, Any] = {
            name: _duration(value, settings)
            for name in (*MOMENTS, "used_within")
            if (value := getattr(self, name)) is not None
        }
        return replace(self, **durations, either=tuple(part.resolved(settings) for part in self.either))

    @property
    def words(self) -> frozenset[Word | None]:
        """Words of which every selected memory has at least one; None among them stands for any memory."""
        if self.kinds is not None:
            return frozenset(("kind", kind) for kind in self.kinds)
        if self.tags is not None:
            return frozenset(("tags", tag) for tag in self.tags)
        for key, values in self.metadata.items():
            if all(isinstance(value, str) for value in values):
                return frozenset((f"metadata.{key}", value) for value in values)
        if self.either:
            return frozenset[Word | None]().union(*(part.words for part in self.either))
        return frozenset(("tier", str(tier)) for tier in self.tiers) if len(self.tiers) < len(Tier) else _ANY

    def matches(self, memory: Memory, now: datetime) -> bool:
        """Return whether a memory is selected; durations must be resolved."""
        expired = self.expired is None or memory.expired_at(now) is self.expired
        return memory.retention in self.retentions and expired and self._holds(memory, now)

    def _holds(self, memory: Memory, now: datetime) -> bool:
        return all(self._conditions(memory, now)) and (
            not self.either or any(part._holds(memory, now) for part in self.either)
        )

    def _conditions(self, memory: Memory, now: datetime) -> Iterator[bool]:
        yield memory.tier in self.tiers
        yield self.kinds is None or memory.kind in self.kinds
        yield self.tags is None or not set(self.tags).isdisjoint(memory.tags)
        yield self.priorities is None or memory.priority in self.priorities
        for name, moment_of in MOMENTS.items():
            duration = getattr(self, name)
            yield duration is None or now - moment_of(memory) >= duration
        used = memory.accessed_at is not None and memory.accessed_at > memory.tier_since
        yield self.used_in_tier is None or used is self.used_in_tier
        if isinstance(self.used_within, timedelta):
            yield memory.accessed_at is not None and now - memory.accessed_at < self.used_within
        for key, values in self.metadata.items():
            yield holds(one_of((key,), values), memory.metadata)

    def sorted(self, memories: list[Memory]) -> list[Memory]:
        """Return memories in the order in which they are decided."""
        for name in reversed(self.order):
            key = name.removeprefix("-")
            memories = sorted(memories, key=_ORDERABLE[key], reverse=name.startswith("-"))
        return memories


def words_of(memory: Memory) -> Iterator[Word]:
    """Yield the words of a memory that selections name."""
    yield from (("tier", str(memory.tier)), ("kind", memory.kind))
    yield from (("tags", tag) for tag in memory.tags)
    yield from ((f"metadata.{key}", value) for key, value in memory.metadata.items() if isinstance(value, str))


#: The attributes of a memory that an order can name, and how to read them.
_ORDERABLE = {"id": operator.attrgetter("id"), "priority": operator.attrgetter("priority.rank")} | {
    name: operator.attrgetter(name)
    for name in (
        "relevance",
        "access_count",
        "tokens",
        "created_at",
        "updated_at",
        "last_accessed_at",
        "tier_since",
        "version",
    )
}


def _duration(value: Duration, settings: Settings) -> timedelta:
    """Return a duration; the name of a setting stands for its number of days, which may be 0."""
    if isinstance(value, str) and hasattr(settings, value):
        return timedelta(days=getattr(settings, value))
    if value == timedelta(0):
        return timedelta(0)
    return as_duration(value)


def _several(values: object) -> tuple[Any, ...]:
    """Return several values where one, or several, were given."""
    if isinstance(values, str) or not isinstance(values, tuple | list | set | frozenset):
        return (values,)
    return tuple(values)
