"""A memory, its four axes, its scope, and the filters that select memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import StrEnum
from html import escape
from typing import Any, Literal, Self, TypedDict

from memotherm.errors import InvalidInput
from memotherm.model.value import Value

TierName = Literal["hot", "warm", "cold"]
PriorityName = Literal["pinned", "critical", "important", "normal", "low"]
#: A priority by its name or number.
PriorityValue = Literal[PriorityName, 0, 1, 2, 3, 4]
#: What a parameter `tier` takes: other programs call a priority so.
TierValue = Literal[TierName, PriorityValue]
TrustName = Literal["web", "document", "import", "agent", "person"]
#: The orders of a listing.
OrderName = Literal["newest", "oldest", "updated", "used", "most_used", "largest", "smallest"]
FormatName = Literal["markdown", "xml", "messages", "index"]


#: The kinds that rules and interfaces know; any other well-formed word is a kind as well.
KNOWN_KINDS = ("message", "fact", "decision", "rule", "entity", "context", "preference", "task", "note", "fix")
#: The kind of the summaries of sessions.
SUMMARY = "summary"
#: The tag of facts about the user.
PROFILE = "profile"
#: The agent in the scope of what was said in past sessions; a search looks there if nothing else answers.
HISTORY = "history"
#: The kind of a turn of a past session of which the statements are still to be read.
UNREAD_TURN = "unread-turn"

_LONGEST_SCOPE_VALUE = 200


class _Axis(StrEnum):
    """Base of a memory's axes: string enums whose members are ordered."""

    # A member equals its text, so it has the same hash; str.__hash__ is faster than Enum.__hash__.
    __hash__ = str.__hash__

    @classmethod
    def of(cls, value: object) -> Self:
        """Return the member that `value` names."""
        try:
            return cls(str(value))
        except ValueError:
            members = ", ".join(cls)
            raise InvalidInput(f"unknown {cls.__name__.lower()} {value!r}: use one of {members}") from None

    @property
    def rank(self) -> int:
        """The position among the members, from 0."""
        return _RANKS[self]


class Tier(_Axis):
    """How close a memory is kept: in every context (hot), in default searches (warm), or in the archive (cold)."""

    HOT = "hot"
    WARM = "warm"
    COLD = "cold"


class Priority(_Axis):
    """How important it is to include a memory."""

    PINNED = "pinned"
    CRITICAL = "critical"
    IMPORTANT = "important"
    NORMAL = "normal"
    LOW = "low"

    @classmethod
    def of(cls, value: object) -> Self:
        """Return the member that `value` names, by its text or its rank."""
        return _PRIORITIES.get(str(value)) or super().of(value)


#: The priorities by their ranks.
_PRIORITIES = {str(rank): priority for rank, priority in enumerate(Priority)}
_TIERS = tuple(Tier)


def placement(tier: object, priority: object = None) -> tuple[Tier | None, Priority | None]:
    """Return the tier and the priority that two arguments name; `tier` may name a priority as well.

    Raises:
        InvalidInput: `tier` names neither, or another priority than `priority`.
    """
    given = None if priority is None else Priority.of(priority)
    if tier is None or tier in _TIERS:
        return None if tier is None else Tier(str(tier)), given
    try:
        named = Priority.of(tier)
    except InvalidInput:
        known = ", ".join([*Tier, *Priority])
        raise InvalidInput(f"unknown tier {tier!r}: use one of {known}, or a priority from 0 to 4") from None
    if given not in (None, Priority.NORMAL, named):
        raise InvalidInput(f"tier {tier!r} and priority {priority!r} are two different priorities: give one of them")
    return None, named


def placed_in(values: object) -> tuple[Tier | None, Priority | None]:
    """Return the tier or the priority that a field `tier` of metadata or of a filter names, if it names one."""
    try:
        return placement(values.get("tier")) if isinstance(values, Mapping) else (None, None)
    except InvalidInput:
        return None, None


class Retention(_Axis):
    """Whether a memory is visible; the only axis that hides or erases."""

    ACTIVE = "active"
    ARCHIVED = "archived"
    DELETED = "deleted"
    PURGED = "purged"
    #: It waits for a person to approve or reject it.
    PROPOSED = "proposed"


class Trust(_Axis):
    """Who stands behind a memory, from the least trusted to the most."""

    WEB = "web"
    DOCUMENT = "document"
    IMPORT = "import"
    AGENT = "agent"
    PERSON = "person"

    def at_most(self, other: Trust) -> Trust:
        """Return the lower of both."""
        return self if self.rank <= other.rank else other

    def after_rewrite(self, by: Trust) -> Trust:
        """Return the trust of a memory that was rewritten; only a person raises it."""
        return by if by is Trust.PERSON else self.at_most(by)

    @property
    def is_low(self) -> bool:
        """Whether such memories become hot or pinned only if somebody asks for it."""
        return self is Trust.WEB or self is Trust.IMPORT


