"""The schemas of requests and responses, from which the OpenAPI document is generated."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

__all__ = [
    "CompactRequest",
    "CompactionResponse",
    "ContextRequest",
    "ContextResponse",
    "EventPageResponse",
    "EventResponse",
    "FlushRequest",
    "FlushResponse",
    "HealthResponse",
    "HistoryResponse",
    "HitResponse",
    "Key",
    "KeysResponse",
    "MaintenanceResponse",
    "MemoriesResponse",
    "MemoryPageResponse",
    "MemoryResponse",
    "MoveRequest",
    "MoveResponse",
    "PrioritizeRequest",
    "ProblemResponse",
    "PromoteRequest",
    "PromoteResponse",
    "QueryRequest",
    "QueryResponse",
    "ReasonRequest",
    "RecallRequest",
    "RecallResponse",
    "RememberManyRequest",
    "RememberRequest",
    "SessionAddRequest",
    "SessionContextRequest",
    "SessionEndRequest",
    "SessionRecallRequest",
    "SessionStartRequest",
    "SessionStatusResponse",
    "SpillRequest",
    "SpillResponse",
    "StatusResponse",
    "UpdateRequest",
]


def _integer(value: object) -> object:
    """Return 3 for 3.0: JSON has one type of number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


#: A text without NUL, with at least one character that is not white space.
_NOT_BLANK = r"^[^\x00]*[!-~\u00a1-\u1fff\u3001-\ud7ff\uf900-\ufefe][^\x00]*$"
_MAX_TTL_MINUTES = 52_596_000.0

Text = Annotated[str, StringConstraints(min_length=1, max_length=1_000_000, pattern=_NOT_BLANK)]
QueryText = Annotated[str, StringConstraints(min_length=1, max_length=100_000, pattern=_NOT_BLANK)]
Label = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=_NOT_BLANK)]
Reason = Annotated[str, StringConstraints(max_length=1000, pattern=r"^[^\x00]*$")]
Kind = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,31}$")]
MemoryId = Annotated[str, StringConstraints(pattern=r"^mem_[0-9a-z]{26}$")]
#: A text without control characters, with at least one character that is not white space.
_KEY = r"^[^\x00-\x1f\x7f]*[!-~\u00a1-\u1fff\u3001-\ud7ff\uf900-\ufefe][^\x00-\x1f\x7f]*$"
Key = Annotated[str, StringConstraints(min_length=1, max_length=400, pattern=_KEY)]
Labels = Annotated[list[Label], Field(max_length=64)]
Kinds = Annotated[list[Kind], Field(max_length=50)]
TierName = Literal["hot", "warm", "cold"]
PriorityName = Literal["pinned", "critical", "important", "normal", "low"]
RetentionName = Literal["active", "archived", "deleted", "purged"]
Tiers = Annotated[list[TierName], Field(min_length=1, max_length=3)]
Json = dict[str, Any]
Limit = Annotated[int, Field(ge=0, le=200), BeforeValidator(_integer)]
Share = Annotated[float, Field(ge=0, le=1)]
Budget = Annotated[int, Field(ge=0, le=1_000_000), BeforeValidator(_integer)]
Minutes = Annotated[float, Field(ge=0.1, le=_MAX_TTL_MINUTES, description="Time to live, in minutes.")]
Format = Literal["markdown", "xml", "messages", "index"]


def _without_default(schema: Json) -> None:
    schema.pop("default", None)


def _absent() -> Any:  # noqa: ANN401 - an optional field that is never null
    return Field(default=None, json_schema_extra=_without_default)


class RequestBody(BaseModel):
    """The base of request bodies: no unknown fields, no type conversion."""

    model_config = ConfigDict(extra="forbid", strict=True)


class RememberRequest(RequestBody):
    """A memory to store."""

    content: Text
    kind: Kind = "fact"
    tags: Labels = []
    tier: TierName | None = None
    priority: PriorityName = "normal"
    ttl_minutes: Minutes | None = None
    metadata: Json | None = None
    source: Label = "api"
    supersedes: MemoryId | None = None
    key: Key | None = Field(default=None, description="Your own name for it, unique in the scope.")
    index: bool = Field(default=True, description="Whether to make vectors of it.")

    def arguments(self) -> Json:
        """Return the arguments of `remember`."""
        values = self.model_dump(exclude={"ttl_minutes"})
        return {**values, "ttl": None if self.ttl_minutes is None else self.ttl_minutes * 60}


