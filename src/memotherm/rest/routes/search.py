"""Search memories, and assemble contexts."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from memotherm import tools
from memotherm.rest.routes.parameters import View
from memotherm.rest.routes.responses import apply, context_response, recall_response
from memotherm.rest.schemas.filters import raw_where
from memotherm.rest.schemas.search import (
    ContextRequest,
    ContextResponse,
    QueryRequest,
    QueryResponse,
    RecallRequest,
    RecallResponse,
)

__all__ = ["router"]

Json = dict[str, Any]

router = APIRouter(tags=["search"])


@router.post("/recall", operation_id="recall", response_model=RecallResponse)
def recall(view: View, body: RecallRequest) -> Json:
    """Return the memories that match a query, best first; from hot and warm unless `tiers` gives others."""
    recall = apply(view.recall, **{**body.model_dump(), "where": raw_where(body)})
    return recall_response(recall, body.limit)


@router.post("/memory/query", operation_id="query", response_model=QueryResponse)
def query(view: View, body: QueryRequest) -> Json:
    """Return the memories that match a query, from all tiers or one; warm and cold memories score less."""
    return tools.query(view, body.model_dump(exclude_none=True))


@router.post("/context", operation_id="context", response_model=ContextResponse)
def context(view: View, body: ContextRequest) -> Json:
    """Return pinned, hot and recalled memories within a token budget, with a receipt."""
    return context_response(view.context(**body.model_dump()))
