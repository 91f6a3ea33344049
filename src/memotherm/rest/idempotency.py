"""A POST that comes twice with the same Idempotency-Key is carried out once.

The answer to the first is kept in the store, so that any server on it knows; without what memories say, because
that must not outlive their purge. A repeat is told of them as they are then. Two things are not kept: refusals,
which have changed nothing, and the answers to questions, which may be asked again.
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

__all__ = ["Repetition"]

Json = dict[str, Any]

_KEEP_FOR = timedelta(hours=24)
#: How long a request may be at work; a server that dies with one leaves its repeats waiting for as long.
_CLAIM_FOR = timedelta(minutes=2)
_LONGEST_KEY = 200
_QUESTIONS = ("/recall", "/query", "/context", "/start", "/mcp")


class Repetition:
    """Carries out a POST with an Idempotency-Key once, and tells its repeats what came of it."""

    def __init__(self, app: App, replies: KeyValue) -> None:
        self._app = app
        self._replies = replies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, tell what came of it, or refuse it."""
        given = header(scope, "idempotency-key") if scope["type"] == "http" and scope["method"] == "POST" else None
        if given is None or scope["path"].endswith(_QUESTIONS):
            return await self._app(scope, receive, send)
        if not 0 < len(given) <= _LONGEST_KEY:
            detail = f"an Idempotency-Key has 1 to {_LONGEST_KEY} characters"
            return await refuse(send, 422, "invalid_input", detail)
        who = scope.get("memotherm.key")
        name = _digest("name", "" if who is None else who.tenant, given)
        asked = _digest(
            "request", scope["path"], scope.get("query_string", b"").decode("latin-1"),
            header(scope, "memotherm-scope") or "", scope["memotherm.body"],
        )  # fmt: skip
        there = await anyio.to_thread.run_sync(self._replies.claim, name, {"asked": asked}, _CLAIM_FOR)
        if there is None:
            return await self._first(scope, receive, send, name, asked)
        if there["asked"] != asked:
            detail = "this Idempotency-Key was used for another request: take a new one for each request"
            return await refuse(send, 422, "idempotency_key_reused", detail)
        if "status" not in there:
            detail = "the first request with this Idempotency-Key is still being worked on: try again"
            return await refuse(send, 409, "request_in_progress", detail, {"retry-after": "1"})
        return await _repeat(send, scope["memotherm"], there)

    async def _first(self, scope: Scope, receive: Receive, send: Send, name: str, asked: str) -> None:
        sent: list[Message] = []

        async def hold(message: Message) -> None:
            sent.append(message)

        try:
            await self._app(scope, receive, hold)
        except BaseException:
            await anyio.to_thread.run_sync(self._replies.delete, name)
            raise
        if sent[0]["status"] < 300:
            kept = {"asked": asked, **_kept(sent)}
            await anyio.to_thread.run_sync(self._replies.put, name, kept, _KEEP_FOR)
        else:
            await anyio.to_thread.run_sync(self._replies.delete, name)
        for message in sent:
            await send(message)


def _kept(sent: list[Message]) -> Json:
    """Return what is needed to tell an answer again."""
    body = b"".join(message.get("body", b"") for message in sent[1:])
    location = next((value.decode() for key, value in sent[0]["headers"] if key == b"location"), None)
    return {"status": sent[0]["status"], "location": location, "body": _named(json.loads(body or b"null"))}


async def _repeat(send: Send, mem: Memotherm, kept: Json) -> None:
    try:
        body = await anyio.to_thread.run_sync(_told, mem, kept["body"])
    except NotFound:
        return await refuse(send, 404, "not_found", "what the first request was answered with has been purged since")
    data = b"" if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json", "content-length": str(len(data)), "idempotency-replayed": "true"}
    if kept["location"] is not None:
        headers["location"] = kept["location"]
    if isinstance(body, dict) and "version" in body:
        headers["etag"] = f'"{body["version"]}"'
    lines = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": kept["status"], "headers": lines})
    await send({"type": "http.response.body", "body": data})
    return None


def _named(value: Any) -> Any:  # noqa: ANN401 - any part of an answer
    """Return an answer with each memory replaced by its name."""
    if isinstance(value, dict):
        if "content" in value and "id" in value:
            return {"memory": value["id"], "scope": value["scope"]}
        return {key: _named(each) for key, each in value.items()}
    return [_named(each) for each in value] if isinstance(value, list) else value


def _told(mem: Memotherm, value: Any) -> Any:  # noqa: ANN401 - any part of an answer
    """Return an answer with each memory as it is now, seen from its own scope."""
    if isinstance(value, dict):
        if value.keys() == {"memory", "scope"}:
            return serializers.memory_json(mem.scoped(**value["scope"]).get(value["memory"]))
        return {key: _told(mem, each) for key, each in value.items()}
    return [_told(mem, each) for each in value] if isinstance(value, list) else value


def _digest(*parts: str | bytes) -> str:
    found = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else part.encode()
        found.update(len(data).to_bytes(8, "big") + data)
    return found.hexdigest()
