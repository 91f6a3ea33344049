"""The shapes of requests and answers: strict, closed, and the source of the OpenAPI document."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

__all__ = [
    "Batch",
    "Beginning",
    "Change",
    "ContextAnswer",
    "ContextWish",
    "EventAnswer",
    "EventsAnswer",
    "FlushAnswer",
    "FlushWish",
    "Health",
    "History",
    "HitAnswer",
    "MaintenanceAnswer",
    "MemoriesAnswer",
    "MemoryAnswer",
    "MoveAnswer",
    "MoveWish",
    "MovesAnswer",
    "NewMemory",
    "PageAnswer",
    "PriorityWish",
    "Problem",
    "Promoted",
    "Query",
    "QueryAnswer",
    "RecallAnswer",
    "RecallWish",
    "Run",
    "SessionAdd",
    "SessionEnd",
    "SessionPromote",
    "SessionRecall",
    "SessionState",
    "SpillAnswer",
    "SpillWish",
    "StatusAnswer",
    "Turn",
    "Why",
]


def _whole(value: object) -> object:
    """Return 3 for 3.0: JSON knows one kind of number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


#: A text that says something: no NUL, and at least one character that is not white space of any kind.
_SAYS = r"^[^\x00]*[!-~\u00a1-\u1fff\u3001-\ud7ff\uf900-\ufefe][^\x00]*$"
_LONGEST_TTL = 52_596_000.0

Text = Annotated[str, StringConstraints(min_length=1, max_length=1_000_000, pattern=_SAYS)]
QueryVector = Annotated[str, StringConstraints(min_length=1, max_length=100_000, pattern=_SAYS)]
Label = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=_SAYS)]
Reason = Annotated[str, StringConstraints(max_length=1000, pattern=r"^[^\x00]*$")]
Kind = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,31}$")]
MemoryId = Annotated[str, StringConstraints(pattern=r"^mem_[0-9a-z]{26}$")]
Labels = Annotated[list[Label], Field(max_length=64)]
Kinds = Annotated[list[Kind], Field(max_length=50)]
TierName = Literal["hot", "warm", "cold"]
PriorityName = Literal["pinned", "critical", "important", "normal", "low"]
RetentionName = Literal["active", "archived", "deleted", "purged"]
Tiers = Annotated[list[TierName], Field(min_length=1, max_length=3)]
Json = dict[str, Any]
Limit = Annotated[int, Field(ge=0, le=200), BeforeValidator(_whole)]
Share = Annotated[float, Field(ge=0, le=1)]
Budget = Annotated[int, Field(ge=0, le=1_000_000), BeforeValidator(_whole)]
Minutes = Annotated[float, Field(ge=0.1, le=_LONGEST_TTL, description="Time to live, in minutes.")]
Format = Literal["markdown", "xml", "messages", "index"]


def _without_default(schema: Json) -> None:
    schema.pop("default", None)


def _absent() -> Any:  # noqa: ANN401 - a field that may be left out and is never null
    return Field(default=None, json_schema_extra=_without_default)


class Wish(BaseModel):
    """What a caller sends: no unknown fields, no guessed types."""

    model_config = ConfigDict(extra="forbid", strict=True)


class NewMemory(Wish):
    """A memory to store; what is left out is decided by the settings."""

    content: Text
    kind: Kind = "fact"
    tags: Labels = []
    tier: TierName | None = None
    priority: PriorityName = "normal"
    ttl_minutes: Minutes | None = None
    metadata: Json | None = None
    source: Label = "api"
    supersedes: MemoryId | None = None

    def arguments(self) -> Json:
        """Return them as `remember` takes them."""
        values = self.model_dump(exclude={"ttl_minutes"})
        return {**values, "ttl": None if self.ttl_minutes is None else self.ttl_minutes * 60}


class Batch(Wish):
    """Memories to store: all of them, or none."""

    memories: Annotated[list[NewMemory], Field(min_length=1, max_length=1000)]


