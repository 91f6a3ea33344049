"""The schemas of sessions."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from memotherm.rest.schemas.administration import CompactionResponse, MoveResponse
from memotherm.rest.schemas.fields import (
    AnyKind,
    Budget,
    Count,
    Format,
    Json,
    Kinds,
    Limit,
    MemoryId,
    QueryText,
    RequestBody,
    Text,
    absent,
    integer,
)
from memotherm.rest.schemas.filters import Where
from memotherm.rest.schemas.memories import MemoryResponse

__all__ = [
    "AddedMemoryResponse",
    "ClearResponse",
    "DemoteRequest",
    "FlushRequest",
    "FlushResponse",
    "KeepRequest",
    "PromoteRequest",
    "PromoteResponse",
    "PruneRequest",
    "PruneResponse",
    "SessionAddRequest",
    "SessionContextRequest",
    "SessionEndRequest",
    "SessionEndResponse",
    "SessionRecallRequest",
    "SessionStartRequest",
    "SessionStatusResponse",
    "SpillRequest",
    "SpillResponse",
    "SuggestionResponse",
]


class SessionStartRequest(RequestBody):
    """The token budget and format of the first context of a session."""

    budget: Budget = 2000
    format: Format = "markdown"
    memories: bool = Field(False, description="Whether to return the memories that were considered.")
    parts: bool = Field(False, description="Whether to return the text cut where memories begin and end.")


class SessionContextRequest(RequestBody):
    """The prompt of a turn, and the token budget of its context."""

    prompt: QueryText
    budget: Budget = 2000
    format: Format = "markdown"
    include_cold: bool | None = None
    track: bool = True
    repeat: bool = Field(False, description="Whether memories that were injected before may be included.")
    where: Where | None = None
    memories: bool = Field(False, description="Whether to return the memories that were considered.")
    parts: bool = Field(False, description="Whether to return the text cut where memories begin and end.")


class SessionAddRequest(RequestBody):
    """A memory to add to a session's hot memories."""

    content: Text
    type: AnyKind = "message"
    metadata: Json | None = None
    tier: Literal["hot"] | None = Field(None, description="`hot`: refuse what is larger than the limit.")


class SpillRequest(RequestBody):
    """How many, or which, hot memories to spill."""

    count: Annotated[int, Field(ge=0, le=10_000), BeforeValidator(integer)] = 4
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

    keep: Count | None = None


class SessionRecallRequest(RequestBody):
    """A query over a session's own memories."""

    query: QueryText
    limit: Limit = 3
    auto_promote: bool | None = None
    types: Kinds | None = None


class SessionEndRequest(RequestBody):
    """The end of a session."""

    summary: Text | None = None


class SessionEndResponse(CompactionResponse):
    """What the end of a session, or of a run, moved."""

    compacted: bool = Field(description="Whether compaction was run.")


class FlushRequest(RequestBody):
    """The size of a session's context, and what the host knows about this turn."""

    total_tokens: Count | None = Field(description="The tokens of the context; null if unknown.")
    context_window: Annotated[int, Field(ge=1, le=1_000_000_000), BeforeValidator(integer)] = 200_000
    compactions: Count | None = Field(
        None, description="How often the host has compacted so far; null to infer it from a fall of the tokens."
    )
    heartbeat: bool = Field(False, description="Whether the host itself started this turn.")
    read_only: bool = Field(False, description="Whether the agent cannot write files.")


class AddedMemoryResponse(MemoryResponse):
    """A memory that was added to a session."""

    rule: str = Field(description="The rule that chose its tier.")
    warnings: list[str] = Field(description="Why it is not hot, and which secrets it seems to contain.")


class SuggestionResponse(BaseModel):
    """A recommended action for a session."""

    type: Literal["spill", "recall", "prune"]
    reason: str
    itemIds: list[str] = absent()  # noqa: N815


class SessionStatusResponse(BaseModel):
    """The working memory of a session."""

    model_config = ConfigDict(extra="allow")

    sessionId: str  # noqa: N815 - the name that agents know
    state: Literal["active", "archived", "summarized"]
    hot: Json
    warm: Json
    cold: Json
    suggestions: list[SuggestionResponse]
    metrics: dict[str, float]


class SpillResponse(BaseModel):
    """The memories that were spilled."""

    spilledCount: int  # noqa: N815
    spilledIds: list[str]  # noqa: N815
    targetTier: Literal["warm", "cold", "mixed"] | None  # noqa: N815
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
    """Whether a flush is due, its prompts, and the file to append to; null where none is due."""

    due: bool
    prompt: str | None = None
    system: str | None = None
    file: str | None = None
    date: str | None = None
    total_tokens: int | None = None
    threshold: int | None = None
    silent_token: str | None = None
