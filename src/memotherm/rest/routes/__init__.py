"""The request handlers, one module per subject: each makes one call of the facade."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from memotherm.rest.problems import PROBLEM_TYPE
from memotherm.rest.routes import (
    administration,
    events,
    health,
    jobs,
    logins,
    memories,
    notes,
    policies,
    search,
    server,
    sessions,
)

__all__ = ["router"]

_PROBLEM = {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemResponse"}}}
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "The request cannot be served; `code` and `detail` say why.", "content": _PROBLEM},
    "5XX": {"description": "The server or its store has a problem.", "content": _PROBLEM},
}

router = APIRouter(responses=_PROBLEMS)
for subject in (memories, search, sessions, notes, administration, policies, jobs, health, events, logins, server):
    router.include_router(subject.router)
