"""Health and metrics of the server."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from memotherm import __version__
from memotherm.rest.observability import RequestMetrics
from memotherm.rest.routes.declaring import route
from memotherm.rest.routes.parameters import View
from memotherm.rest.schemas.server import HealthResponse

__all__ = ["router"]

Json = dict[str, Any]

router = APIRouter(tags=["server"])


@route(router, "health", response_model=HealthResponse, openapi_extra={"security": []})
def health(request: Request) -> Json:
    """Return 200 if the server and its store work; of a distributed store, also which nodes are missing.

    Without a node, the tenants of the other nodes are served.
    """
    missing = request.app.state.mem.missing_nodes()
    if not missing:
        request.app.state.mem.status()
    return {"status": "degraded" if missing else "ok", "version": __version__, "missing_nodes": list(missing)}


@route(
    router,
    "metrics",
    response_class=Response,
    responses={200: {"description": "Prometheus metrics.", "content": {"text/plain": {"schema": {"type": "string"}}}}},
)
def metrics_page(view: View, request: Request) -> Response:
    """Return the metrics of the server and of the memories visible with this key, for Prometheus."""
    metrics: RequestMetrics = request.app.state.metrics
    return Response(metrics.page(view), media_type="text/plain; version=0.0.4; charset=utf-8")
