"""Carry out a POST with an Idempotency-Key once, and repeat its response to repeated requests.

Responses are stored in the store, in the transaction of the change itself, so that every server on it can repeat
them and none is lost; but without the contents of memories, which must not outlive a purge: a repeated response
contains the memories as they are then. Errors, which changed nothing, and the responses of queries, which may be
repeated anyway, are not stored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextvars import ContextVar
from datetime import timedelta
from functools import wraps
from typing import Any, TypeVar, cast

from memotherm import Memotherm
from memotherm.errors import NotFound
from memotherm.memory import KeyValue
from memotherm.remote import encoding
from memotherm.rest.middleware import App, Message, Receive, Scope, Send, header, refuse
from memotherm.rest.problems import KeyReused

__all__ = ["Idempotency", "once"]

Json = dict[str, Any]
Handler = TypeVar("Handler", bound=Callable[..., Any])

_STORE_FOR = timedelta(hours=24)
_MAX_KEY_CHARS = 200
#: What a response says about the request beside the memory itself; it quotes no content.
_ADDED = ("rule", "warnings")

#: The request in progress, if it has an Idempotency-Key.
_current: ContextVar[_Request | None] = ContextVar("request", default=None)


def once(handler: Handler) -> Handler:
    """Let a handler be carried out once for each Idempotency-Key."""

    @wraps(handler)
    def carried_out(**arguments: Any) -> Any:  # noqa: ANN401 - any response
        request = _current.get()
        return handler(**arguments) if request is None else request.carry_out(handler, arguments)

    return cast("Handler", carried_out)


class Idempotency:
    """Middleware that reads the Idempotency-Key of POST requests."""

    def __init__(self, app: App, responses: KeyValue) -> None:
        self._app = app
        self._responses = responses

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        key = header(scope, "idempotency-key") if scope["type"] == "http" and scope["method"] == "POST" else None
        if key is None:
            return await self._app(scope, receive, send)
        if not 0 < len(key) <= _MAX_KEY_CHARS:
            return await refuse(send, 422, "invalid_input", f"an Idempotency-Key has 1 to {_MAX_KEY_CHARS} characters")
        request = _Request(self._responses, scope, key)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = [(name.encode(), value.encode()) for name, value in request.headers.items()]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        token = _current.set(request)
        try:
            return await self._app(scope, receive, send_with_headers)
        finally:
            _current.reset(token)


class _Taken(Exception):
    """Another request with the same Idempotency-Key was carried out first."""


class _Request:
    """A request with an Idempotency-Key."""

    def __init__(self, responses: KeyValue, scope: Scope, key: str) -> None:
        api_key = scope.get("memotherm.key")
        self._responses = responses
        self._mem: Memotherm = scope["memotherm"]
        owner = ("", "") if api_key is None else (api_key.tenant, api_key.user or "")
        self._name = _digest("name", *owner, key)
        self._digest = _digest(
            "request", scope["path"], scope.get("query_string", b"").decode("latin-1"),
            *(value for name, value in scope["headers"] if name == b"memotherm-scope"), scope["memotherm.body"],
        )  # fmt: skip
        #: The headers of a repeated response.
        self.headers: dict[str, str] = {}

    def carry_out(self, handler: Callable[..., Any], arguments: Json) -> Any:  # noqa: ANN401 - any response
        """Return the response of the first request, or carry this one out."""
        entry = self._responses.get(self._name)
        if entry is not None:
            return self._repeated(entry)
        try:
            with self._responses.unit_of_work():
                body = handler(**arguments)
                self._store(self._entry(arguments, body))
                return body
        except Exception:
            # What the handler refuses may be what another request with this key has just done.
            entry = self._responses.get(self._name)
            if entry is None:
                raise
        return self._repeated(entry)

    def _store(self, entry: Json) -> None:
        if self._responses.claim(self._name, entry, _STORE_FOR) is not None:
            raise _Taken

    def _entry(self, arguments: Json, body: Any) -> Json:  # noqa: ANN401 - any response
        """Return what is stored of a response."""
        location = arguments["response"].headers.get("location") if "response" in arguments else None
        return {"request": self._digest, "location": location, "body": _without_contents(body)}

    def _repeated(self, entry: Json) -> Any:  # noqa: ANN401 - any response
        """Return the response of the first request with the memories as they are now."""
        if entry["request"] != self._digest:
            raise KeyReused("this Idempotency-Key was used for another request: use a new one for each request")
        try:
            body = _with_contents(self._mem, entry["body"])
        except NotFound as exc:
            raise NotFound("a memory of the first response has been purged since") from exc
        self.headers["idempotency-replayed"] = "true"
        if entry["location"] is not None:
            self.headers["location"] = entry["location"]
        if isinstance(body, dict) and "version" in body:
            self.headers["etag"] = f'"{body["version"]}"'
        return body


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
            return {**encoding.memory_json(mem.scoped(**value["scope"]).get(value["memory"])), **value["added"]}
        return {name: _with_contents(mem, part) for name, part in value.items()}
    return [_with_contents(mem, part) for part in value] if isinstance(value, list) else value


def _digest(*parts: str | bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else part.encode()
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()
