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
from typing import Any, NamedTuple

from memotherm import Memotherm
from memotherm.errors import NotFound
from memotherm.memory import KeyValue
from memotherm.operations.codec import to_json
from memotherm.rest.middleware import App, Receive, Scope, Send, header, refuse
from memotherm.rest.problems import KeyReused

__all__ = ["Answer", "Idempotency", "once"]

Json = dict[str, Any]

_STORE_FOR = timedelta(hours=24)
_MAX_KEY_CHARS = 200
#: What a response says about the request beside the memory itself; it quotes no content.
_ADDED = ("rule", "warnings")

#: The request in progress, if it has an Idempotency-Key.
_current: ContextVar[_Request | None] = ContextVar("request", default=None)


class Answer(NamedTuple):
    """The JSON of a response, and its headers beside the usual ones."""

    body: Any
    headers: dict[str, str]


def once(act: Callable[[], Answer]) -> Answer:
    """Carry out a request, once for each Idempotency-Key."""
    request = _current.get()
    return act() if request is None else request.carry_out(act)


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
        token = _current.set(_Request(self._responses, scope, key))
        try:
            return await self._app(scope, receive, send)
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

    def carry_out(self, act: Callable[[], Answer]) -> Answer:
        """Return the response of the first request, or carry this one out."""
        entry = self._responses.get(self._name)
        if entry is not None:
            return self._repeated(entry)
        try:
            with self._responses.unit_of_work():
                answer = act()
                self._store(self._entry(answer))
                return answer
        except Exception:
            # What the handler refuses may be what another request with this key has just done.
            entry = self._responses.get(self._name)
            if entry is None:
                raise
        return self._repeated(entry)

    def _store(self, entry: Json) -> None:
        if self._responses.claim(self._name, entry, _STORE_FOR) is not None:
            raise _Taken

    def _entry(self, answer: Answer) -> Json:
        """Return what is stored of a response."""
        location = answer.headers.get("location")
        return {"request": self._digest, "location": location, "body": _without_contents(answer.body)}

    def _repeated(self, entry: Json) -> Answer:
        """Return the response of the first request with the memories as they are now."""
        if entry["request"] != self._digest:
            raise KeyReused("this Idempotency-Key was used for another request: use a new one for each request")
        try:
            body = _with_contents(self._mem, entry["body"])
        except NotFound as exc:
            raise NotFound("a memory of the first response has been purged since") from exc
        headers = {"idempotency-replayed": "true"}
        if entry["location"] is not None:
            headers["location"] = entry["location"]
        if isinstance(body, dict) and "version" in body:
            headers["etag"] = f'"{body["version"]}"'
        return Answer(body, headers)


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
            return {**to_json(mem.scoped(**value["scope"]).get(value["memory"])), **value["added"]}
        return {name: _with_contents(mem, part) for name, part in value.items()}
    return [_with_contents(mem, part) for part in value] if isinstance(value, list) else value


def _digest(*parts: str | bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else part.encode()
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()
