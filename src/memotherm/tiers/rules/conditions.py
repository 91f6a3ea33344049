"""Conditions of rules, and which memories a rule looks at, as data that each store compiles to SQL and alone tests.

    when = { kind = "decision", tags.any = ["api", "contract"], idle = "< 90d" }
    Select(during="maintain", tiers=("hot", "warm"), when={"kind": "log", "idle": ">= 30d"})

All fields of a table must hold. A list of tables holds when one of them does.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, cast

from memotherm.errors import InvalidInput
from memotherm.model import SCOPE_FIELDS, Memory, Priority, Retention, Tier, Trust
from memotherm.model.clock import as_duration
from memotherm.model.value import Value
from memotherm.settings import Settings
from memotherm.settings.schema import RETENTION_WINDOWS
from memotherm.tiers.rules.where import Scalar, one_of

# Findings


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Finding(Value):
    """An error or warning about a policy file."""

    #: A stable code, such as P001.
    code: str
    #: What is wrong and what to do.
    message: str
    #: Where: keys and positions from the top of the file, such as ("rule", 0, "when", "idle").
    path: tuple[str | int, ...] = ()
    #: The line in the file; None when it is not known.
    line: int | None = None
    #: Whether the policy can be used as it is.
    warning: bool = False

    def __str__(self) -> str:
        where = "" if self.line is None else f"line {self.line}: "
        return f"{where}{self.code} {self.message}"


class Findings(list[Finding]):
    """The errors and warnings about a policy file."""

    def add(self, code: str, message: str, *path: str | int) -> None:
        """Add an error at a path."""
        self.append(Finding(code=code, message=message, path=path))

    def check_keys(self, table: Mapping[str, Any], known: Sequence[str], *path: str | int, what: str = "key") -> None:
        """Add an error for each unknown key of a table."""
        for key in table:
            if key not in known:
                self.add("P001", f"unknown {what} {key}: {suggestion(key, known)}", *path, key)


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return the known word that is closest, as the end of a message, or list them all."""
    # Imported here, because it takes time and is used only when something is wrong.
    import difflib

    words = list(known)
    close = difflib.get_close_matches(word, words, n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else f"use one of {', '.join(words)}"


# Fields


class FieldType(StrEnum):
    """The type of a field, which decides how a condition is written."""

    WORD = "a word or a list of words"
    TAGS = "a tag or a list of tags"
    YES_NO = "true or false"
    NUMBER = 'a number or a comparison such as ">= 3"'
    DURATION = 'a comparison with a duration, such as ">= 14d"'
    VALUE = "a value, a list of values or a comparison with a number"


@dataclass(frozen=True, slots=True)
class Field:
    """A property of a memory; where it is missing, no condition on it holds."""

    name: str
    type: FieldType
    description: str
    #: The words it can have; empty when any word is allowed.
    words: tuple[str, ...] = ()


_DECLARED = (
    Field("tier", FieldType.WORD, "Its tier.", tuple(Tier)),
    Field("kind", FieldType.WORD, "Its kind, such as decision."),
    Field("tags", FieldType.TAGS, "At least one of these tags; `tags.all` asks for all of them."),
    Field("priority", FieldType.WORD, "Its priority.", tuple(Priority)),
    Field("trust", FieldType.TAGS, "At least this trust: web, document, import, agent or person.", tuple(Trust)),
    Field("source", FieldType.WORD, "Where it came from."),
    Field("status", FieldType.WORD, "What its metadata `status` or `state` says: open, done, or none of both.",
          ("open", "done", "none")),
    Field("session", FieldType.WORD, "Whether its session is open or has ended; none outside of a session.",
          ("open", "ended", "none")),
    Field("tier_rule", FieldType.WORD, "The id of the rule that moved it into its tier; explicit after a call."),
    Field("blocker", FieldType.YES_NO, "Whether it has the tag `blocker` and is not done."),
    Field("blocker_waits", FieldType.YES_NO, "In the run `compact`: whether an active blocker has no room in hot."),
    Field("note", FieldType.YES_NO, "Whether it is part of a note file."),
    Field("moved", FieldType.YES_NO, "Whether it has ever been in another tier."),
    Field("used_in_tier", FieldType.YES_NO, "Whether it was used since it came into its tier."),
    Field("age", FieldType.DURATION, "Time since it was stored."),
    Field("idle", FieldType.DURATION, "Time since it was last used, or stored if it never was."),
    Field("used", FieldType.DURATION, "Time since it was last used; no comparison holds if it never was."),
    Field("unchanged", FieldType.DURATION, "Time since its content, kind, tags or metadata was changed."),
    Field("untouched", FieldType.DURATION, "Time since it was last used or changed."),
    Field("in_tier", FieldType.DURATION, "Time since it came into its tier."),
    Field("in_retention", FieldType.DURATION, "Time since its retention was changed, or it was stored."),
    Field("expires_in", FieldType.DURATION, "Time until it expires; no comparison holds if it does not."),
    Field("tokens", FieldType.NUMBER, "The tokens of its content."),
    Field("uses", FieldType.NUMBER, "How often it was returned to a caller, confirmed, or repeated in an answer."),
    Field("use_weight", FieldType.NUMBER, "The sum of the weights of its uses."),
    Field("recent_uses", FieldType.NUMBER,
          "The weight of its uses in its last window of use; a recall that promotes counts itself."),
    Field("heat", FieldType.NUMBER, "The logarithm of the weight of its uses, halved for every half-life without use."),
    Field("relevance", FieldType.NUMBER, "Its running average relevance to queries."),
    Field("query_relevance", FieldType.NUMBER, "In the run `promote`: how well it answers the query."),
)  # fmt: skip

#: The fields with one name, by name.
FIELDS: Mapping[str, Field] = MappingProxyType({declared.name: declared for declared in _DECLARED})
#: The fields that are followed by a name of their own: `metadata.status`, `scope.project`, `setting.tiering`.
FREE_FIELDS = ("metadata", "scope", "setting")
_SETTINGS = frozenset(setting.name for setting in fields(Settings)) | RETENTION_WINDOWS


def field_named(name: str) -> Field | None:
    """Return the field with a name such as `idle` or `metadata.status`, or None if there is none."""
    first, _, rest = name.partition(".")
    if first == "metadata" and rest:
        return Field(name, FieldType.VALUE, f"The metadata {rest}.")
    if first == "scope" and rest in SCOPE_FIELDS:
        return Field(name, FieldType.WORD, f"The {rest} of its scope.")
    if first == "setting" and rest in _SETTINGS:
        return Field(name, FieldType.VALUE, f"The setting {rest}.")
    return FIELDS.get(name)


# Conditions

_COMPARISON = re.compile(r"\s*(<=|>=|==|!=|<|>)\s*(\S+)\s*")
_NUMERIC_SETTINGS = RETENTION_WINDOWS.union(
    setting.name for setting in fields(Settings) if setting.type in ("int", "float")
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison with a number, a duration, or a setting that holds one."""

    operator: str
    #: A number, a timedelta, or the name of a setting.
    value: float | timedelta | str


@dataclass(frozen=True, slots=True)
class Condition:
    """A field that must have one of the values, or satisfy all comparisons."""

    field: Field
    values: tuple[Any, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    #: Whether all of the values must be there; only of tags.
    all: bool = False

    def bounds(self, settings: Settings) -> Iterator[tuple[str, Any]]:
        """Yield the operators and what they compare with; a setting that is compared with a duration holds days."""
        for comparison in self.comparisons:
            bound = comparison.value
            if isinstance(bound, str):
                bound = getattr(settings, bound)
                bound = timedelta(days=bound) if self.field.type is FieldType.DURATION else bound
            yield comparison.operator, bound


#: Conditions that must all hold.
Table = tuple[Condition, ...]


def read_tables(value: object, path: tuple[str | int, ...], found: Findings) -> tuple[Table, ...]:
    """Read the conditions of a table or a list of tables; add findings to `found`."""
    tables = value if isinstance(value, list | tuple) else [value]
    read = []
    for place, table in enumerate(tables):
        where = (*path, place) if isinstance(value, list | tuple) else path
        if not isinstance(table, Mapping):
            found.add("P002", f'{path[-1]} must be a table such as {{ kind = "message" }}, or a list of them', *where)
            continue
        read.append(tuple(_conditions(table, where, found)))
    return tuple(read)


def _conditions(table: Mapping[str, Any], path: tuple[str | int, ...], found: Findings) -> Iterator[Condition]:
    for name, value in _flat(table):
        where = (*path, name)
        whole = name.endswith(".all")
        known = field_named(name.removesuffix(".all").removesuffix(".any") if name.startswith("tags.") else name)
        if known is None:
            names = [*FIELDS, "tags.any", "tags.all", *(f"{free}.NAME" for free in FREE_FIELDS)]
            found.add("P001", f"unknown field {name}: {suggestion(name, names)}", *where)
            continue
        try:
            yield _condition(known, value, whole=whole)
        except InvalidInput as exc:
            code = "P003" if known.type in (FieldType.NUMBER, FieldType.DURATION) else "P002"
            found.add(code, f"{name}: {exc}", *where)


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the fields of a table with their dotted names."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _condition(field: Field, value: object, *, whole: bool) -> Condition:
    """Return the condition that a field has a value, or raise `InvalidInput`."""
    values = tuple(value) if isinstance(value, list | tuple) else (value,)
    if not values:
        raise InvalidInput("an empty list matches nothing: name at least one value, or leave the field out")
    simple = {FieldType.YES_NO: bool, FieldType.WORD: str, FieldType.TAGS: str}.get(field.type)
    if simple is not None:
        for word in values:
            if not isinstance(word, simple):
                raise InvalidInput(f"expected {field.type}, not {word!r}")
            if field.words and word not in field.words:
                raise InvalidInput(f"unknown value {word!r}: {suggestion(str(word), field.words)}")
        return Condition(field, values, all=whole)
    if field.type is FieldType.VALUE and not _is_comparison(value):
        if not all(isinstance(each, Scalar) for each in values):
            raise InvalidInput(f"expected {field.type}, not {value!r}")
        one_of((), values)  # refuses what no store can compare
        return Condition(field, values)
    if field.type is FieldType.NUMBER and isinstance(value, int | float) and not isinstance(value, bool):
        return Condition(field, comparisons=(Comparison("==", value),))
    if not isinstance(value, str):
        raise InvalidInput(f"expected {field.type}, not {value!r}")
    return Condition(field, comparisons=tuple(_comparisons(value, duration=field.type is FieldType.DURATION)))


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
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise InvalidInput(f"{text!r} is neither a number nor a setting that holds one")
        return number
    if re.fullmatch(r"0+[smhdw]?", text):
        return timedelta(0)
    return as_duration(text)


# Selections

#: The occasions on which rules run.
RUNS = ("compact", "maintain", "spill", "promote")
#: One table without conditions always holds; no table never does.
ALWAYS: Final[tuple[Table, ...]] = ((),)
NEVER: Final[tuple[Table, ...]] = ()

#: The attributes of a memory that an order can name, and how to read them.
_ORDERABLE = {"priority": operator.attrgetter("priority.rank")} | {
    name: operator.attrgetter(name)
    for name in (
        *("id", "relevance", "access_count", "tokens", "version"),
        *("created_at", "updated_at", "last_accessed_at", "tier_since"),
    )
}

#: Conditions as in a policy file: a table, several of which one must hold, or those that were read already.
Conditions = Mapping[str, Any] | Sequence[Mapping[str, Any]] | tuple[Table, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Select:
    """Which memories a rule looks at, and when. All given conditions must hold."""

    #: When the rule runs: compact, maintain, spill (a session needs room in hot) or promote (a recall found it).
    during: str = "compact"
    tiers: tuple[Tier, ...] = tuple(Tier)
    retentions: tuple[Retention, ...] = (Retention.ACTIVE,)
    #: Conditions that must hold: a table of fields, or several tables, one of which must hold.
    when: Conditions = ALWAYS
    #: Conditions that must not hold.
    unless: Conditions = NEVER
    #: Whether it is past its expiry; None selects both.
    expired: bool | None = False
    #: The order in which memories are decided: names of memory attributes, with "-" for descending.
    order: tuple[str, ...] = ()
    #: Only these memories; None for all.
    ids: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.during not in RUNS:
            raise InvalidInput(f"a rule runs during one of {', '.join(RUNS)}, not {self.during!r}")
        for name, read in (("tiers", Tier.of), ("retentions", Retention.of)):
            object.__setattr__(self, name, tuple(map(read, _several(getattr(self, name)))))
        for name in ("when", "unless"):
            object.__setattr__(self, name, _tables(name, getattr(self, name)))
        object.__setattr__(self, "order", _several(self.order))
        for name in self.order:
            if name.removeprefix("-") not in _ORDERABLE:
                raise InvalidInput(f"cannot order memories by {name!r}: use one of {', '.join(_ORDERABLE)}")

    @property
    def tables(self) -> tuple[tuple[Table, ...], tuple[Table, ...]]:
        """The conditions of `when` and of `unless` as they were read."""
        return cast("tuple[Table, ...]", self.when), cast("tuple[Table, ...]", self.unless)

    def sorted(self, memories: list[Memory]) -> list[Memory]:
        """Return memories in the order in which they are decided."""
        for name in reversed(self.order):
            key = name.removeprefix("-")
            memories = sorted(memories, key=_ORDERABLE[key], reverse=name.startswith("-"))
        return memories


def _tables(name: str, conditions: Conditions) -> tuple[Table, ...]:
    """Return conditions as they are compiled, or raise `InvalidInput`."""
    if isinstance(conditions, tuple) and all(_is_read(table) for table in conditions):
        return cast("tuple[Table, ...]", conditions)
    found = Findings()
    tables = read_tables(conditions, (name,), found)
    if found:
        raise InvalidInput("; ".join(finding.message for finding in found))
    return tables


def _is_read(table: object) -> bool:
    return isinstance(table, tuple) and all(isinstance(condition, Condition) for condition in table)


def _several(values: object) -> tuple[Any, ...]:
    """Return several values where one, or several, were given."""
    if isinstance(values, str) or not isinstance(values, tuple | list | set | frozenset):
        return (values,)
    return tuple(values)
