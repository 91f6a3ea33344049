"""The schemas of sessions."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from memotherm.rest.schemas.administration import MoveResponse
from memotherm.rest.schemas.fields import (
    Budget,
    Format,
    Json,
    Kind,
    Kinds,
    Limit,
    MemoryId,
    QueryText,
    RequestBody,
    Text,
    integer,
)
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
    "SessionRecallRequest",
    "SessionStartRequest",
    "SessionStatusResponse",
    "SpillRequest",
    "SpillResponse",
]


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


class SessionAddRequest(RequestBody):
    """A memory to add to a session's hot memories."""

    content: Text
    type: Kind = "message"
    metadata: Json | None = None


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

    keep: Annotated[int, Field(ge=0, le=1_000_000_000), BeforeValidator(integer)] | None = None


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

    total_tokens: Annotated[int, Field(ge=0, le=1_000_000_000), BeforeValidator(integer)]
    context_window: Annotated[int, Field(ge=1, le=1_000_000_000), BeforeValidator(integer)] = 200_000


class AddedMemoryResponse(MemoryResponse):
    """A memory that was added to a session."""

    rule: str = Field(description="The rule that chose its tier.")
    warnings: list[str] = Field(description="Why it is not hot.")


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