_RANKS: dict[_Axis, int] = {
    member: rank for axis in (Tier, Priority, Retention, Trust) for rank, member in enumerate(axis)
}


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Scope(Value):
    """Who can see a memory. A field that is None restricts nothing."""

    tenant: str | None = None
    project: str | None = None
    environment: str | None = None
    user: str | None = None
    agent: str | None = None
    session: str | None = None
    #: The user whose memories may be changed from here, if others may only be read; no part of the scope of a memory.
    owner: str | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name, value in self.items():
            if not isinstance(value, str) or not value.strip():
                raise InvalidInput(f"scope {name} must be a non-empty text or None, not {value!r}")
            if len(value) > _LONGEST_SCOPE_VALUE or not value.isprintable():
                raise InvalidInput(f"scope {name} must be printable and at most {_LONGEST_SCOPE_VALUE} characters long")

    def items(self) -> list[tuple[str, str]]:
        """Return the fields that are set."""
        values = ((name, getattr(self, name)) for name in SCOPE_FIELDS)
        return [(name, value) for name, value in values if value is not None]

    def narrowed(self, /, *, owner: str | None = None, **values: str | None) -> Scope:
        """Return a scope with more fields set; a field that is set cannot change, and None is ignored."""
        current = dict(self.items())
        for name, value in values.items():
            if name not in SCOPE_FIELDS:
                raise InvalidInput(f"unknown scope field {name!r}: use {', '.join(SCOPE_FIELDS)}")
            if value is not None and value != current.get(name, value):
                raise InvalidInput(f"scope {name} is already {current[name]!r}: a scope can only be narrowed")
        added = {name: value for name, value in values.items() if value is not None}
        return replace(self, **added, owner=owner or self.owner)

    def of_user(self) -> Scope:
        """Return the scope of its user alone, in all projects."""
        return Scope(tenant=self.tenant, user=self.user, owner=self.owner)

    def sees(self, other: Scope) -> bool:
        """Return whether a memory of scope `other` is visible from this scope."""
        own = dict(self.items())
        return all(own.get(name) == value for name, value in other.items())

    def may_change(self, other: Scope) -> bool:
        """Return whether a memory of scope `other` may be changed from this scope: a tenant changes only its own."""
        return self.sees(other) and self.tenant in (None, other.tenant) and self.owner in (None, other.user)

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.items()) or "everyone"


