"""Health, metrics, events and logins of the server; its store, settings and keys."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator
from typing import Annotated, Any

import anyio
import anyio.to_thread
from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from memotherm import Memotherm, __version__
from memotherm.doctor import findings, store_findings
from memotherm.facade.keys import Key
from memotherm.hooks.log import DEADLINE, last_week
from memotherm.hooks.spool import user_spool
from memotherm.operations.codec import to_json
from memotherm.rest.dependencies import ABSENT, View, WholeStore
from memotherm.rest.derived import described, object_schema
from memotherm.rest.logins import LIFETIME, Logins, cookie_name, cookie_of
from memotherm.rest.observability import RequestMetrics
from memotherm.rest.problems import PROBLEMS
from memotherm.settings import FIELDS
from memotherm.settings.sources import described_settings

Json = dict[str, Any]

router = APIRouter(responses=PROBLEMS)

_PAGE = 100
#: How often the ledger is read, and how often a comment shows that the connection is alive, in seconds.
_POLL = 0.5
_HEARTBEAT = 15.0
#: The most conflicts that are counted; `more_conflicts` says that there are others. Each costs a comparison.
_MOST_CONFLICTS = 100
#: A stream ends after this time, and the client connects again: by then its key may have been revoked.
_LONGEST = 600.0


_HEALTH = object_schema(
    "Health", "The state of the server, and how many nodes of a distributed store do not answer.",
    status=str, version=str, missing_nodes=int,
)  # fmt: skip


@described(router, "GET /health", "health", "server", _HEALTH, openapi_extra={"security": []})
async def health(request: Request) -> Json:
    """Return 200 if the server and its store work; of a distributed store, also how many nodes are missing.

    Without a node, the tenants of the other nodes are served.
    """
    # In a thread of its own: a monitor does not wait for the requests of others.
    missing = await anyio.to_thread.run_sync(_missing_nodes, request.app.state.mem, limiter=request.app.state.monitor)
    return {"status": "degraded" if missing else "ok", "version": __version__, "missing_nodes": len(missing)}


def _missing_nodes(mem: Memotherm) -> tuple[str, ...]:
    """Return the nodes that do not answer; an error is raised if the store does not work."""
    missing = mem.store.missing_nodes()
    if not missing:
        mem.status()
    return missing


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
    """Yield the events after a number (None: from now on), and comments in between, until the server stops.

    The first message says after which event the stream begins.
    """
    position = (await anyio.to_thread.run_sync(view.status)).seq if after is None else after
    yield f'retry: 1000\nid: {position}\nevent: connected\ndata: {{"seq": {position}}}\n\n'.encode()
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


# Logins

#: The key is null if the caller needs none; `cookie` says whether the caller is a browser that has logged in.
_LOGIN = object_schema(
    "Login", "Whose memories the requests of a caller see; `events` is the number of the last event of the store.",
    key=str | None, scope=dict[str, str], trust=str, read_only=bool, cookie=bool, events=int,
)  # fmt: skip


@described(router, "POST /login", "login", "server", _LOGIN)
def login(view: View, request: Request, response: Response) -> Json:
    """Exchange the API key, or the one-time token, of the Authorization header for a cookie."""
    authorization = request.headers.get("authorization")
    if authorization is not None:
        secret = None if request.scope.get("memotherm.token") else authorization.partition(" ")[2].strip()
        logins: Logins = request.app.state.logins
        response.set_cookie(
            cookie_name(request.scope),
            logins.begin(secret),
            max_age=int(LIFETIME.total_seconds()),
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )
    return _login_json(view, request, cookie=authorization is not None)


@described(router, "GET /login", "login_status", "server", _LOGIN)
def login_status(view: View, request: Request) -> Json:
    """Return whose memories the caller sees."""
    return _login_json(view, request, cookie=cookie_of(request.scope) is not None)


@described(router, "DELETE /login", "logout", "server", status=204)
def logout(view: View, request: Request, response: Response) -> None:  # noqa: ARG001 - only callers with access
    """End the login of the browser."""
    cookie = cookie_of(request.scope)
    if cookie is not None:
        request.app.state.logins.end(cookie)
        response.delete_cookie(cookie_name(request.scope), httponly=True, samesite="strict")


def _login_json(view: Memotherm, request: Request, *, cookie: bool) -> Json:
    key: Key | None = request.scope.get("memotherm.key")
    return {
        "key": None if key is None else key.name,
        "scope": dict(view.scope.items()),
        "trust": str(request.scope["memotherm.trust"]),
        "read_only": key is not None and key.read_only,
        "cookie": cookie,
        "events": view.status().seq,
    }


# The whole store, for requests that no API key restricts


_STORE = object_schema(
    "StoreInfo", "The store of the server; `events` is the number of the last event.",
    name=str, bytes=int, events=int, schema_version=int,
)  # fmt: skip
_FINDING = object_schema(
    "DoctorFinding", "The result of one check of the installation, and how to correct it.",
    name=str, state=str, detail=str, remedy=str,
)  # fmt: skip
_REPORT = object_schema(
    "DoctorReport", "The results of all checks of the installation.",
    ok=bool, findings={"type": "array", "items": _FINDING},
)  # fmt: skip
_SETTING = object_schema(
    "Setting", "A setting; a secret is `(set)` or empty.", name=str, value=Any, origin=str, help=str
)
_SETTINGS = object_schema("SettingsList", "Every setting of the server.", settings={"type": "array", "items": _SETTING})
_KEYS = object_schema("ApiKeys", "The API keys of the store, without their secrets.", keys=list[Key])


@described(router, "GET /store", "store", "store", _STORE)
def store(mem: WholeStore) -> Json:
    """Return the name, the size and the version of the store."""
    found = mem.status(include_narrower=True)
    return {"name": found.store, "bytes": found.bytes, "events": found.seq, "schema_version": found.schema}


_ATTENTION = object_schema(
    "Attention", "What somebody should look at; the members about the whole store are null for a part of it.",
    conflicts=int, more_conflicts=bool, jobs_waiting=int | None, jobs_failed=int | None, missed_deadlines=int | None,
    last_backup=str | None, backup_due=bool,
)  # fmt: skip


@described(router, "GET /attention", "attention", "store", _ATTENTION)
def attention(view: View, request: Request) -> Json:
    """Return what somebody should look at: conflicts at and below the scope, jobs and recalls of hooks, the backup."""
    conflicts = len(view.conflicts(limit=_MOST_CONFLICTS + 1, include_narrower=True))
    found: Json = {"conflicts": min(conflicts, _MOST_CONFLICTS), "more_conflicts": conflicts > _MOST_CONFLICTS}
    mem: Memotherm = request.scope["memotherm"]
    if mem.scope.items():
        unknown = ("jobs_waiting", "jobs_failed", "missed_deadlines", "last_backup")
        return {**found, **dict.fromkeys(unknown), "backup_due": False}
    spool = user_spool()
    missed = sum(entry.kind == DEADLINE for entry in last_week())
    last, due = mem.store.last_backup()
    return {
        **found,
        "jobs_waiting": len(spool.waiting()),
        "jobs_failed": len(spool.failed()),
        "missed_deadlines": missed,
        "last_backup": None if last is None else last.isoformat(),
        "backup_due": due,
    }


@described(router, "GET /doctor", "doctor", "store", _REPORT)
def doctor(mem: WholeStore) -> Json:
    """Check the installation of the server and its store, and return how to correct problems."""
    found = list(findings(lambda: store_findings(mem, mem.status().store, include_narrower=True)))
    ok = all(finding.state != "failure" for finding in found)
    return {"ok": ok, "findings": [finding._asdict() for finding in found]}


@described(router, "GET /settings", "settings", "store", _SETTINGS)
def settings(mem: WholeStore) -> Json:
    """Return every setting of the server with its value and where the value comes from, without secrets."""
    described = described_settings(mem.settings).items()
    return {
        "settings": [{"name": name, **entry, "help": FIELDS[name].metadata["description"]} for name, entry in described]
    }


@described(router, "GET /keys", "keys_list", "store", _KEYS)
def keys(mem: WholeStore) -> Json:
    """Return the names and rights of the API keys; nobody can read the keys themselves again."""
    return {"keys": to_json(mem.keys.all())}
