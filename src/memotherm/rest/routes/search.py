"""Search memories, and assemble contexts."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from memotherm import tools
from memotherm.errors import NotFound
from memotherm.model.reports import KeptEntry
from memotherm.rest.routes.declaring import route
from memotherm.rest.routes.parameters import MemoryId, View, in_session
from memotherm.rest.routes.responses import apply, context_response, recall_response
from memotherm.rest.schemas.filters import raw_where
from memotherm.rest.schemas.search import (
    ContextRequest,
    ContextResponse,
    FeedbackRequest,
    FeedbackResponse,
    QueryRequest,
    QueryResponse,
    RecallRequest,
    RecallResponse,
    ReceiptAnswerResponse,
    ReceiptPageResponse,
    TitledReceiptResponse,
)
from memotherm.text.content import title
from memotherm.tools import serializers

__all__ = ["router"]

Json = dict[str, Any]

router = APIRouter(tags=["search"])

ReceiptNumber = Annotated[int, Path(ge=1, le=2**62)]


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
    found = in_session(view, body.session).context(**body.arguments())
    return context_response(found, memories=body.memories, parts=body.parts)


@route(router, "feedback", response_model=FeedbackResponse)
def feedback(view: View, body: FeedbackRequest) -> Json:
    """Say which memories of a recall were of use, so that tiers follow what helps, not what is shown."""
    verb = in_session(view, body.session).feedback
    return serializers.feedback_json(apply(verb, body.recall_id, body.used, body.answer, body.at))


@route(router, "receipts", response_model=ReceiptPageResponse)
def receipts(
    view: View,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    page: Annotated[str | None, Query(pattern=r"^before-[0-9]{1,18}$")] = None,
) -> Json:
    """Return what contexts have injected inside the scope, and why, newest first, a page at a time."""
    found = view.receipts(limit=limit, cursor=page)
    return {"receipts": [receipt.as_dict() for receipt in found], "next_page": found.cursor}


@route(router, "receipt", response_model=TitledReceiptResponse)
def receipt(view: View, number: ReceiptNumber) -> Json:
    """Return what a context has injected and left out, and why, with the titles that the memories have now."""
    found = view.receipt(number)
    own = dict(view.scope.items())
    inner = view.scoped(**{name: value for name, value in found.scope.items() if name not in own})

    def titled(entry: KeptEntry) -> Json:
        try:
            memory = inner.get(entry.id)
        except NotFound:
            return {**entry.as_dict(), "title": None, "tier": None}
        return {**entry.as_dict(), "title": title(memory.content), "tier": str(memory.tier)}

    sections = {"included": found.included, "left_out": found.left_out}
    return {**found.as_dict(), **{name: [titled(entry) for entry in entries] for name, entries in sections.items()}}


@route(router, "explain_receipt", response_model=ReceiptAnswerResponse)
def explain_receipt(view: View, number: ReceiptNumber, memory_id: MemoryId) -> Json:
    """Return whether a memory was in the context of a receipt, and why."""
    return view.explain_receipt(number, memory_id).as_dict()
