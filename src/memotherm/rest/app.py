"""The ASGI application: routes, error handlers, middleware and the OpenAPI document."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache
from http import HTTPStatus
from typing import Any

import anyio
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from pydantic_core import to_json as encoded
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from memotherm import Memotherm, __version__, dashboard
from memotherm.errors import MemothermError
from memotherm.rest.derived import SCHEMAS, SlowWork
from memotherm.rest.logins import Logins
from memotherm.rest.middleware import App, Checked, Checks, is_loopback
from memotherm.rest.observability import RequestLog, RequestMetrics
from memotherm.rest.problems import PROBLEM_SCHEMA, error_response, problem_response
from memotherm.rest.routes import router
from memotherm.rest.turns import Turns

_log = logging.getLogger("memotherm.rest")

_DESCRIPTION = (
    "Tiered memory for AI agents: hot, warm and cold. Every response is JSON; every error is "
    "application/problem+json with a stable `code`. A POST with an Idempotency-Key can be repeated safely."
)
#: Responses of this size are compressed for clients that accept it; a higher level costs more time than it saves.
_COMPRESSED_BYTES = 2000
_COMPRESSION = 4
#: The most wrong keys from one address in a minute.
_FAILURES_PER_MINUTE = 20
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")


def application(
    mem: Memotherm,
    *,
    host: str = "127.0.0.1",
    require_keys: bool = False,
    monotonic: Callable[[], float] = time.monotonic,
    stopping: threading.Event | None = None,
    token: str | None = None,
    database: bool = False,
    workers: int = 1,
    closes: bool = False,
) -> App:
    """Return the server as an ASGI application.

    Args:
        mem: The memory.
        host: The address that the server listens on, which determines the accepted Host headers.
        require_keys: Whether a key is required even if the store has none.
        monotonic: The clock of the rate limits.
        stopping: Set when the server is about to stop, which ends the event streams.
        token: A one-time token that a browser can log in with; it then has the rights of this process.
        database: Whether the store is on a database server; other servers may use it.
        workers: The processes of the server; each allows its part of the requests.
        closes: Whether to close the memory when the server stops.
    """
    api = FastAPI(
        title="Memotherm",
        version=__version__,
        description=_DESCRIPTION,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # FastAPI's own spans and logs contain queries and bodies; `RequestLog` writes those without.
        telemetry={
            "tracing": False,
            "metrics": False,
            "logs": False,
            "operation_spans": False,
            "auto_configure": False,
        },
        lifespan=_lifespan(mem, closes=closes),
    )
    api.state.mem = mem
    api.state.metrics = RequestMetrics(several=workers > 1)
    api.state.slow = SlowWork()
    #: The thread of GET /health.
    api.state.monitor = anyio.CapacityLimiter(1)
    api.state.responses = mem.store.key_value("replies")
    api.state.stopping = stopping or threading.Event()
    api.state.logins = Logins(mem, token)
    api.router.routes.extend(dashboard.routes())
    api.state.mcp = _add_mcp(api, mem)
    # Last, because a request is compared with every route before its own: 10 microseconds each.
    # Not `include_router`, which analyses every route again for each application: 0.2 s at its first request.
    api.router.routes.extend(router.routes)
    _add_error_handlers(api)
    api.openapi = lambda: _document(api)  # type: ignore[method-assign]

    document = cache(lambda: encoded(api.openapi()))

    # FastAPI's own route would make the document on the event loop, which takes half a second.
    @api.get("/openapi.json", include_in_schema=False)
    def openapi() -> Response:
        return Response(document(), media_type="application/json")

    settings = mem.settings
    required = require_keys or not is_loopback(host)
    rate, failures = (-(-number // workers) for number in (settings.server_rate_per_minute, _FAILURES_PER_MINUTE))
    any_host = not is_loopback(host) and not settings.server_hosts
    hosts = () if any_host else ("localhost", "127.0.0.1", "::1", host, *settings.server_hosts)
    checks = Checks(
        mem, api.state.logins, hosts=hosts, origins=settings.server_origins, required=required, remote=database,
        failures_per_minute=failures, rate_per_minute=rate, monotonic=monotonic,
    )  # fmt: skip
    # The outermost last: CORS answers for requests whose key is not checked.
    app: App = Checked(Turns(api), checks.key, checks.rate, checks.body)
    if settings.server_origins:
        app = CORSMiddleware(app, allow_origins=settings.server_origins, allow_methods=_METHODS, allow_headers=["*"])
    app = Checked(app, checks.headers, checks.host)
    # Streams of events stay uncompressed: an event is sent when it is recorded.
    app = GZipMiddleware(app, minimum_size=_COMPRESSED_BYTES, compresslevel=_COMPRESSION)
    if settings.server_proxies:
        app = ProxyHeadersMiddleware(app, list(settings.server_proxies))  # type: ignore[arg-type,assignment]
    return RequestLog(app, api.state.metrics)


def _lifespan(mem: Memotherm, *, closes: bool) -> Any:  # noqa: ANN401 - the type of FastAPI's parameter
    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            if closes:
                stack.callback(mem.close)
            if app.state.mcp is not None:
                await stack.enter_async_context(app.state.mcp.session_manager.run())
            yield

    return running


def _add_mcp(app: FastAPI, mem: Memotherm) -> Any:  # noqa: ANN401 - an optional package's class
    """Serve MCP at /mcp, without sessions, if its package is installed."""
    try:
        from mcp.server.transport_security import TransportSecuritySettings

        from memotherm.mcp.server import build
    except ImportError:
        return None
    server = build(mem)
    # `Checks.host` checks Host and Origin for all routes.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    mcp_app = server.streamable_http_app(stateless_http=True, json_response=True, transport_security=security)
    app.router.routes.extend(mcp_app.routes)
    return server


# Errors


def _add_error_handlers(app: FastAPI) -> None:
    @app.exception_handler(MemothermError)
    def known(request: Request, error: MemothermError) -> Response:  # noqa: ARG001
        return error_response(error)

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> Response:  # noqa: ARG001
        errors = [{"where": ".".join(map(str, entry["loc"])), "what": _what(entry)} for entry in error.errors()][:20]
        detail = "; ".join(f"{entry['where']}: {entry['what']}" for entry in errors[:3])
        return problem_response(422, "invalid_input", detail, errors=errors)

    @app.exception_handler(HTTPException)
    def refused(request: Request, error: HTTPException) -> Response:
        headers = {name.lower(): value for name, value in (error.headers or {}).items()}
        if error.status_code == 405:
            headers["allow"] = ", ".join(_allowed(request.app.router.routes, request.scope))
        code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "_")
        return problem_response(error.status_code, code, str(error.detail), headers)

    @app.exception_handler(Exception)
    def unexpected(request: Request, error: Exception) -> Response:  # noqa: ARG001
        _log.error("a request failed", exc_info=error)
        return problem_response(500, "error", "the request failed: see the log of the server")


def _what(error: dict[str, Any]) -> str:
    """Return what is wrong with a value; a pattern of texts in words."""
    value = error.get("input")
    if error["type"] == "string_pattern_mismatch" and isinstance(value, str):
        if "\0" in value:
            return f"The text contains a NUL character at position {value.index(chr(0))}: remove it"
        if not value.strip():
            return "The text is empty or only white space: write at least one other character"
    return str(error["msg"])


def _allowed(routes: list[BaseRoute], scope: Any) -> list[str]:  # noqa: ANN401
    """Return the methods that a path accepts; Starlette returns those of the first route only."""
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
            routes=router.routes,
            servers=[{"url": "/"}],
            license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        )
        components = document.setdefault("components", {})
        components["schemas"] = components.get("schemas", {}) | SCHEMAS | {"ProblemResponse": PROBLEM_SCHEMA}
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"key": []}]
        app.openapi_schema = document
    return app.openapi_schema
