"""Which memories a rule looks at, as data: checked here in Python, compiled to one statement by each store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from typing import Any

from memotherm.errors import InvalidInput
from memotherm.model import Memory, Priority, Retention, Tier
from memotherm.model.clock import as_duration
from memotherm.rules.where import holds, one_of
from memotherm.settings import Settings

__all__ = ["RUNS", "Select"]

#: The occasions on which rules run.
RUNS = ("compact", "maintain", "spill", "promote")

_DURATIONS = ("unused_for", "unaccessed_for", "older_than", "unchanged_for", "in_tier_for", "in_retention_for")

#: A duration, text such as "30d", or the name of a setting that holds a number of days.
Duration = timedelta | str


@dataclass(frozen=True, kw_only=True, slots=True)
class Select:
    """Which memories a rule looks at, and when. Every condition must hold; one that is left out restricts nothing."""

    #: When the rule runs: compact, maintain, spill (a session needs room in hot) or promote (a recall found it).
    during: str = "compact"
    tiers: tuple[Tier, ...] = tuple(Tier)
    retentions: tuple[Retention, ...] = (Retention.ACTIVE,)
    kinds: tuple[str, ...] | None = None
    #: At least one of these tags.
    tags: tuple[str, ...] | None = None
    priorities: tuple[Priority, ...] | None = None
    #: Not used with a weight above 0, or created, for at least this long.
    unused_for: Duration | None = None
    #: Not returned, injected or created for at least this long.
    unaccessed_for: Duration | None = None
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
    #: Metadata keys and the values (text, numbers, booleans) of which one must be there.
    metadata: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    #: At least one of these must hold as well. Their `during`, `retentions`, `expired` and `order` are not looked at.
    either: tuple[Select, ...] = ()
    #: The order in which memories are decided: names of memory attributes, with "-" for descending.
    order: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.during not in RUNS:
            raise InvalidInput(f"a rule runs during one of {', '.join(RUNS)}, not {self.during!r}")
        self._set("tiers", tuple(Tier.of(tier) for tier in _several(self.tiers)))
        self._set("retentions", tuple(Retention.of(retention) for retention in _several(self.retentions)))
        if self.priorities is not None:
            self._set("priorities", tuple(Priority.of(priority) for priority in _several(self.priorities)))
        for name in ("kinds", "tags"):
            if getattr(self, name) is not None:
                self._set(name, tuple(_several(getattr(self, name))))
        self._set("metadata", {key: tuple(_several(values)) for key, values in self.metadata.items()})
        for name in self.order:
            if name.removeprefix("-") not in _ORDERABLE:
                raise InvalidInput(f"cannot order memories by {name!r}: use one of {', '.join(_ORDERABLE)}")

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def resolved(self, settings: Settings) -> Select:
        """Return the same selection with every duration as a timedelta."""
        durations: dict[str, Any] = {
            name: _duration(value, settings)
            for name in (*_DURATIONS, "used_within")
            if (value := getattr(self, name)) is not None
        }
        return replace(self, **durations, either=tuple(part.resolved(settings) for part in self.either))

    def matches(self, memory: Memory, now: datetime) -> bool:
        """Tell whether a memory is selected; durations must be resolved."""
        if memory.retention not in self.retentions or (
            self.expired is not None and memory.expired_at(now) is not self.expired
        ):
            return False
        return self._holds(memory, now)

    def _holds(self, memory: Memory, now: datetime) -> bool:
        return all(self._conditions(memory, now)) and (
            not self.either or any(part._holds(memory, now) for part in self.either)
        )

    def _conditions(self, memory: Memory, now: datetime) -> Iterator[bool]:
        yield memory.tier in self.tiers
        yield self.kinds is None or memory.kind in self.kinds
        yield self.tags is None or not set(self.tags).isdisjoint(memory.tags)
        yield self.priorities is None or memory.priority in self.priorities
        since = (
            memory.used_at,
            memory.accessed_at or memory.created_at,
            memory.created_at,
            memory.updated_at,
            memory.tier_since,
            memory.retention_since,
        )
        for name, moment in zip(_DURATIONS, since, strict=True):
            duration = getattr(self, name)
            yield duration is None or now - moment >= duration
        used = memory.last_used_at is not None and memory.last_used_at > memory.tier_since
        yield self.used_in_tier is None or used is self.used_in_tier
        if isinstance(self.used_within, timedelta):
            yield memory.last_used_at is not None and now - memory.last_used_at < self.used_within
        for key, values in self.metadata.items():
            yield holds(one_of(key, values), memory.metadata)

    def sorted(self, memories: list[Memory]) -> list[Memory]:
        """Return memories in the order in which they are decided."""
        for name in reversed(self.order):
            key = name.removeprefix("-")
            memories = sorted(memories, key=_ORDERABLE[key], reverse=name.startswith("-"))
        return memories


_ORDERABLE: dict[str, Any] = {
    "id": lambda memory: memory.id,
    "priority": lambda memory: memory.priority.rank,
    "relevance": lambda memory: memory.relevance,
    "access_count": lambda memory: memory.access_count,
    "tokens": lambda memory: memory.tokens,
    "created_at": lambda memory: memory.created_at,
    "updated_at": lambda memory: memory.updated_at,
    "used_at": lambda memory: memory.used_at,
    "tier_since": lambda memory: memory.tier_since,
}

_SETTINGS = frozenset(setting.name for setting in fields(Settings))


def _duration(value: Duration, settings: Settings) -> timedelta:
    """Return a duration; the name of a setting stands for its number of days, which may be 0."""
    if isinstance(value, str) and value in _SETTINGS:
        return timedelta(days=getattr(settings, value))
    if value == timedelta(0):
        return timedelta(0)
    return as_duration(value)


def _several(values: object) -> tuple[Any, ...]:
    """Return several values where one, or several, were given."""
    if isinstance(values, str) or not isinstance(values, tuple | list | set | frozenset):
        return (values,)
    return tuple(values)
