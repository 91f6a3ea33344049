"""Carry out a POST with an Idempotency-Key once, and repeat its response to repeated requests.

Responses are stored in the store, in the transaction of the change itself, so that every server on it can repeat
them and none is lost; but without the contents of memories, which must not outlive a purge: a repeated response
contains the memories as they are then. Errors, which changed nothing, and the responses of queries, which may be
repeated anyway, are not stored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple

from starlette.requests import Request

from memotherm import Memotherm
from memotherm.errors import InvalidInput, NotFound, StoreBusy
from memotherm.facade.keys import KeyValue
from memotherm.operations.codec import to_json
from memotherm.operations.forms import with_item_names
from memotherm.rest.problems import KeyReused

Json = dict[str, Any]

_STORE_FOR = timedelta(hours=24)
_MAX_KEY_CHARS = 200
#: How often a request is carried out anew if another one with its key has come first, but cannot be seen.
_ATTEMPTS = 5
#: What a response says about the request beside the memory itself; it quotes no content.
_ADDED = ("rule", "warnings", "sessionId")


class Answer(NamedTuple):
    """The JSON of a response, and its headers beside the usual ones."""

    body: Any
    headers: dict[str, str]


class _Taken(Exception):
    """Another request with the same Idempotency-Key was carried out first."""


def once(request: Request, act: Callable[[], Answer]) -> Answer:
    """Carry out a request, once for each Idempotency-Key; return the response of the first one for the others."""
    key = request.headers.get("idempotency-key")
    if key is None:
        return act()
    if not 0 < len(key) <= _MAX_KEY_CHARS:
        raise InvalidInput(f"an Idempotency-Key has 1 to {_MAX_KEY_CHARS} characters")
    scope = request.scope
    api_key, mem = scope.get("memotherm.key"), scope["memotherm"]
    name = _digest("name", *(("", "") if api_key is None else (api_key.tenant, api_key.user or "")), key)
    digest = _digest(
        "request", scope["path"], scope.get("query_string", b"").decode("latin-1"),
        *(value for name, value in scope["headers"] if name == b"memotherm-scope"), scope["memotherm.body"],
    )  # fmt: skip
    responses: KeyValue = request.app.state.responses
    for _ in range(_ATTEMPTS):
        stored = responses.get(name)
        if stored is not None:
            return _repeated(mem, stored, digest)
        try:
            with responses.unit_of_work():
                answer = act()
                body = _without_contents(answer.body)
                entry = {"request": digest, "location": answer.headers.get("location"), "body": body}
                if responses.claim(name, entry, _STORE_FOR) is not None:
                    raise _Taken  # noqa: TRY301 - it undoes the unit of work
                return answer
        except _Taken:
            continue
        except Exception:
            # What the handler refuses may be what another request with this key has just done.
            stored = responses.get(name)
            if stored is None:
                raise
            return _repeated(mem, stored, digest)
    raise StoreBusy("other requests with this Idempotency-Key are carried out at the moment: try again")


def _repeated(mem: Memotherm, stored: Json, digest: str) -> Answer:
    """Return the response of the first request with the memories as they are now."""
    if stored["request"] != digest:
        raise KeyReused("this Idempotency-Key was used for another request: use a new one for each request")
    try:
        body = _with_contents(mem, stored["body"])
    except NotFound as exc:
        raise NotFound("a memory of the first response has been purged since") from exc
    headers = {"idempotency-replayed": "true"}
    if stored["location"] is not None:
        headers["location"] = stored["location"]
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
            # This way of reading counts no use.
            memory = mem.scoped(**value["scope"]).get(value["memory"], include_narrower=True)
            found = {**to_json(memory), **value["added"]}
            return with_item_names(found) if "sessionId" in found else found
        return {name: _with_contents(mem, part) for name, part in value.items()}
    return [_with_contents(mem, part) for part in value] if isinstance(value, list) else value


def _digest(*parts: str | bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else part.encode()
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()
