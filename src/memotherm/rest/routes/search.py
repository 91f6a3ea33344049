"""Search memories, and assemble contexts."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from memotherm import tools
from memotherm.rest.routes.declaring import route
from memotherm.rest.routes.parameters import MemoryId, View, in_session
from memotherm.rest.routes.responses import apply, context_response, recall_response
from memotherm.rest.schemas.filters import raw_where
from memotherm.rest.schemas.search import (
    ContextRequest,
    ContextResponse,
    QueryRequest,
    QueryResponse,
    RecallRequest,
    RecallResponse,
    ReceiptAnswerResponse,
    ReceiptPageResponse,
)

__all__ = ["router"]

Json = dict[str, Any]

router = APIRouter(tags=["search"])


@route(router, "recall", response_model=RecallResponse)
def recall(view: View, body: RecallRequest) -> Json:
    """Return the memories that match a query, best first; from hot and warm unless `tiers` gives others."""
    arguments = {**body.arguments(), "where": raw_where(body)}
    return recall_response(apply(in_session(view, body.session).recall, **arguments), body.limit)


@route(router, "query", response_model=QueryResponse)
def query(view: View, body: QueryRequest) -> Json:
    """Return the memories that match a query, from all tiers or one; warm and cold memories score less."""
    return tools.query(in_session(view, body.session), body.model_dump(exclude_none=True, exclude={"session"}))


@route(router, "context", response_model=ContextResponse)
def context(view: View, body: ContextRequest) -> Json:
    """Return pinned, hot and recalled memories within a token budget, with a receipt."""
    arguments = body.model_dump(exclude={"session", "memories"})
    return context_response(in_session(view, body.session).context(**arguments), memories=body.memories)


@route(router, "receipts", response_model=ReceiptPageResponse)
def receipts(
    view: View,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    page: Annotated[str | None, Query(pattern=r"^before-[0-9]{1,18}$")] = None,
) -> Json:
    """Return what contexts have injected inside the scope, and why, newest first, a page at a time."""
    found = view.receipts(limit=limit, cursor=page)
    return {"receipts": [receipt.as_dict() for receipt in found], "next_page": found.cursor}


@route(router, "explain_receipt", response_model=ReceiptAnswerResponse)
def explain_receipt(view: View, number: Annotated[int, Path(ge=1, le=2**62)], memory_id: MemoryId) -> Json:
    """Return whether a memory was in the context of a receipt, and why."""
    return view.explain_receipt(number, memory_id).as_dict()
