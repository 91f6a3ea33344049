"""A memory, its four axes, and the scope it belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, Self

from memotherm.errors import InvalidInput

__all__ = ["SCOPE_FIELDS", "Memory", "Priority", "Retention", "Scope", "Tier"]

_LONGEST_SCOPE_VALUE = 200


class _Axis(StrEnum):
    """One of a memory's axes: a closed set of words in a fixed order."""

    # A word is equal to its text, so it has the text's hash too (and looking one up costs no call).
    __hash__ = str.__hash__

    @classmethod
    def of(cls, value: object) -> Self:
        """Read a value of this axis, or say which ones exist."""
        try:
            return cls(str(value))
        except ValueError:
            words = ", ".join(cls)
            raise InvalidInput(f"unknown {cls.__name__.lower()} {value!r}: use one of {words}") from None

    @property
    def rank(self) -> int:
        """The position on the axis, from 0."""
        return _RANKS[self]


class Tier(_Axis):
    """How close a memory is kept."""

    HOT = "hot"
    WARM = "warm"
    COLD = "cold"


class Priority(_Axis):
    """How strongly a memory insists on being included."""

    PINNED = "pinned"
    CRITICAL = "critical"
    IMPORTANT = "important"
    NORMAL = "normal"
    LOW = "low"

    @classmethod
    def of(cls, value: object) -> Self:
        """Read a priority by its name or its number from 0, or say which ones exist."""
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(cls):
            return list(cls)[value]
        return super().of(value)


class Retention(_Axis):
    """Whether a memory is visible at all; the only axis that hides or erases."""

    ACTIVE = "active"
    ARCHIVED = "archived"
    DELETED = "deleted"
    PURGED = "purged"


_RANKS: dict[_Axis, int] = {word: rank for axis in (Tier, Priority, Retention) for rank, word in enumerate(axis)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    """Whose memory it is. A field left out restricts nothing."""

    tenant: str | None = None
    project: str | None = None
    environment: str | None = None
    user: str | None = None
    agent: str | None = None
    session: str | None = None

    def __post_init__(self) -> None:
        for name, value in self.items():
            if not isinstance(value, str) or not value.strip():
                raise InvalidInput(f"scope {name} must be a non-empty text or left out, not {value!r}")
            if len(value) > _LONGEST_SCOPE_VALUE or not value.isprintable():
                raise InvalidInput(f"scope {name} must be printable and at most {_LONGEST_SCOPE_VALUE} characters long")

    def items(self) -> list[tuple[str, str]]:
        """Return the fields that are set."""
        pairs = ((each.name, getattr(self, each.name)) for each in fields(self))
        return [(name, value) for name, value in pairs if value is not None]

    def narrowed(self, **values: str | None) -> Scope:
        """Return a scope with more fields set; a field that is set cannot change, and None leaves it as it is."""
        mine = dict(self.items())
        for name, value in values.items():
            if name not in SCOPE_FIELDS:
                raise InvalidInput(f"unknown scope field {name!r}: use {', '.join(SCOPE_FIELDS)}")
            if value is not None and value != mine.get(name, value):
                raise InvalidInput(f"scope {name} is already {mine[name]!r}: a scope can only be narrowed")
        return Scope(**{**mine, **{name: value for name, value in values.items() if value is not None}})

    def sees(self, other: Scope) -> bool:
        """Tell whether a memory of scope `other` is visible from this scope."""
        mine = dict(self.items())
        return all(mine.get(name) == value for name, value in other.items())

    def may_change(self, other: Scope) -> bool:
        """Tell whether a memory of scope `other` may be changed from here: a tenant changes only its own."""
        return self.sees(other) and self.tenant in (None, other.tenant)

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.items()) or "everyone"


#: The names of the scope fields, from the widest to the narrowest.
SCOPE_FIELDS = tuple(each.name for each in fields(Scope))


@dataclass(frozen=True, kw_only=True, slots=True)
class Memory:
    """One remembered thing."""

    #: `mem_` and a time-sortable id; the same for the whole life of the memory.
    id: str
    #: The text itself.
    content: str
    #: What sort of thing it is: message, fact, decision, entity, context, preference, task, note, ...
    kind: str = "fact"
    #: Free labels, in the order they were given.
    tags: tuple[str, ...] = ()
    #: How close it is kept.
    tier: Tier = Tier.WARM
    #: How strongly it insists on being included.
    priority: Priority = Priority.NORMAL
    #: Whether it is visible at all.
    retention: Retention = Retention.ACTIVE
    #: Whose it is.
    scope: Scope = field(default_factory=Scope)
    #: Anything else the writer wants to keep with it (JSON).
    metadata: Mapping[str, Any] = field(default_factory=dict)
    #: Where it came from.
    source: str = "agent"
    #: Tokens of the content.
    tokens: int = 0
    #: SHA-256 of the normalised content.
    digest: str = ""
    #: When it was first remembered.
    created_at: datetime
    #: When its content, kind, tags or metadata last changed.
    updated_at: datetime
    #: When it was last returned or injected; None when it never was.
    accessed_at: datetime | None = None
    #: From this moment on it is invisible; None when it does not expire.
    expires_at: datetime | None = None
    #: How often it was returned or injected.
    access_count: int = 0
    #: How often that happened in the current window of use (setting `use_window_days`).
    recent_uses: int = 0
    #: The running relevance of this memory to what was asked (not the score of one query).
    relevance: float = 0.5
    #: The id of the memory this one replaced.
    supersedes: str | None = None
    #: Since when it is in its tier.
    tier_since: datetime
    #: The rule that put it there.
    tier_rule: str = "default"
    #: Since when it has its retention.
    retention_since: datetime
    #: The ledger's sequence number of its last change.
    version: int = 0

    def visible_at(self, now: datetime) -> bool:
        """Tell whether retention and expiry let it be found at that moment; what is pinned does not expire."""
        return self.retention is Retention.ACTIVE and not self.expired_at(now)

    def expired_at(self, now: datetime) -> bool:
        """Tell whether its time is over."""
        return self.expires_at is not None and self.expires_at <= now and self.priority is not Priority.PINNED

    @property
    def used_at(self) -> datetime:
        """When it was last used, or made when it never was."""
        return self.accessed_at or self.created_at
