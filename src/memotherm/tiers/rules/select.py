"""Selections: which memories a rule looks at, as data that each store compiles to SQL.

    Select(during="maintain", tiers=("hot", "warm"), when={"kind": "log", "idle": ">= 30d"})

The conditions of `when` and `unless` are those of a policy file.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from memotherm.errors import InvalidInput
from memotherm.model import Memory, Retention, Tier
from memotherm.tiers.rules.conditions import Condition, Findings, Table, read_tables

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
