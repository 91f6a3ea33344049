"""The schemas of recall, query and context."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from memotherm.errors import InvalidInput
from memotherm.rest.schemas.events import EventResponse
from memotherm.rest.schemas.fields import (
    Budget,
    Format,
    Json,
    Kinds,
    Labels,
    Limit,
    MemoryId,
    QueryText,
    RequestBody,
    SessionName,
    Share,
    TierName,
    Tiers,
    absent,
)
from memotherm.rest.schemas.filters import FilterRequest
from memotherm.rest.schemas.memories import MemoryFields, MemoryResponse

__all__ = [
    "ContextRequest",
    "ContextResponse",
    "EverythingResponse",
    "FeedbackRequest",
    "FeedbackResponse",
    "HitResponse",
    "KeptEntryResponse",
    "KeptReceiptResponse",
    "NeighboursResponse",
    "QueryFilters",
    "QueryHitResponse",
    "QueryRequest",
    "QueryResponse",
    "RecallRequest",
    "RecallResponse",
    "ReceiptAnswerResponse",
    "ReceiptPageResponse",
    "SearchResponse",
    "TitledReceiptResponse",
    "UsesResponse",
]


#: Moments that every calendar has, for the OpenAPI document.
_MOMENT = r"^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$"


#: An earlier time whose state answers.
AsOf = Annotated[
    str,
    Field(
        description="Answer from the state at an earlier time, such as `2026-01-31T12:00:00Z`.",
        json_schema_extra={"pattern": _MOMENT},
    ),
]


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(f"as_of: {text[:50]!r} is not a time such as 2026-01-31T12:00:00Z") from None
    if moment.utcoffset() is None:
        raise InvalidInput(f"as_of: {text[:50]!r} has no time zone: write 2026-01-31T12:00:00Z")
    return moment


class RecallRequest(FilterRequest):
    """A query and its filters; `inside` searches everything at and below the scope."""

    query: QueryText
    limit: Limit = 10
    tiers: Tiers = ["hot", "warm"]
    kinds: Kinds | None = None
    tags: Labels | None = None
    min_score: Share | None = None
    promote: bool = False
    track: bool = True
    inside: bool = False
    include_cold: bool = Field(False, description="Search cold as well as `tiers`.")
    session: SessionName | None = None
    retention: Literal["active", "archived", "deleted", "any"] = "active"
    as_of: AsOf | None = None

    def arguments(self) -> Json:
        """Return the arguments of `recall`."""
        tiers = [*self.tiers, "cold"] if self.include_cold and "cold" not in self.tiers else self.tiers
        return {**self.model_dump(exclude={"include_cold", "session"}), "tiers": tiers, "as_of": _moment(self.as_of)}


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
    session: SessionName | None = None

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
    session: SessionName | None = None
    memories: bool = Field(False, description="Whether to return the memories that were considered.")
    parts: bool = Field(False, description="Whether to return the text cut where memories begin and end.")
    as_of: AsOf | None = None

    def arguments(self) -> Json:
        """Return the arguments of `context`."""
        return {**self.model_dump(exclude={"session", "memories", "parts"}), "as_of": _moment(self.as_of)}


class QueryHitResponse(MemoryFields):
    """A hit of a query: a memory with its score and the reasons."""

    score: float
    why: str


class HitResponse(MemoryResponse):
    """A hit: a memory with its score and the reasons."""

    score: float
    why: str
    parts: Json = Field(description="The parts of the score.")


class SearchResponse(BaseModel):
    """What both kinds of search return besides the hits."""

    recall_id: str | None = Field(None, description="What `/feedback` takes; null if it is not in the recall log.")
    promoted: list[str] = Field(description="The memories that moved to hot.")
    pinned: list[str] = Field(description="The hits that are pinned; they do not count towards the limit.")
    relevanceScores: dict[str, float] = Field(description="The relevance of each hit, before boosts.")  # noqa: N815
    tiers: list[TierName] = Field(description="The tiers that were searched.")
    limit: int = Field(description="The limit that took effect.")
    confidence: float = Field(description="How likely the hits answer the query at all, 0 to 1.")
    degraded: list[str] = Field(description="What did not work, in plain words.")


class QueryResponse(SearchResponse):
    """The hits of a query."""

    results: list[QueryHitResponse]


class RecallResponse(SearchResponse):
    """The hits of a recall."""

    items: list[HitResponse]
    #: Where the memories are, if the scope can see none.
    hint: str = ""


class NeighboursResponse(BaseModel):
    """The memories that are most like one."""

    items: list[HitResponse]


class FeedbackRequest(RequestBody):
    """Which memories of a recall were of use; without `recall_id`, the last recalls of the scope are meant."""

    recall_id: str | None = Field(None, max_length=100)
    used: list[MemoryId] = Field([], max_length=1000, description="The memories that were used.")
    answer: str = Field("", max_length=100_000, description="What the agent answered; what it repeats is reflected.")
    at: str | None = Field(None, max_length=100, description="When that was, if not now: an ISO time, or `5m` (ago).")
    session: SessionName | None = None


class FeedbackResponse(BaseModel):
    """The uses that were counted; each counts once for a recall."""

    recall_id: str
    confirmed: list[str]
    reflected: list[str]


class KeptEntryResponse(BaseModel):
    """A memory that was included in a context or left out, and why."""

    id: str
    section: Literal["pinned", "hot", "recalled"]
    #: Null when it was left out.
    form: Literal["full", "shortened", "title"] | None
    tokens: int
    reason: str
    score: float | None


class KeptReceiptResponse(BaseModel):
    """What a context has injected, and the first memories of each section that it left out."""

    number: int
    at: str
    scope: dict[str, str]
    query: str | None
    budget: int
    tokens: int
    format: Format
    included: list[KeptEntryResponse]
    left_out: list[KeptEntryResponse]


class TitledEntryResponse(KeptEntryResponse):
    """A memory of a receipt as it is now; null if the scope of the receipt cannot see it any more."""

    title: str | None
    tier: TierName | None


class TitledReceiptResponse(KeptReceiptResponse):
    """What a context has injected and left out, with the titles of the memories."""

    included: list[TitledEntryResponse]  # type: ignore[assignment]
    left_out: list[TitledEntryResponse]  # type: ignore[assignment]


class ReceiptAnswerResponse(BaseModel):
    """Whether a memory was in the context of a receipt, and why."""

    receipt: int
    id: str
    state: Literal["included", "left_out", "not_considered"]
    reason: str


class ReceiptPageResponse(BaseModel):
    """A page of receipts; `next_page` is null on the last one."""

    receipts: list[KeptReceiptResponse]
    next_page: str | None


class ContextPartResponse(BaseModel):
    """A part of the text of a context: that of a memory, or what stands between two."""

    id: str | None
    text: str


class ContextResponse(BaseModel):
    """A context, and the receipt that explains it."""

    text: str
    tokens: int
    recall_id: str | None = Field(None, description="What `/feedback` takes; null if it is not in the recall log.")
    receipt: Json
    memories: list[MemoryResponse] = []
    parts: list[ContextPartResponse] = []


class LoggedRecallResponse(BaseModel):
    """A recall of the log."""

    at: str
    #: The query, or its hash; empty for uses without a query.
    query: str
    tiers: list[TierName]
    returned: int


class EverythingResponse(BaseModel):
    """All that is stored at and below a scope, each oldest first."""

    memories: list[MemoryResponse]
    events: list[EventResponse]
    receipts: list[KeptReceiptResponse]
    recalls: list[LoggedRecallResponse]


class UsesResponse(BaseModel):
    """Where a memory was returned and injected, each newest first."""

    recalls: list[LoggedRecallResponse]
    receipts: list[KeptReceiptResponse]
