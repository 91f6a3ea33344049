"""The schemas of recall, query and context."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from memotherm.rest.schemas.fields import (
    Budget,
    Format,
    Json,
    Kinds,
    Labels,
    Limit,
    QueryText,
    RequestBody,
    Share,
    TierName,
    Tiers,
    absent,
)
from memotherm.rest.schemas.memories import MemoryResponse

__all__ = [
    "ContextRequest",
    "ContextResponse",
    "HitResponse",
    "QueryFilters",
    "QueryRequest",
    "QueryResponse",
    "RecallRequest",
    "RecallResponse",
    "SearchResponse",
]


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

    tier: TierName = absent()
    tags: Labels = absent()
    kinds: Kinds = absent()
    types: Kinds = absent()

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
    tier: TierName = absent()
    limit: Limit = absent()
    k: Limit = absent()
    filters: QueryFilters = absent()
    track: bool = True

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


class HitResponse(MemoryResponse):
    """A hit: a memory with its score and the reasons."""

    score: float
    why: str


class SearchResponse(BaseModel):
    """What both kinds of search return besides the hits."""

    promoted: list[str] = Field(description="The memories that moved to hot.")
    pinned: list[str] = Field(description="The hits that are pinned; they do not count towards the limit.")
    relevanceScores: dict[str, float] = Field(description="The relevance of each hit, before boosts.")  # noqa: N815
    tiers: list[TierName] = Field(description="The tiers that were searched.")
    limit: int = Field(description="The limit that took effect.")
    confidence: float = Field(description="How likely the hits answer the query at all, 0 to 1.")
    degraded: list[str] = Field(description="What did not work, in plain words.")


class QueryResponse(SearchResponse):
    """The hits of a query."""

    results: list[HitResponse]


class RecallResponse(SearchResponse):
    """The hits of a recall."""

    items: list[HitResponse]


class ContextResponse(BaseModel):
    """A context, and the receipt that explains it."""

    text: str
    tokens: int
    receipt: Json