#: The names of the scope fields, from the widest to the narrowest.
SCOPE_FIELDS = tuple(each.name for each in fields(Scope) if each.compare)


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Memory(Value):
    """A stored text with its tier, priority, retention and scope."""

    #: `mem_` and a time-sortable id, which never changes.
    id: str
    #: The text itself.
    content: str
    #: The caller's own name for it, unique in its scope; None if it has none.
    key: str | None = None
    #: Its type: message, fact, decision, entity, context, preference, task, note, ...
    kind: str = "fact"
    #: Labels, in the order of the caller.
    tags: tuple[str, ...] = ()
    #: In every context, in default searches, or in the archive.
    tier: Tier = Tier.WARM
    #: How important it is to include it.
    priority: Priority = Priority.NORMAL
    #: Whether it is visible.
    retention: Retention = Retention.ACTIVE
    #: Who can see it.
    scope: Scope = field(default_factory=Scope)
    #: Any other data of the caller (JSON).
    metadata: Mapping[str, Any] = field(default_factory=dict, repr=False)
    #: Where it came from.
    source: str = field(default="agent", repr=False)
    #: Who stands behind it.
    trust: Trust = field(default=Trust.AGENT, repr=False)
    #: Tokens of the content.
    tokens: int = field(default=0, repr=False)
    #: SHA-256 of the normalised content.
    digest: str = field(default="", repr=False)
    #: When it was first stored.
    created_at: datetime = field(repr=False)
    #: When its content, kind, tags or metadata last changed.
    updated_at: datetime = field(repr=False)
    #: When it was last returned to a caller who asked, or used; None if never.
    accessed_at: datetime | None = field(default=None, repr=False)
    #: When it was last verified; None if never. Uses and changes do not affect it.
    verified_at: datetime | None = field(default=None, repr=False)
    #: When it expires; None if never.
    expires_at: datetime | None = field(default=None, repr=False)
    #: When what it says begins and ceases to hold; None if it does not say.
    valid_from: datetime | None = field(default=None, repr=False)
    valid_until: datetime | None = field(default=None, repr=False)
    #: How often it was returned to a caller who asked, confirmed, or repeated in an answer.
    access_count: int = field(default=0, repr=False)
    #: The sum of the weights of its uses.
    use_weight: float = field(default=0.0, repr=False)
    #: The weight of its uses in the current window, which ends after 7 days without use.
    recent_uses: float = field(default=0.0, repr=False)
    #: Its running average relevance to queries (not the score of one query).
    relevance: float = field(default=0.5, repr=False)
    #: The id of the memory this one replaced.
    supersedes: str | None = field(default=None, repr=False)
    #: When it entered its tier.
    tier_since: datetime = field(repr=False)
    #: The rule that moved it there.
    tier_rule: str = field(default="default", repr=False)
    #: When it got its retention.
    retention_since: datetime = field(repr=False)
    #: Whether its content is embedded; without vectors, only its words are searched.
    index: bool = field(default=True, repr=False)
    #: The ledger's sequence number of its last change.
    version: int = field(default=0, repr=False)

    def __hash__(self) -> int:
        return hash((self.id, self.version))

    def visible_at(self, now: datetime) -> bool:
        """Return whether it is active and not expired at that moment; a pinned memory does not expire."""
        return self.retention is Retention.ACTIVE and not self.expired_at(now)

    def expired_at(self, now: datetime) -> bool:
        """Return whether it has expired at that moment."""
        return self.expires_at is not None and self.expires_at <= now and self.priority is not Priority.PINNED

    def as_dict(self) -> dict[str, Any]:
        """Return the memory as plain values, which `json.dumps` accepts."""
        return {
            "id": self.id,
            "content": self.content,
            "key": self.key,
            "kind": self.kind,
            "tags": list(self.tags),
            "tier": str(self.tier),
            "priority": str(self.priority),
            "retention": str(self.retention),
            "scope": dict(self.scope.items()),
            "metadata": dict(self.metadata),
            "source": self.source,
            "trust": str(self.trust),
            "tokens": self.tokens,
            "relevance": round(self.relevance, 4),
            "access_count": self.access_count,
            "created_at": _iso(self.created_at),
            "updated_at": _iso(self.updated_at),
            "accessed_at": _iso(self.accessed_at),
            "verified_at": _iso(self.verified_at),
            "expires_at": _iso(self.expires_at),
            "valid_from": _iso(self.valid_from),
            "valid_until": _iso(self.valid_until),
            "supersedes": self.supersedes,
            "index": self.index,
            "version": self.version,
        }

    def _repr_html_(self) -> str:
        """Return the memory as an HTML table, for notebooks."""
        shown = ("content", "id", "tier", "priority", "kind", "tags", "scope", "created_at")
        rows = ((name, getattr(self, name)) for name in shown)
        cells = (f"<tr><th>{name}</th><td>{escape(_as_text(value))}</td></tr>" for name, value in rows if value)
        return f"<table>{''.join(cells)}</table>"

    # Names that other memory programs use.

    @property
    def last_accessed_at(self) -> datetime:
        """When it was last accessed, or stored if it never was."""
        return self.accessed_at or self.created_at

    @property
    def session_id(self) -> str | None:
        """The session of its scope."""
        return self.scope.session

    @property
    def type(self) -> str:
        """Its kind."""
        return self.kind

    @property
    def relevance_score(self) -> float:
        """Its relevance."""
        return self.relevance


def _iso(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()


def _as_text(value: object) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value)


class ScopeFields(TypedDict, total=False):
    """The fields that narrow a scope; None restricts nothing."""

    tenant: str | None
    project: str | None
    environment: str | None
    user: str | None
    agent: str | None
    session: str | None


class MemoryFilters(TypedDict, total=False):
    """The filters of `find`; an omitted one restricts nothing, except `retention`."""

    tier: Tier | TierValue | None
    priority: Priority | PriorityName | int | None
    retention: Retention | str
    kind: str | None
    #: Who stands behind it.
    trust: Trust | TrustName | None
    tags: Sequence[str] | None
    #: Created at or after this: a datetime, an ISO date or time, or "7d" (ago).
    since: datetime | str | None
    #: Created before this.
    until: datetime | str | None
    #: What it says held at this moment; a memory that names no time always does.
    true_at: datetime | str | None
    #: The metadata, such as {"status": "open", "votes": {"$gte": 3}}, and the tier or priority: {"tier": 0}.
    where: Mapping[str, Any] | None
    #: A prefix of the key, such as "notes/".
    prefix: str | None
    #: A substring of the content, ignoring case.
    contains: str | None
    #: Names and identifiers of which the content mentions at least one, as a whole and in any spelling.
    mentions: Sequence[str] | None
    ids: Sequence[str] | None