class Change(Wish):
    """What a memory shall say instead; what is left out stays."""

    content: Text | None = None
    kind: Kind | None = None
    tags: Labels | None = None
    metadata: Json | None = None
    ttl_minutes: Minutes | None = None
    why: Reason = ""


class MoveWish(Wish):
    """Where a memory shall be kept."""

    tier: TierName
    why: Reason = ""


class PriorityWish(Wish):
    """How strongly a memory shall insist."""

    priority: PriorityName
    why: Reason = ""


class Why(Wish):
    """A reason for the ledger."""

    why: Reason = ""


class RecallWish(Wish):
    """A question, and where to look for the answer."""

    query: QueryVector
    limit: Limit = 10
    tiers: Tiers = ["hot", "warm"]
    kinds: Kinds | None = None
    tags: Labels | None = None
    min_score: Share | None = None
    promote: bool = False
    track: bool = True


class Filters(Wish):
    """What a query may be narrowed by."""

    model_config = ConfigDict(json_schema_extra={"not": {"required": ["kinds", "types"]}})

    tier: TierName = _absent()
    tags: Labels = _absent()
    kinds: Kinds = _absent()
    types: Kinds = _absent()

    @model_validator(mode="after")
    def one_name_each(self) -> Self:
        """Take one of two names for the same thing."""
        if {"kinds", "types"} <= self.model_fields_set:
            raise ValueError("kinds and types mean the same: give one of them")
        return self


class Query(Wish):
    """A question over all tiers, or one; `k` is another name for `limit`, and `filters.tier` for `tier`."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [
                {"not": {"required": ["limit", "k"]}},
                {"not": {"required": ["tier", "filters"], "properties": {"filters": {"required": ["tier"]}}}},
            ]
        }
    )

    query: QueryVector
    tier: TierName = _absent()
    limit: Limit = _absent()
    k: Limit = _absent()
    filters: Filters = _absent()

    @model_validator(mode="after")
    def one_name_each(self) -> Self:
        """Take one of two names for the same thing."""
        if {"limit", "k"} <= self.model_fields_set:
            raise ValueError("limit and k mean the same: give one of them")
        if {"tier", "filters"} <= self.model_fields_set and "tier" in self.filters.model_fields_set:
            raise ValueError("tier and filters.tier mean the same: give one of them")
        return self


class ContextWish(Wish):
    """What an agent is about to do, and how many tokens it may read first."""

    query: QueryVector | None = None
    budget: Budget = 2000
    format: Format = "markdown"
    include_cold: bool | None = None
    track: bool = True


class Beginning(Wish):
    """How much a session may read when it begins."""

    budget: Budget = 2000
    format: Format = "markdown"


class Turn(Wish):
    """A turn of a session."""

    prompt: QueryVector
    budget: Budget = 2000
    format: Format = "markdown"
    include_cold: bool | None = None


class Run(Wish):
    """A run of the tier rules."""

    dry_run: bool = False


class SessionAdd(Wish):
    """What a session adds to its hot memory."""

    content: Text
    type: Kind = "message"
    metadata: Json | None = None


class SpillWish(Wish):
    """How many, or which, hot memories shall leave."""

    count: Annotated[int, Field(ge=0, le=10_000), BeforeValidator(_whole)] = 4
    ids: Annotated[list[MemoryId], Field(max_length=1000)] | None = None


class SessionPromote(Wish):
    """The memory that shall come to hot."""

    memory_id: MemoryId


class SessionRecall(Wish):
    """What a session wants back."""

    query: QueryVector
    limit: Limit = 3
    auto_promote: bool | None = None
    types: Kinds | None = None


class SessionEnd(Wish):
    """How a session ends."""

    summary: Text | None = None


class FlushWish(Wish):
    """How full a session's context is."""

    total_tokens: Annotated[int, Field(ge=0, le=1_000_000_000), BeforeValidator(_whole)]
    context_window: Annotated[int, Field(ge=1, le=1_000_000_000), BeforeValidator(_whole)] = 200_000


