"""Health, metrics and events of the server; its store, settings and keys."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator
from typing import Annotated, Any

import anyio
import anyio.to_thread
from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import StreamingResponse
from typing_extensions import TypedDict

from memotherm import Memotherm, __version__
from memotherm.doctor import findings, store_findings
from memotherm.operations.codec import to_json
from memotherm.rest.dependencies import ABSENT, View, WholeStore
from memotherm.rest.observability import RequestMetrics
from memotherm.rest.problems import PROBLEMS
from memotherm.settings import FIELDS
from memotherm.settings.sources import described_settings

__all__ = ["router"]

router = APIRouter(responses=PROBLEMS)

_PAGE = 100
#: How often the ledger is read, and how often a comment shows that the connection is alive, in seconds.
_POLL = 0.5
_HEARTBEAT = 15.0
#: A stream ends after this time, and the client connects again: by then its key may have been revoked.
_LONGEST = 600.0


class Health(TypedDict):
    """The state of the server; the nodes are those of a distributed store that do not answer."""

    status: str
    version: str
    missing_nodes: list[str]


@router.get("/health", operation_id="health", tags=["server"], openapi_extra={"security": []})
def health(request: Request) -> Health:
    """Return 200 if the server and its store work; of a distributed store, also which nodes are missing.

    Without a node, the tenants of the other nodes are served.
    """
    missing = request.app.state.mem.store.missing_nodes()
    if not missing:
        request.app.state.mem.status()
    return Health(status="degraded" if missing else "ok", version=__version__, missing_nodes=list(missing))


@router.get(
    "/metrics",
    operation_id="metrics_page",
    tags=["server"],
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
    tags=["server"],
    response_class=StreamingResponse,
    responses={200: {"description": "Server-sent events.", "content": {"text/event-stream": {}}}},
)
async def stream_events(
    view: View,
    request: Request,
    last_event_id: Annotated[str, Header(pattern="^[0-9]{1,18}$")] = ABSENT,
    include_narrower: Annotated[
        bool, Query(description="Everything at and below the scope, instead of what it can see.")
    ] = False,
) -> StreamingResponse:
    """Send the events of all visible memories as they are recorded, from now or after Last-Event-ID."""
    after = int(last_event_id) if last_event_id else None
    stream = _event_stream(view, after, request.app.state.stopping, include_narrower=include_narrower)
    return StreamingResponse(stream, media_type="text/event-stream", headers={"cache-control": "no-store"})


async def _event_stream(
    view: Memotherm, after: int | None, stopping: threading.Event, *, include_narrower: bool = False
) -> AsyncIterator[bytes]:
    """Yield the events after a number (None: from now on), and comments in between, until the server stops."""
    position = (await anyio.to_thread.run_sync(view.status)).seq if after is None else after
    yield b"retry: 1000\n: connected\n\n"
    now = alive = anyio.current_time()
    end = now + _LONGEST
    while now < end and not stopping.is_set():
        for event in await anyio.to_thread.run_sync(view.events, _PAGE, f"after-{position}", False, include_narrower):
            position, alive = event.seq, now
            yield f"id: {event.seq}\nevent: {event.action}\ndata: {json.dumps(to_json(event))}\n\n".encode()
        if now - alive >= _HEARTBEAT:
            alive = now
            yield b": alive\n\n"
        await anyio.sleep(_POLL)
        now = anyio.current_time()


# The whole store, for requests that no API key restricts


class StoreInfo(TypedDict):
    """The store of the server; `events` is the number of the last event."""

    name: str
    bytes: int
    events: int
    schema_version: int


class DoctorFinding(TypedDict):
    """The result of one check of the installation, and how to correct it."""

    name: str
    state: str
    detail: str
    remedy: str


class DoctorReport(TypedDict):
    """The results of all checks of the installation."""

    ok: bool
    findings: list[DoctorFinding]


class Setting(TypedDict):
    """A setting; a secret is `(set)` or empty."""

    name: str
    value: Any
    origin: str
    help: str


class SettingsList(TypedDict):
    """Every setting of the server."""

    settings: list[Setting]


class ApiKey(TypedDict):
    """An API key without its secret."""

    name: str
    tenant: str
    user: str | None
    read_only: bool
    created_at: str


class ApiKeys(TypedDict):
    """The API keys of the store."""

    keys: list[ApiKey]


@router.get("/store", operation_id="store", tags=["store"])
def store(mem: WholeStore) -> StoreInfo:
    """Return the name, the size and the version of the store."""
    found = mem.status(include_narrower=True)
    return StoreInfo(name=found.store, bytes=found.bytes, events=found.seq, schema_version=found.schema)


@router.get("/doctor", operation_id="doctor", tags=["store"])
def doctor(mem: WholeStore) -> DoctorReport:
    """Check the installation of the server and its store, and return how to correct problems."""
    found = list(findings(lambda: store_findings(mem, mem.status().store, include_narrower=True)))
    listed = [DoctorFinding(**finding._asdict()) for finding in found]  # type: ignore[typeddict-item]
    return DoctorReport(ok=all(finding.state != "failure" for finding in found), findings=listed)


@router.get("/settings", operation_id="settings", tags=["store"])
def settings(mem: WholeStore) -> SettingsList:
    """Return every setting of the server with its value and where the value comes from, without secrets."""
    return SettingsList(
        settings=[
            Setting(name=name, **entry, help=FIELDS[name].metadata["description"])  # type: ignore[typeddict-item]
            for name, entry in described_settings(mem.settings).items()
        ]
    )


@router.get("/keys", operation_id="keys_list", tags=["store"])
def keys(mem: WholeStore) -> ApiKeys:
    """Return the names and rights of the API keys; nobody can read the keys themselves again."""
    return ApiKeys(keys=to_json(mem.keys.all()))
