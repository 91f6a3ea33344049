"""Curate the notes of the server."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from memotherm import tools
from memotherm.rest.routes.parameters import View
from memotherm.rest.schemas.notes import CuratedResponse, CurateRequest

__all__ = ["router"]

router = APIRouter(tags=["notes"])


@router.post("/notes/curate", operation_id="curate", response_model=CuratedResponse)
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
