"""The schemas of notes."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field

from memotherm.rest.schemas.fields import RequestBody, integer

__all__ = ["CurateRequest", "CuratedResponse"]


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