# Answers


class MemoryAnswer(BaseModel):
    """A memory."""

    id: str
    content: str
    kind: str
    tags: list[str]
    tier: TierName
    priority: PriorityName
    retention: RetentionName
    scope: dict[str, str]
    metadata: Json
    source: str
    tokens: int
    relevance: float
    access_count: int
    created_at: str
    updated_at: str
    accessed_at: str | None
    expires_at: str | None
    supersedes: str | None
    version: int


class HitAnswer(MemoryAnswer):
    """A memory that answers a query."""

    score: float
    why: str


class MemoriesAnswer(BaseModel):
    """Several memories."""

    memories: list[MemoryAnswer]


class PageAnswer(MemoriesAnswer):
    """A page of a listing; `next_page` leads to the next one, and is null on the last."""

    next_page: str | None


class QueryAnswer(BaseModel):
    """The answer to a query."""

    results: list[HitAnswer]
    tiers: list[TierName]
    limit: int
    degraded: list[str]


class RecallAnswer(BaseModel):
    """The answer to a recall."""

    items: list[HitAnswer]
    promoted: list[str]
    tiers: list[TierName]
    degraded: list[str]


class ContextAnswer(BaseModel):
    """A text for a prompt, and the receipt that says how it came about."""

    text: str
    tokens: int
    receipt: Json


class MoveAnswer(BaseModel):
    """A move of a memory."""

    model_config = ConfigDict(populate_by_name=True)

    id: str
    from_: TierName = Field(alias="from")
    to: TierName
    rule: str
    why: str


class MovesAnswer(BaseModel):
    """What a run of the tier rules moved, or would move."""

    hot: int
    warm: int
    cold: int
    dry_run: bool
    moves: list[MoveAnswer]


class MaintenanceAnswer(BaseModel):
    """What a run of maintenance did."""

    moves: list[MoveAnswer]
    expired: int
    archived: int
    deleted: int
    purged: int
    embedded: int
    degraded: list[str]


class EventAnswer(BaseModel):
    """One line of the ledger."""

    seq: int
    at: str
    id: str
    action: str
    actor: str
    rule: str
    why: str
    changes: dict[str, Json]


class History(BaseModel):
    """What happened to a memory, oldest first."""

    events: list[EventAnswer]


class EventsAnswer(History):
    """A page of the ledger; `next_page` leads to the next one, and is null on the last."""

    next_page: str | None


class StatusAnswer(BaseModel):
    """What is stored and how it can be searched."""

    model_config = ConfigDict(extra="allow")

    scope: dict[str, str]
    hot: Json
    warm: Json
    cold: Json
    retention: dict[str, int]
    embedder: str
    degraded: list[str]


class SessionState(BaseModel):
    """The working memory of a session."""

    model_config = ConfigDict(extra="allow")

    sessionId: str  # noqa: N815 - the source's name
    state: str
    hot: Json
    warm: Json
    cold: Json
    suggestions: list[Json]


class SpillAnswer(BaseModel):
    """What left a session's hot memory."""

    spilledCount: int  # noqa: N815
    spilledIds: list[str]  # noqa: N815
    targetTier: str | None  # noqa: N815
    moved: list[MoveAnswer]


class Promoted(BaseModel):
    """Whether a memory moved to hot."""

    id: str
    promoted: bool


class FlushAnswer(BaseModel):
    """Whether a flush is due, and what to tell the agent then."""

    due: bool
    prompt: str | None = None
    system: str | None = None
    file: str | None = None


class Health(BaseModel):
    """Whether the server can do its work."""

    status: Literal["ok"]
    version: str


class Problem(BaseModel):
    """What went wrong (RFC 9457)."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    errors: list[Json] | None = None
