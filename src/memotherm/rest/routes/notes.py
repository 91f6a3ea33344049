"""Search, read and curate the notes of the server."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from memotherm import Memotherm, tools
from memotherm.errors import NotFound
from memotherm.notes import NoteHit, Notes
from memotherm.rest.routes.declaring import route
from memotherm.rest.routes.parameters import View
from memotherm.rest.schemas.notes import (
    CuratedResponse,
    CurateRequest,
    NoteResultsResponse,
    NoteSearchRequest,
    NoteTextResponse,
)
from memotherm.tools import serializers

__all__ = ["router"]

router = APIRouter(tags=["notes"])


@route(router, "search_notes", response_model=NoteResultsResponse)
def search_notes(view: View, body: NoteSearchRequest) -> dict[str, Any]:
    """Return the lines of notes that match a query, best first; 404 if the server has no notes."""
    found = _notes(view).search(**body.model_dump(exclude_none=True))
    shown = serializers.note_results_json(found)
    return {**shown, "results": [{**hit, **_details(of)} for hit, of in zip(shown["results"], found, strict=True)]}


@route(router, "read_note", response_model=NoteTextResponse)
def read_note(
    view: View,
    path: Annotated[str, Query(min_length=1, max_length=1000, description="The note, or a citation of its lines.")],
    from_line: Annotated[int, Query(ge=1, le=1_000_000_000)] = 1,
    lines: Annotated[int | None, Query(ge=1, le=100_000)] = None,
) -> dict[str, Any]:
    """Return lines of a note exactly as they are; an empty text for a note that does not exist."""
    return serializers.note_text_json(_notes(view).get(path, from_line, lines))


@route(router, "curate", response_model=CuratedResponse)
def curate(view: View, body: CurateRequest) -> dict[str, Any]:
    """Copy lines of a daily note to MEMORY.md, except those that it has; 404 if the server has no notes."""
    curated = tools.memory_curate(view, body.path, body.from_line, body.lines, body.dry_run)
    return {
        "source": curated["source"],
        "path": curated["path"],
        "lines": curated["lines"],
        "start_line": curated["startLine"],
        "end_line": curated["endLine"],
        "dry_run": curated["dryRun"],
    }


def _notes(view: Memotherm) -> Notes:
    if not view.settings.notes_root:
        raise NotFound("this server has no notes: set notes_root to their folder")
    return view.notes()


def _details(hit: NoteHit) -> dict[str, Any]:
    """Return what agents do not need to know about a hit."""
    return {"heading": hit.heading, "memory_id": hit.memory_id, "tier": str(hit.tier), "parts": hit.why.as_dict()}
