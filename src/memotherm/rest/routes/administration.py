"""Status, compaction and maintenance."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.exceptions import HTTPException

from memotherm.remote import encoding
from memotherm.rest.idempotency import once
from memotherm.rest.routes.declaring import route
from memotherm.rest.routes.parameters import Inside, View
from memotherm.rest.routes.responses import apply, compaction_response
from memotherm.rest.schemas.administration import (
    CompactionResponse,
    CompactRequest,
    ErasedResponse,
    EraseRequest,
    MaintenanceResponse,
    ScopesResponse,
    StatusResponse,
    TierHistoryResponse,
)
from memotherm.rest.schemas.filters import Moment
from memotherm.rest.schemas.search import EverythingResponse
from memotherm.tools import serializers

__all__ = ["router"]

Json = dict[str, Any]

router = APIRouter(tags=["administration"])


@route(router, "status", response_model=StatusResponse)
def status(view: View, inside: Inside = False) -> Json:
    """Return how much is stored, and how it can be searched."""
    found, metrics = view.status(inside=inside), view.metrics()
    return {
        **{key: value for key, value in serializers.status_json(found).items() if key != "store"},
        "pending_vectors": found.pending_vectors,
        "hot_limit": view.settings.hot_max_tokens,
        "session_hot_limit": view.settings.hot_token_limit,
        "metrics": serializers.metrics_json(metrics),
        "measured": encoding.metrics_json(metrics),
    }


@route(router, "tier_history", response_model=TierHistoryResponse)
def tier_history(
    view: View,
    since: Annotated[Moment, Query(description="The first moment.")] = "30d",
    points: Annotated[int, Query(ge=2, le=1000, description="How many moments, at equal distances.")] = 60,
) -> Json:
    """Return how many active memories each tier had at and below the scope, from a moment until now."""
    return {"points": [serializers.tier_point_json(point) for point in apply(view.tier_history, since, points)]}


@route(router, "scopes", response_model=ScopesResponse)
def scopes(view: View) -> Json:
    """Return the scopes at and below the scope of the request that hold memories, with counts and tokens."""
    return {"scopes": [serializers.scope_count_json(count) for count in view.scopes()]}


@route(router, "everything", response_model=EverythingResponse)
def everything(view: View) -> Json:
    """Return all that is stored at and below the scope: memories of any retention, events, receipts, recall log."""
    stored = view.everything()
    return {
        "memories": [encoding.memory_json(memory) for memory in stored.memories],
        "events": [serializers.event_json(event) for event in stored.events],
        "receipts": [receipt.as_dict() for receipt in stored.receipts],
        "recalls": [serializers.logged_recall_json(recall) for recall in stored.recalls],
    }


@route(router, "compact", response_model=CompactionResponse)
@once
def compact(view: View, body: CompactRequest | None = None) -> Json:
    """Run the tier rules once."""
    return compaction_response(view.compact(dry_run=body is not None and body.dry_run))


@route(router, "maintain", response_model=MaintenanceResponse)
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


@route(router, "erase", response_model=ErasedResponse)
def erase(view: View, body: EraseRequest) -> Json:
    """Erase everything at and below the scope of the request permanently; `confirm` repeats the scope."""
    if not view.scope.items() or body.confirm != str(view.scope):
        raise HTTPException(409, f"confirm must be {str(view.scope)!r}, a scope with a field: nothing was erased")
    return serializers.erased_json(view.erase())
