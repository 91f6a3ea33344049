"""Status, compaction and maintenance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fastapi import APIRouter
from starlette.exceptions import HTTPException

from memotherm.hooks.erasing import erase_jobs
from memotherm.hooks.worker import user_spool
from memotherm.rest.idempotency import once
from memotherm.rest.routes.parameters import Inside, View
from memotherm.rest.routes.responses import compaction_response
from memotherm.rest.schemas.administration import (
    CompactionResponse,
    CompactRequest,
    ErasedResponse,
    EraseRequest,
    MaintenanceResponse,
    ScopesResponse,
    StatusResponse,
)
from memotherm.tools import serializers

__all__ = ["router"]

Json = dict[str, Any]

router = APIRouter(tags=["administration"])


@router.get("/status", operation_id="status", response_model=StatusResponse)
def status(view: View, inside: Inside = False) -> Json:
    """Return how much is stored, and how it can be searched."""
    found = {**serializers.status_json(view.status(inside=inside)), "metrics": serializers.metrics_json(view.metrics())}
    return {key: value for key, value in found.items() if key != "store"}


@router.get("/scopes", operation_id="scopes", response_model=ScopesResponse)
def scopes(view: View) -> Json:
    """Return the scopes at and below the scope of the request that hold memories, with counts and tokens."""
    return {"scopes": [serializers.scope_count_json(count) for count in view.scopes()]}


@router.post("/compact", operation_id="compact", response_model=CompactionResponse)
@once
def compact(view: View, body: CompactRequest | None = None) -> Json:
    """Run the tier rules once."""
    return compaction_response(view.compact(dry_run=body is not None and body.dry_run))


@router.post("/maintain", operation_id="maintain", response_model=MaintenanceResponse)
@once
def maintain(view: View) -> Json:
    """Run maintenance: expiry, retention and cooling."""
    run = view.maintain()
    return {
        "moves": [serializers.move_json(move) for move in run.moves],
        "expired": run.expired,
        "archived": run.archived,
        "deleted": run.deleted,
        "purged": run.purged,
        "ended": run.ended,
        "embedded": run.embedded,
        "degraded": list(run.degraded),
    }


@router.post("/erase", operation_id="erase", response_model=ErasedResponse)
def erase(view: View, body: EraseRequest) -> Json:
    """Erase everything at and below the scope of the request permanently; `confirm` repeats the scope."""
    if not view.scope.items() or body.confirm != str(view.scope):
        raise HTTPException(409, f"confirm must be {str(view.scope)!r}, a scope with a field: nothing was erased")
    jobs = erase_jobs(user_spool(), view.status().store, view.scope)
    return serializers.erased_json(replace(view.erase(), jobs=jobs))
