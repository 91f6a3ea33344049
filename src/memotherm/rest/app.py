"""The ASGI application: routes, errors, gates and the OpenAPI document, over one memory."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.routing import BaseRoute, Match

from memotherm import Memotherm, __version__
from memotherm.errors import MemothermError
from memotherm.rest.bodies import Problem
from memotherm.rest.idempotency import Repetition
from memotherm.rest.middleware import App, Body, Hosts, KeyCheck, Rate, is_loopback
from memotherm.rest.observability import Counts, Watch
from memotherm.rest.problems import answer, status_of
from memotherm.rest.routes import router

__all__ = ["application"]

_log = logging.getLogger("memotherm.rest")

_DESCRIPTION = (
    "Tiered memory for AI agents: hot, warm and cold. Every answer is JSON; every error is "
    "application/problem+json with a stable `code`. A POST with an Idempotency-Key can be repeated safely."
)
_CODES = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
}
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")


def application(
    mem: Memotherm, *, host: str = "127.0.0.1", require_keys: bool = False, maintenance: bool = False
) -> App:
    """Return the server as an ASGI application.

    Args:
        mem: The memory; the caller closes it.
        host: The address that the server listens on, which decides by which names it may be called.
        require_keys: Whether a key is needed even while there is none.
        maintenance: Whether to run maintenance in the background, and to watch the notes.
    """
    inner = FastAPI(
        title="Memotherm",
        version=__version__,
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # Its own spans and logs quote the query and what was sent; `Watch` tells what may be told.
        telemetry={
            "tracing": False,
            "metrics": False,
            "logs": False,
            "operation_spans": False,
            "auto_configure": False,
        },
        lifespan=_lifespan(mem, background=maintenance),
    )
    inner.state.mem = mem
    inner.state.counts = Counts()
    inner.include_router(router)
    inner.state.mcp = _add_mcp(inner, mem)
    _add_errors(inner)
    inner.openapi = lambda: _document(inner)  # type: ignore[method-assign]
    return _gated(inner, mem, host, required=require_keys or not is_loopback(host))


def _gated(inner: FastAPI, mem: Memotherm, host: str, *, required: bool) -> App:
    """Put the gates before the application, the outermost last."""
    settings = mem.settings
    app: App = Repetition(inner, mem.key_value("replies"))
    app = Body(app, settings.server_body_bytes)
    app = Rate(app, settings.server_rate_per_minute)
    app = KeyCheck(app, mem, required=required)
    if settings.server_origins:
        app = CORSMiddleware(app, allow_origins=settings.server_origins, allow_methods=_METHODS, allow_headers=["*"])
    anywhere = not is_loopback(host) and not settings.server_hosts
    names = frozenset() if anywhere else frozenset({"localhost", "127.0.0.1", "::1", host, *settings.server_hosts})
    app = Hosts(app, names, frozenset(settings.server_origins))
    return Watch(app, inner.state.counts)


def _lifespan(mem: Memotherm, *, background: bool) -> Any:  # noqa: ANN401 - what FastAPI takes
    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            if app.state.mcp is not None:
                await stack.enter_async_context(app.state.mcp.session_manager.run())
            if background:
                stack.enter_context(mem.maintenance())
                if mem.settings.notes_root and mem.settings.watch_notes:
                    stack.enter_context(mem.notes(mem.settings.notes_root).watch())
            yield

    return running


def _add_mcp(app: FastAPI, mem: Memotherm) -> Any:  # noqa: ANN401 - an optional package's class
    """Serve MCP at /mcp where its package is installed; every request stands for itself."""
    try:
        from mcp.server.transport_security import TransportSecuritySettings

        from memotherm.mcp.server import build
    except ImportError:
        return None
    server = build(mem)
    # Host and Origin are checked by our own gate, for all routes alike.
    trusted = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    beside = server.streamable_http_app(stateless_http=True, json_response=True, transport_security=trusted)
    app.router.routes.extend(beside.routes)
    return server


# Errors


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(MemothermError)
    def ours(request: Request, error: MemothermError) -> Response:  # noqa: ARG001
        return _response(status_of(error), error.code, str(error))

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> Response:  # noqa: ARG001
        found = [{"where": ".".join(map(str, each["loc"])), "what": each["msg"]} for each in error.errors()][:20]
        detail = "; ".join(f"{each['where']}: {each['what']}" for each in found[:3])
        return _response(422, "invalid_input", detail, errors=found)

    @app.exception_handler(HTTPException)
    def refused(request: Request, error: HTTPException) -> Response:
        headers = {name.lower(): value for name, value in (error.headers or {}).items()}
        if error.status_code == 405:
            headers["allow"] = ", ".join(_allowed(request.app.router.routes, request.scope))
        return _response(error.status_code, _CODES.get(error.status_code, "error"), str(error.detail), headers)

    @app.exception_handler(Exception)
    def broken(request: Request, error: Exception) -> Response:  # noqa: ARG001
        _log.error("a request failed", exc_info=error)
        return _response(500, "error", "the server has failed at this request; its log says where")


def _response(status: int, code: str, detail: str, headers: dict[str, str] | None = None, **more: object) -> Response:
    _, lines, body = answer(status, code, detail, headers, **more)
    found = Response(body, status_code=status)
    found.raw_headers = lines
    return found


def _allowed(routes: list[BaseRoute], scope: Any) -> list[str]:  # noqa: ANN401
    """Return the methods that a path takes; Starlette names those of the first route only."""
    return [
        method
        for method in _METHODS
        if any(route.matches({**scope, "method": method})[0] is Match.FULL for route in routes)
    ]


# OpenAPI


def _document(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title,
            version=app.version,
            description=app.description,
            routes=app.routes,
            servers=[{"url": "/"}],
            license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        )
        parts = document.setdefault("components", {})
        parts.setdefault("schemas", {})["Problem"] = Problem.model_json_schema()
        parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"key": []}]
        app.openapi_schema = document
    return app.openapi_schema
