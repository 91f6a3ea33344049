"""What can be seen of a running server: a name for each request, a line of log, counts, and a span.

No content, no query and no key is ever logged, counted or traced.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from memotherm import Memotherm, __version__
from memotherm.rest.middleware import App, Message, Receive, Scope, Send, header

__all__ = ["Counts", "JsonLines", "Watch", "log_to_stderr"]

_log = logging.getLogger("memotherm.rest")

_REQUEST_ID = re.compile(r"[A-Za-z0-9_.:-]{1,100}")
#: What OpenTelemetry calls the operations of a memory.
_OPERATIONS = {
    "remember": "create_memory",
    "remember_many": "create_memory",
    "recall": "search_memory",
    "query": "search_memory",
    "context": "search_memory",
    "change": "update_memory",
    "move": "update_memory",
    "forget": "delete_memory",
}


class JsonLines(logging.Formatter):
    """One JSON object for each line of log."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {
            "at": at,
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        line |= getattr(record, "fields", {})
        if record.exc_info and record.exc_info[0] is not None:
            # The message of an exception may quote what was sent; its kind and place do not.
            line["error"] = record.exc_info[0].__name__
            line["where"] = _where(record)
        return json.dumps(line, ensure_ascii=False)


def _where(record: logging.LogRecord) -> list[str]:
    found, trace = [], record.exc_info[2] if record.exc_info else None
    while trace is not None:
        found.append(f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}")
        trace = trace.tb_next
    return found[-5:]


def log_to_stderr(level: str) -> None:
    """Let the whole program log JSON lines to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "mcp"):
        logger = logging.getLogger(name)
        logger.handlers[:] = []
        logger.propagate = True
    # Its lines would have the query string; ours have the route.
    logging.getLogger("uvicorn.access").disabled = True
    # Below a warning it quotes what was sent.
    logging.getLogger("mcp").setLevel(logging.WARNING)


class Counts:
    """What Prometheus is told: requests of this process, and what the store holds."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "memotherm_http_requests", "Requests by route and status.", ["method", "route", "status"],
            registry=self._registry,
        )  # fmt: skip
        self._seconds = Histogram(
            "memotherm_http_request_duration_seconds", "How long requests took.", ["route"], registry=self._registry
        )

    def add(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def page(self, mem: Memotherm) -> bytes:
        """Return all metrics, those of the store as one tenant sees them."""
        of_store = CollectorRegistry()
        of_store.register(_OfStore(mem))
        return generate_latest(self._registry) + generate_latest(of_store)


class _OfStore(Collector):
    """The metrics of a store, read when they are asked for."""

    def __init__(self, mem: Memotherm) -> None:
        self._mem = mem

    def collect(self) -> Iterator[Metric]:
        """Yield what the tiers hold, and how they work out."""
        status, metrics = self._mem.status(inside=True), self._mem.metrics()
        info = GaugeMetricFamily("memotherm_build_info", "The version.", labels=["version"])
        info.add_metric([__version__], 1)
        yield info
        memories = GaugeMetricFamily("memotherm_memories", "Active memories by tier.", labels=["tier"])
        tokens = GaugeMetricFamily("memotherm_memory_tokens", "Tokens of active memories by tier.", labels=["tier"])
        for tier, count in status.tiers.items():
            memories.add_metric([str(tier)], count.memories)
            tokens.add_metric([str(tier)], count.tokens)
        yield from (memories, tokens)
        gauges = (
            ("store_size_bytes", "Size of the store.", status.bytes),
            ("pending_vectors", "Memories without vectors.", status.pending_vectors),
            ("hot_utilization_ratio", "Use of the hot limit.", metrics.hot_utilization),
            ("hit_rate_ratio", "Recalls that found something.", metrics.hit_rate),
        )
        for name, text, value in gauges:
            yield GaugeMetricFamily(f"memotherm_{name}", text, value=value)
        counters = (
            ("recalls", "Recalls.", metrics.recall_count),
            ("spills", "Memories spilled by sessions.", metrics.spill_count),
            ("promotions", "Memories promoted by recalls.", metrics.promotion_count),
        )
        for name, text, times in counters:
            yield CounterMetricFamily(f"memotherm_{name}", text, value=times)
        moves = CounterMetricFamily("memotherm_tier_moves", "Moves by rule.", labels=["rule"])
        for rule, times in metrics.moves.items():
            moves.add_metric([rule], times)
        yield moves


class Watch:
    """Gives each request a name, and tells what became of it."""

    def __init__(self, app: App, counts: Counts) -> None:
        self._app = app
        self._counts = counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        given = header(scope, "x-request-id") or ""
        name = given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
        started, status = time.perf_counter(), 500

        async def named(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                safe = (b"x-content-type-options", b"nosniff")
                message = {**message, "headers": [*message["headers"], (b"x-request-id", name.encode()), safe]}
            await send(message)

        with _span(scope) as span:
            try:
                await self._app(scope, receive, named)
            finally:
                route = _route(scope)
                seconds = time.perf_counter() - started
                self._counts.add(_method(scope), route, status, seconds)
                _finish(span, scope, route, status)
                _tell(scope, name, route, status, seconds)
        return None


def _method(scope: Scope) -> str:
    """Return a method as a label; strange ones share one, so that nobody can make labels without end."""
    return scope["method"] if scope["method"] in ("GET", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS") else "other"


def _route(scope: Scope) -> str:
    found = getattr(scope.get("route"), "path", None)
    return str(found) if found else "unmatched"


def _tell(scope: Scope, name: str, route: str, status: int, seconds: float) -> None:
    key = scope.get("memotherm.key")
    fields = {
        "request_id": name,
        "method": _method(scope),
        "route": route,
        "status": status,
        "ms": round(seconds * 1000, 1),
        "key": None if key is None else key.name,
    }
    _log.info("request", extra={"fields": fields})


@contextmanager
def _span(scope: Scope) -> Iterator[Any]:
    """Open a span where OpenTelemetry is installed; None elsewhere."""
    try:
        from opentelemetry import propagate, trace
    except ImportError:
        yield None
        return
    carrier = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
    tracer = trace.get_tracer("memotherm", __version__)
    with tracer.start_as_current_span(
        _method(scope), context=propagate.extract(carrier), kind=trace.SpanKind.SERVER
    ) as span:
        yield span


def _finish(span: Any, scope: Scope, route: str, status: int) -> None:  # noqa: ANN401 - an optional package's class
    if span is None:
        return
    span.update_name(f"{_method(scope)} {route}")
    span.set_attribute("http.request.method", _method(scope))
    span.set_attribute("http.route", route)
    span.set_attribute("http.response.status_code", status)
    operation = _OPERATIONS.get(str(getattr(scope.get("route"), "operation_id", "")))
    if operation:
        span.set_attribute("gen_ai.operation.name", operation)
    if status >= 500:
        span.set_attribute("error.type", str(status))
