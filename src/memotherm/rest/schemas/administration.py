"""The schemas of compaction, maintenance and status."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from memotherm.rest.schemas.fields import Json, RequestBody, RetentionName, TierName

__all__ = [
    "CompactRequest",
    "CompactionResponse",
    "EraseRequest",
    "ErasedResponse",
    "MaintenanceResponse",
    "MoveResponse",
    "ScopeResponse",
    "ScopesResponse",
    "StatusResponse",
    "TierHistoryResponse",
]


class CompactRequest(RequestBody):
    """The options of a compaction."""

    dry_run: bool = False


class EraseRequest(RequestBody):
    """The confirmation of an erasure."""

    confirm: str = Field(max_length=2000, description="The scope to erase, such as `tenant=acme user=ana`.")


class ErasedResponse(BaseModel):
    """What was erased at and below a scope."""

    scope: dict[str, str]
    memories: int
    with_vectors: int
    with_words: int
    recalls: int
    receipts: int
    sessions: int
    notes: int
    folders: list[str]
    tombstones: int
    jobs: int


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
    #: The hash of the adopted policy that the rule belongs to.
    policy: str | None = None


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
    ended: int
    embedded: int
    degraded: list[str]


class ScopeResponse(BaseModel):
    """What is stored in exactly one scope; `hidden` counts archived and deleted memories."""

    scope: dict[str, str]
    memories: int
    tokens: int
    hot: Json
    warm: Json
    cold: Json
    hidden: int


class ScopesResponse(BaseModel):
    """The scopes at and below the scope of the request that hold memories."""

    scopes: list[ScopeResponse]


class TierPointResponse(BaseModel):
    """How many active memories each tier had at a moment."""

    at: str
    hot: int
    warm: int
    cold: int


class TierHistoryResponse(BaseModel):
    """The tiers at moments in ascending order."""

    points: list[TierPointResponse]


class StatusResponse(BaseModel):
    """How much is stored, and how it can be searched."""

    model_config = ConfigDict(extra="allow")

    scope: dict[str, str]
    hot: Json
    warm: Json
    cold: Json
    retention: dict[str, int]
    embedder: str
    #: The name and hash of the adopted policy; empty for the built-in rules.
    policy: str
    degraded: list[str]
    hot_limit: int = Field(description="The most hot tokens of a scope, by the setting hot_max_tokens.")
    session_hot_limit: int = Field(description="The most hot tokens of a session, by the setting hot_token_limit.")
    pending_vectors: int = Field(description="Memories that wait for their vectors.")
    metrics: dict[str, float]
    measured: Json = Field(description="All metrics under the names of the Python API.")
