"""Request ids, JSON logs and Prometheus metrics of the server.

Contents, queries and keys are never logged or counted.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
import sys
import time
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from math import isinf
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from memotherm import Memotherm, Tier, __version__
from memotherm.rest.middleware import App

_log = logging.getLogger("memotherm.rest")

#: The status of a request whose client has gone before the response.
_CLIENT_GONE = 499
_REQUEST_ID = re.compile(r"[A-Za-z0-9_.:-]{1,100}")
_METHODS = ("GET", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS")


class JsonFormatter(logging.Formatter):
    """Format each log record as one JSON object."""

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
            # The message of an exception may contain parts of the request; its class and location do not.
            line["error"] = record.exc_info[0].__name__
            frames = list(traceback.walk_tb(record.exc_info[2]))[-5:]
            line["where"] = [f"{frame.f_code.co_filename}:{number}" for frame, number in frames]
        return json.dumps(line, ensure_ascii=False)


def log_to_stderr(level: str) -> None:
    """Log JSON lines of the whole program to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "mcp"):
        logger = logging.getLogger(name)
        logger.handlers[:] = []
        logger.propagate = True
    # Its lines contain the query string; those of `RequestLog` the route.
    logging.getLogger("uvicorn.access").disabled = True
    # Below the level of warnings it logs parts of requests.
    logging.getLogger("mcp").setLevel(logging.WARNING)


class RequestMetrics:
    """Prometheus metrics of the requests of a server and of a store.

    Args:
        several: Whether the server has several processes, which keep their numbers in `PROMETHEUS_MULTIPROC_DIR`.
    """

    def __init__(self, *, several: bool) -> None:
        self._registry = CollectorRegistry()
        self._several = several
        self._requests = Counter(
            "memotherm_http_requests", "Requests by route and status.", ["method", "route", "status"],
            registry=self._registry,
        )  # fmt: skip
        self._seconds = Histogram(
            "memotherm_http_request_duration_seconds", "Duration of requests.", ["route"], registry=self._registry
        )

    def add(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def page(self, mem: Memotherm) -> bytes:
        """Return all metrics; those of the store as one tenant sees it."""
        store_registry = CollectorRegistry()
        store_registry.register(_StoreMetrics(mem))
        registry = self._registry
        if self._several:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry) + generate_latest(store_registry)


class _StoreMetrics(Collector):
    """The metrics of a store, read when they are collected."""

    def __init__(self, mem: Memotherm) -> None:
        self._mem = mem

    def collect(self) -> Iterator[Metric]:
        """Yield the sizes of the tiers, and how they are used."""
        status, metrics = self._mem.status(include_narrower=True), self._mem.metrics()
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
            ("hit_rate_ratio", "Share of recalls that found something relevant, 0 to 1.", metrics.hit_rate),
        )
        for name, description, share in gauges:
            yield GaugeMetricFamily(f"memotherm_{name}", description, value=share)
        yield self._hot_utilization()
        counters = (
            ("recalls", "Recalls.", metrics.recall_count),
            ("spills", "Operations that spilled memories of a session.", metrics.spill_count),
            ("promotions", "Memories moved to hot, by any rule or call.", metrics.promotion_count),
            ("log_entries_dropped", "Entries of the recall log lost while busy.", metrics.dropped_log_entries),
        )
        for name, description, number in counters:
            yield CounterMetricFamily(f"memotherm_{name}", description, value=number)
        moves = CounterMetricFamily("memotherm_tier_moves", "Moves by rule.", labels=["rule"])
        for rule, number in metrics.moves.items():
            moves.add_metric([rule], number)
        yield moves
        recalls = HistogramMetricFamily(
            "memotherm_recall_duration_seconds", "Duration of recalls, by whether they searched cold.", labels=["cold"]
        )
        for cold, durations in (("false", metrics.live_recalls), ("true", metrics.cold_recalls)):
            buckets = [("+Inf" if isinf(bound) else f"{bound / 1000:g}", count) for bound, count in durations.buckets]
            recalls.add_metric([cold], buckets, durations.total_ms / 1000)
        yield recalls

    def _hot_utilization(self) -> Metric:
        """Return how full hot is where it is fullest: in a session, and in a scope outside of sessions."""
        settings = self._mem.settings
        limits = {"session": settings.hot_token_limit, "scope": settings.hot_max_tokens}
        fullest = dict.fromkeys(limits, 0)
        for count in self._mem.inspect.scopes():
            kind = "scope" if count.scope.session is None else "session"
            fullest[kind] = max(fullest[kind], count.tiers[Tier.HOT].tokens)
        description = "Share of the hot limit that the fullest session or other scope uses; 1 is the limit."
        family = GaugeMetricFamily("memotherm_hot_utilization_ratio", description, labels=["fullest"])
        for kind, tokens in fullest.items():
            family.add_metric([kind], tokens / limits[kind] if limits[kind] else float(tokens > 0))
        return family


class RequestLog:
    """Give each request an id, and log and count it."""

    def __init__(self, app: App, metrics: RequestMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and record its result."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        sent_id = Headers(scope=scope).get("x-request-id", "")
        request_id = sent_id if _REQUEST_ID.fullmatch(sent_id) else secrets.token_hex(8)
        started, status = time.perf_counter(), 500

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                extra = [(b"x-request-id", request_id.encode()), (b"x-content-type-options", b"nosniff")]
                message = {**message, "headers": [*message["headers"], *extra]}
            await send(message)

        # Unknown methods share one label, so that the number of labels is bounded.
        method = scope["method"] if scope["method"] in _METHODS else "other"
        try:
            await self._app(scope, receive, send_with_id)
        finally:
            # No response, and nobody to read it: the status that proxies log as well.
            status = _CLIENT_GONE if "memotherm.gone" in scope else status
            seconds = time.perf_counter() - started
            route = getattr(scope.get("route"), "path", None) or "unmatched"
            self._metrics.add(method, route, status, seconds)
            key = scope.get("memotherm.key")
            fields = {
                "request_id": request_id,
                "method": method,
                "route": route,
                "status": status,
                "ms": round(seconds * 1000, 1),
                "key": None if key is None else key.name,
            }
            _log.info("request", extra={"fields": fields})
        return None