class RememberManyRequest(RequestBody):
    """Memories to store, all or none."""

    memories: Annotated[list[RememberRequest], Field(min_length=1, max_length=1000)]


class UpdateRequest(RequestBody):
    """The fields of a memory to change."""

    content: Text | None = None
    kind: Kind | None = None
    tags: Labels | None = None
    metadata: Json | None = None
    ttl_minutes: Minutes | None = None
    key: Key | None = None
    why: Reason = ""


class MoveRequest(RequestBody):
    """The tier to move a memory to."""

    tier: TierName
    why: Reason = ""


class PrioritizeRequest(RequestBody):
    """The priority to give a memory."""

    priority: PriorityName
    why: Reason = ""


class ReasonRequest(RequestBody):
    """The reason of a change, for the ledger."""

    why: Reason = ""


class RecallRequest(RequestBody):
    """A query and its filters."""

    query: QueryText
    limit: Limit = 10
    tiers: Tiers = ["hot", "warm"]
    kinds: Kinds | None = None
    tags: Labels | None = None
    min_score: Share | None = None
    promote: bool = False
    track: bool = True


class QueryFilters(RequestBody):
    """The filters of a query."""

    model_config = ConfigDict(json_schema_extra={"not": {"required": ["kinds", "types"]}})

    tier: TierName = _absent()
    tags: Labels = _absent()
    kinds: Kinds = _absent()
    types: Kinds = _absent()

    @model_validator(mode="after")
    def refuse_aliases_together(self) -> Self:
        """Refuse two names of the same field."""
        if {"kinds", "types"} <= self.model_fields_set:
            raise ValueError("kinds and types mean the same: give one of them")
        return self


class QueryRequest(RequestBody):
    """A query over all tiers, or one; `k` is another name for `limit`, and `filters.tier` for `tier`."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [
                {"not": {"required": ["limit", "k"]}},
                {"not": {"required": ["tier", "filters"], "properties": {"filters": {"required": ["tier"]}}}},
            ]
        }
    )

    query: QueryText
    tier: TierName = _absent()
    limit: Limit = _absent()
    k: Limit = _absent()
    filters: QueryFilters = _absent()

    @model_validator(mode="after")
    def refuse_aliases_together(self) -> Self:
        """Refuse two names of the same field."""
        if {"limit", "k"} <= self.model_fields_set:
            raise ValueError("limit and k mean the same: give one of them")
        if {"tier", "filters"} <= self.model_fields_set and "tier" in self.filters.model_fields_set:
            raise ValueError("tier and filters.tier mean the same: give one of them")
        return self


class ContextRequest(RequestBody):
    """A query, and the token budget of the context."""

    query: QueryText | None = None
    budget: Budget = 2000
    format: Format = "markdown"
    include_cold: bool | None = None
    track: bool = True


class SessionStartRequest(RequestBody):
    """The token budget and format of the first context of a session."""

    budget: Budget = 2000
    format: Format = "markdown"


class SessionContextRequest(RequestBody):
    """The prompt of a turn, and the token budget of its context."""

    prompt: QueryText
    budget: Budget = 2000
    format: Format = "markdown"
    include_cold: bool | None = None


class CompactRequest(RequestBody):
    """The options of a compaction."""

    dry_run: bool = False


class SessionAddRequest(RequestBody):
    """A memory to add to a session's hot memories."""

    content: Text
    type: Kind = "message"
    metadata: Json | None = None


class SpillRequest(RequestBody):
    """How many, or which, hot memories to spill."""

    count: Annotated[int, Field(ge=0, le=10_000), BeforeValidator(_integer)] = 4
    ids: Annotated[list[MemoryId], Field(max_length=1000)] | None = None


class PromoteRequest(RequestBody):
    """The memory to promote to hot."""

    memory_id: MemoryId


class DemoteRequest(RequestBody):
    """The memory to move out of hot."""

    memory_id: MemoryId
    tier: Literal["warm", "cold"] = "warm"


class KeepRequest(RequestBody):
    """The memory to keep after the session."""

    memory_id: MemoryId


class PruneRequest(RequestBody):
    """How many cold memories stay; `max_cold_items` if left out."""

    keep: Annotated[int, Field(ge=0, le=1_000_000_000), BeforeValidator(_integer)] | None = None


class SessionRecallRequest(RequestBody):
    """A query over a session's own memories."""

    query: QueryText
    limit: Limit = 3
    auto_promote: bool | None = None
    types: Kinds | None = None


