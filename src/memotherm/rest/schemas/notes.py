"""The schemas of notes."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field

from memotherm.rest.schemas.fields import Json, QueryText, RequestBody, Share, TierName, Tiers, absent, integer

__all__ = [
    "CurateRequest",
    "CuratedResponse",
    "NoteHitResponse",
    "NoteResultsResponse",
    "NoteSearchRequest",
    "NoteTextResponse",
]


class CurateRequest(RequestBody):
    """The lines of a note to copy to the curated note."""

    path: str = Field(min_length=1, max_length=1000, description="The note, or a citation of its lines.")
    from_line: Annotated[int, Field(ge=1, le=1_000_000_000), BeforeValidator(integer)] = 1
    lines: Annotated[int, Field(ge=1, le=100_000), BeforeValidator(integer)] | None = None
    dry_run: bool = False


class CuratedResponse(BaseModel):
    """The lines that the curated note did not have yet; the line numbers are 0 if nothing was written."""

    source: str
    path: str
    lines: list[str]
    start_line: int
    end_line: int
    dry_run: bool


class NoteSearchRequest(RequestBody):
    """A query over the notes."""

    query: QueryText
    max_results: Annotated[int, Field(ge=0, le=100), BeforeValidator(integer)] = 6
    min_score: Share = 0.35
    tiers: Tiers = ["hot", "warm", "cold"]
    chat: Annotated[
        str, Field(max_length=100, description="direct, group or channel: whether citations are shown.")
    ] = absent()
    decay: Annotated[bool, Field(description="Whether older dated notes score less.")] = absent()
    diversity: Annotated[bool, Field(description="Whether repetitions are dropped.")] = absent()
    track: bool = Field(True, description="Whether to count this as a use.")


class NoteHitResponse(BaseModel):
    """Lines of a note that match a query."""

    path: str
    startLine: int  # noqa: N815 - the names that agents know
    endLine: int  # noqa: N815
    score: float
    snippet: str
    source: str
    citation: str | None = None
    heading: str = Field(description="The headings above the first line.")
    memory_id: str
    tier: TierName
    parts: Json = Field(description="The parts of the score.")


class NoteResultsResponse(BaseModel):
    """The hits of a search of notes."""

    results: list[NoteHitResponse]
    citations: bool
    stale: bool
    degraded: list[str]


class NoteTextResponse(BaseModel):
    """Lines of a note as they are, and the line to continue at."""

    path: str
    text: str
    startLine: int  # noqa: N815
    endLine: int  # noqa: N815
    totalLines: int  # noqa: N815
    nextLine: int | None  # noqa: N815
    hint: str = Field(description="What is missing, and how to get it.")
