"""Read the ledger, and undo its events."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from memotherm.rest.event_stream import event_stream
from memotherm.rest.idempotency import once
from memotherm.rest.routes.declaring import route
from memotherm.rest.routes.parameters import ABSENT, Inside, View
from memotherm.rest.routes.responses import apply, memory_response
from memotherm.rest.schemas.events import EventPageResponse
from memotherm.rest.schemas.memories import MemoryResponse
from memotherm.tools import serializers

__all__ = ["router"]

Json = dict[str, Any]

router = APIRouter(tags=["administration"])


@route(router, "events", response_model=EventPageResponse)
def events(
    view: View,
    order: Annotated[Literal["newest", "oldest"], Query(description="The order, if no page is given.")] = "newest",
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    page: Annotated[
        str | None, Query(pattern=r"^(before|after)-[0-9]{1,18}$", description="`after-N`: the events after event N.")
    ] = None,
    inside: Inside = False,
) -> Json:
    """Return the events of all visible memories, a page at a time."""
    ledger = view.events(limit, page, order == "oldest", inside)
    return {"events": [serializers.event_json(event) for event in ledger], "next_page": ledger.cursor}


@route(
    router,
    "stream_events",
    response_class=StreamingResponse,
    responses={200: {"description": "Server-sent events.", "content": {"text/event-stream": {}}}},
)
async def stream_events(
    view: View,
    request: Request,
    last_event_id: Annotated[str, Header(pattern="^[0-9]{1,18}$")] = ABSENT,
    inside: Inside = False,
) -> StreamingResponse:
    """Send the events of all visible memories as they are recorded, from now or after Last-Event-ID."""
    after = int(last_event_id) if last_event_id else None
    stream = event_stream(view, after, request.app.state.stopping, inside=inside)
    return StreamingResponse(stream, media_type="text/event-stream", headers={"cache-control": "no-store"})


@route(router, "undo", response_model=MemoryResponse)
@once
def undo(view: View, event_seq: Annotated[int, Path(ge=1, le=2**62)], response: Response) -> Json:
    """Undo an event of the ledger, unless later events depend on it."""
    return memory_response(apply(view.undo, event_seq), response)
