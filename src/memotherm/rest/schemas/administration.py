"""The schemas of compaction, maintenance and status."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from memotherm.rest.schemas.fields import Json, RequestBody, RetentionName, TierName

__all__ = [
    "CompactRequest",
    "CompactionResponse",
    "MaintenanceResponse",
    "MoveResponse",
    "ScopeResponse",
    "ScopesResponse",
    "StatusResponse",
]


class CompactRequest(RequestBody):
    """The options of a compaction."""

    dry_run: bool = False


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
    pending_vectors: int = Field(description="Memories that wait for their vectors.")
    metrics: dict[str, float]
    measured: Json = Field(description="All metrics under the names of the Python API.")