class SessionEndRequest(RequestBody):
    """The end of a session."""

    summary: Text | None = None


class FlushRequest(RequestBody):
    """The size of a session's context."""

    total_tokens: Annotated[int, Field(ge=0, le=1_000_000_000), BeforeValidator(_integer)]
    context_window: Annotated[int, Field(ge=1, le=1_000_000_000), BeforeValidator(_integer)] = 200_000


# Responses


class MemoryResponse(BaseModel):
    """A memory."""

    id: str
    content: str
    key: str | None
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
    index: bool
    version: int


class AddedMemoryResponse(MemoryResponse):
    """A memory that was added to a session."""

    rule: str = Field(description="The rule that chose its tier.")
    warnings: list[str] = Field(description="Why it is not hot.")


class HitResponse(MemoryResponse):
    """A hit: a memory with its score and the reasons."""

    score: float
    why: str


class MemoriesResponse(BaseModel):
    """A list of memories."""

    memories: list[MemoryResponse]


class KeysResponse(BaseModel):
    """Keys in order, or prefixes that end with a slash."""

    keys: list[str]


class MemoryPageResponse(MemoriesResponse):
    """A page of memories; `next_page` is null on the last one."""

    next_page: str | None


class QueryResponse(BaseModel):
    """The hits of a query."""

    results: list[HitResponse]
    tiers: list[TierName]
    limit: int
    degraded: list[str]


class RecallResponse(BaseModel):
    """The hits of a recall."""

    items: list[HitResponse]
    promoted: list[str]
    tiers: list[TierName]
    degraded: list[str]


class ContextResponse(BaseModel):
    """A context, and the receipt that explains it."""

    text: str
    tokens: int
    receipt: Json


class MoveResponse(BaseModel):
    """A move of a memory to another tier."""

    model_config = ConfigDict(populate_by_name=True)

    id: str
    from_: TierName = Field(alias="from")
    to: TierName
    #: The retention that the memory gets, if a rule changes it.
    retention: RetentionName | None = None
    rule: str
    why: str


class CompactionResponse(BaseModel):
    """What a compaction moved, or would move."""

    hot: int
    warm: int
    cold: int
    dry_run: bool
    moves: list[MoveResponse]
    degraded: list[str] = []


class MaintenanceResponse(BaseModel):
    """What a run of maintenance did."""

    moves: list[MoveResponse]
    expired: int
    archived: int
    deleted: int
    purged: int
    embedded: int
    degraded: list[str]


class EventResponse(BaseModel):
    """An event of the ledger."""

    seq: int
    at: str
    id: str
    action: str
    actor: str
    rule: str
    why: str
    changes: dict[str, Json]


class HistoryResponse(BaseModel):
    """The events of a memory, oldest first."""

    events: list[EventResponse]


class EventPageResponse(HistoryResponse):
    """A page of the ledger; `next_page` is null on the last one."""

    next_page: str | None


class StatusResponse(BaseModel):
    """How much is stored, and how it can be searched."""

    model_config = ConfigDict(extra="allow")

    scope: dict[str, str]
    hot: Json
    warm: Json
    cold: Json
    retention: dict[str, int]
    embedder: str
    degraded: list[str]


class SessionStatusResponse(BaseModel):
    """The working memory of a session."""

    model_config = ConfigDict(extra="allow")

    sessionId: str  # noqa: N815 - the name that agents know
    state: str
    hot: Json
    warm: Json
    cold: Json
    suggestions: list[Json]


class SpillResponse(BaseModel):
    """The memories that were spilled."""

    spilledCount: int  # noqa: N815
    spilledIds: list[str]  # noqa: N815
    targetTier: str | None  # noqa: N815
    moved: list[MoveResponse]


class PromoteResponse(BaseModel):
    """Whether a memory moved to hot."""

    id: str
    promoted: bool


class PruneResponse(BaseModel):
    """The memories that were deleted."""

    sessionId: str  # noqa: N815
    pruned: list[str]


class ClearResponse(BaseModel):
    """How many memories were deleted."""

    sessionId: str  # noqa: N815
    cleared: int


class FlushResponse(BaseModel):
    """Whether a flush is due, and its prompts."""

    due: bool
    prompt: str | None = None
    system: str | None = None
    file: str | None = None


class HealthResponse(BaseModel):
    """The state of the server."""

    status: Literal["ok"]
    version: str


class ProblemResponse(BaseModel):
    """A problem (RFC 9457)."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    errors: list[Json] | None = None
