"""The schemas of memories and their changes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from memotherm.rest.schemas.fields import (
    AnyKind,
    Count,
    Json,
    Key,
    Label,
    Labels,
    MemoryId,
    Minutes,
    Moment,
    PriorityName,
    Reason,
    RequestBody,
    RetentionName,
    SessionName,
    Text,
    TierName,
    absent,
)

__all__ = [
    "CaptureRequest",
    "CapturedResponse",
    "ChangedManyResponse",
    "CountResponse",
    "IdResponse",
    "KeysResponse",
    "MemoriesResponse",
    "MemoryFields",
    "MemoryPageResponse",
    "MemoryRequest",
    "MemoryResponse",
    "MoveRequest",
    "PrioritizeRequest",
    "ReadMemoryResponse",
    "ReasonRequest",
    "RememberManyRequest",
    "RememberRequest",
    "RememberedManyResponse",
    "RememberedResponse",
    "UpdateRequest",
]


class MemoryRequest(RequestBody):
    """The fields of a memory to store."""

    content: Text
    kind: AnyKind = "fact"
    tags: Labels = []
    tier: TierName | None = None
    priority: PriorityName = "normal"
    ttl_minutes: Minutes | None = None
    expires_at: Moment | None = None
    metadata: Json | None = None
    source: Label = "api"
    supersedes: MemoryId | None = None
    key: Key | None = Field(default=None, description="Your own name for it, unique in the scope.")
    index: bool = Field(default=True, description="Whether to make vectors of it.")
    version: Count | None = Field(
        default=None, description="The version that the memory with the key must have; 0 if there must be none."
    )

    @property
    def may_conflict(self) -> bool:
        """Whether valid values can be refused: an expiry that has passed or is given twice, a version without a key."""
        return self.expires_at is not None or self.version is not None

    def arguments(self) -> Json:
        """Return the arguments of `remember`."""
        values = self.model_dump(exclude={"ttl_minutes"})
        return {**values, "ttl": None if self.ttl_minutes is None else self.ttl_minutes * 60}


class RememberRequest(MemoryRequest):
    """A memory to store."""

    session: SessionName | None = None

    def arguments(self) -> Json:
        """Return the arguments of `remember`."""
        return {name: value for name, value in super().arguments().items() if name != "session"}


class RememberManyRequest(RequestBody):
    """Memories to store, and ids of memories to delete in the same transaction: all, or nothing."""

    memories: Annotated[list[MemoryRequest], Field(max_length=1000)]
    forget: Annotated[list[MemoryId], Field(max_length=1000)] = []
    why: Reason = ""


class CaptureRequest(RequestBody):
    """Text of a conversation to store."""

    content: Text
    kind: AnyKind = "message"
    tags: Labels = []
    metadata: Json | None = None
    source: Label = "capture"
    session: SessionName | None = None


class UpdateRequest(RequestBody):
    """The fields of a memory to change."""

    content: Text | None = None
    kind: AnyKind | None = None
    tags: Labels | None = None
    metadata: Json | None = None
    ttl_minutes: Minutes | None = None
    expires_at: Moment | None = None
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


class MemoryFields(BaseModel):
    """What every interface shows of a memory."""

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
    verified_at: str | None
    expires_at: str | None
    supersedes: str | None
    index: bool
    version: int


class MemoryResponse(MemoryFields):
    """A memory."""

    last_used_at: str | None
    use_weight: float
    recent_uses: float
    tier_since: str
    tier_rule: str
    retention_since: str


class CapturedResponse(BaseModel):
    """Whether a text was stored, and why or why not."""

    status: Literal["stored", "duplicate", "skipped"]
    memory: MemoryResponse | None
    why: str
    removed_chars: int


class IdResponse(BaseModel):
    """The id of a memory."""

    id: str


class RememberedResponse(MemoryResponse):
    """A memory that was stored."""

    warnings: list[str] = Field(description="Which secrets the content seems to contain.")


class ReadMemoryResponse(MemoryResponse):
    """A memory that was read by its id."""

    heat: float = Field(description="How much it is used, decayed since the last use.")
    decay: float = Field(description="1 at the time of the last use, halved after every half-life.")


class MemoriesResponse(BaseModel):
    """A list of memories."""

    memories: list[MemoryResponse]


class RememberedManyResponse(BaseModel):
    """The memories that were stored."""

    memories: list[RememberedResponse]


class KeysResponse(BaseModel):
    """Keys in order, or prefixes that end with a slash."""

    keys: list[str]


class MemoryPageResponse(MemoriesResponse):
    """A page of memories; `next_page` is null on the last one."""

    next_page: str | None
    #: Where the memories are, if the scope can see none.
    hint: str = ""


class CountResponse(BaseModel):
    """How many memories match."""

    count: int


class ChangedManyResponse(BaseModel):
    """How many memories were changed, or would be."""

    count: int
    dry_run: bool
    memories: list[MemoryResponse] = absent()
