"""Health and metrics of the server, and the stream of events."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import StreamingResponse
from typing_extensions import TypedDict

from memotherm import __version__
from memotherm.rest.dependencies import ABSENT, View
from memotherm.rest.event_stream import event_stream
from memotherm.rest.observability import RequestMetrics
from memotherm.rest.problems import PROBLEMS

__all__ = ["router"]

router = APIRouter(tags=["server"], responses=PROBLEMS)


class Health(TypedDict):
    """The state of the server; the nodes are those of a distributed store that do not answer."""

    status: str
    version: str
    missing_nodes: list[str]


@router.get("/health", operation_id="health", openapi_extra={"security": []})
def health(request: Request) -> Health:
    """Return 200 if the server and its store work; of a distributed store, also which nodes are missing.

    Without a node, the tenants of the other nodes are served.
    """
    missing = request.app.state.mem.missing_nodes()
    if not missing:
        request.app.state.mem.status()
    return Health(status="degraded" if missing else "ok", version=__version__, missing_nodes=list(missing))


@router.get(
    "/metrics",
    operation_id="metrics_page",
    response_class=Response,
    responses={200: {"description": "Prometheus metrics.", "content": {"text/plain": {"schema": {"type": "string"}}}}},
)
def metrics_page(view: View, request: Request) -> Response:
    """Return the metrics of the server and of the memories visible with this key, for Prometheus."""
    metrics: RequestMetrics = request.app.state.metrics
    return Response(metrics.page(view), media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get(
    "/events/stream",
    operation_id="stream_events",
    response_class=StreamingResponse,
    responses={200: {"description": "Server-sent events.", "content": {"text/event-stream": {}}}},
)
async def stream_events(
    view: View,
    request: Request,
    last_event_id: Annotated[str, Header(pattern="^[0-9]{1,18}$")] = ABSENT,
    inside: Annotated[
        bool, Query(description="Everything at and below the scope, instead of what it can see.")
    ] = False,
) -> StreamingResponse:
    """Send the events of all visible memories as they are recorded, from now or after Last-Event-ID."""
    after = int(last_event_id) if last_event_id else None
    stream = event_stream(view, after, request.app.state.stopping, inside=inside)
    return StreamingResponse(stream, media_type="text/event-stream", headers={"cache-control": "no-store"})
