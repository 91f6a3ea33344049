"""Carry out a POST with an Idempotency-Key once, and repeat its response to repeated requests.

Responses are stored in the store, so that every server on it can repeat them, but without the contents of
memories, which must not outlive a purge: a repeated response contains the memories as they are then. Two kinds
of responses are not stored: errors, which changed nothing, and those of queries, which may be repeated anyway.
"""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta
from typing import Any

import anyio.to_thread

from memotherm import Memotherm
from memotherm.errors import NotFound
from memotherm.memory import KeyValue
from memotherm.rest.middleware import App, Message, Receive, Scope, Send, header, refuse
from memotherm.tools import serializers

__all__ = ["Idempotency"]

Json = dict[str, Any]

_STORE_FOR = timedelta(hours=24)
#: How long a request may take; after a crash of the server its repeats are refused for this time.
_CLAIM_FOR = timedelta(minutes=2)
_MAX_KEY_CHARS = 200
#: Paths of requests that change nothing.
_QUERY_PATHS = ("/recall", "/query", "/context", "/start", "/mcp", ":find")

#: What a response says about the request beside the memory itself; it quotes no content.
_ADDED = ("rule", "warnings")


class Idempotency:
    """Middleware for POST requests with an Idempotency-Key."""

    def __init__(self, app: App, responses: KeyValue) -> None:
        self._app = app
        self._responses = responses

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, repeat its response, or refuse it."""
        key = header(scope, "idempotency-key") if scope["type"] == "http" and scope["method"] == "POST" else None
        if key is None or scope["path"].endswith(_QUERY_PATHS):
            return await self._app(scope, receive, send)
        if not 0 < len(key) <= _MAX_KEY_CHARS:
            return await refuse(send, 422, "invalid_input", f"an Idempotency-Key has 1 to {_MAX_KEY_CHARS} characters")
        api_key = scope.get("memotherm.key")
        name = _digest("name", "" if api_key is None else api_key.tenant, key)
        request = _digest(
            "request", scope["path"], scope.get("query_string", b"").decode("latin-1"),
            header(scope, "memotherm-scope") or "", scope["memotherm.body"],
        )  # fmt: skip
        entry = await anyio.to_thread.run_sync(self._responses.claim, name, {"request": request}, _CLAIM_FOR)
        if entry is None:
            return await self._carry_out(scope, receive, send, name, request)
        if entry["request"] != request:
            detail = "this Idempotency-Key was used for another request: use a new one for each request"
            return await refuse(send, 422, "idempotency_key_reused", detail)
        if "status" not in entry:
            detail = "the first request with this Idempotency-Key is in progress: try again"
            return await refuse(send, 409, "request_in_progress", detail, {"retry-after": "1"})
        return await _repeat(send, scope["memotherm"], entry)

    async def _carry_out(self, scope: Scope, receive: Receive, send: Send, name: str, request: str) -> None:
        messages: list[Message] = []

        async def collect(message: Message) -> None:
            messages.append(message)

        try:
            await self._app(scope, receive, collect)
        except BaseException:
            await anyio.to_thread.run_sync(self._responses.delete, name)
            raise
        if messages[0]["status"] < 300:
            entry = {"request": request, **_entry(messages)}
            await anyio.to_thread.run_sync(self._responses.put, name, entry, _STORE_FOR)
        else:
            await anyio.to_thread.run_sync(self._responses.delete, name)
        for message in messages:
            await send(message)


def _entry(messages: list[Message]) -> Json:
    """Return what is stored of a response."""
    body = b"".join(message.get("body", b"") for message in messages[1:])
    location = next((value.decode() for key, value in messages[0]["headers"] if key == b"location"), None)
    body_json = _without_contents(json.loads(body or b"null"))
    return {"status": messages[0]["status"], "location": location, "body": body_json}


async def _repeat(send: Send, mem: Memotherm, entry: Json) -> None:
    try:
        body = await anyio.to_thread.run_sync(_with_contents, mem, entry["body"])
    except NotFound:
        return await refuse(send, 404, "not_found", "a memory of the first response has been purged since")
    data = b"" if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json", "content-length": str(len(data)), "idempotency-replayed": "true"}
    if entry["location"] is not None:
        headers["location"] = entry["location"]
    if isinstance(body, dict) and "version" in body:
        headers["etag"] = f'"{body["version"]}"'
    lines = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": entry["status"], "headers": lines})
    await send({"type": "http.response.body", "body": data})
    return None


def _without_contents(value: Any) -> Any:  # noqa: ANN401 - any part of a response
    """Return a response with each memory replaced by its id, its scope and how it was added."""
    if isinstance(value, dict):
        if "content" in value and "id" in value:
            added = {name: value[name] for name in _ADDED if name in value}
            return {"memory": value["id"], "scope": value["scope"], "added": added}
        return {name: _without_contents(part) for name, part in value.items()}
    return [_without_contents(part) for part in value] if isinstance(value, list) else value


def _with_contents(mem: Memotherm, value: Any) -> Any:  # noqa: ANN401 - any part of a response
    """Return a response with each memory as it is now, read in its own scope."""
    if isinstance(value, dict):
        if value.keys() == {"memory", "scope", "added"}:
            return {**serializers.memory_json(mem.scoped(**value["scope"]).get(value["memory"])), **value["added"]}
        return {name: _with_contents(mem, part) for name, part in value.items()}
    return [_with_contents(mem, part) for part in value] if isinstance(value, list) else value


def _digest(*parts: str | bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else part.encode()
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()
