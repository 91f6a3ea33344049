"""What every request passes before a handler sees it: Host and Origin, key, rate, size.

Each gate is plain ASGI and knows one thing. The key decides the tenant; `scope["memotherm"]` is the memory
as that tenant sees it, and nothing behind the gates can see another.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import anyio.to_thread

from memotherm.memory import Memotherm
from memotherm.rest.keys import Key, Keys
from memotherm.rest.problems import answer

__all__ = ["Body", "Hosts", "KeyCheck", "Rate", "header", "is_loopback", "refuse"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_HOST = re.compile(r"(\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(:[0-9]{1,5})?")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
#: What anybody may ask: whether the server lives, and what it offers.
_OPEN = ("/health", "/openapi.json")
_MOST_BUCKETS = 10_000
_METHODS_WITH_BODY = ("POST", "PUT", "PATCH", "DELETE")


def is_loopback(host: str) -> bool:
    """Tell whether an address is reachable from this machine only."""
    return host in _LOOPBACK or host.startswith("127.")


def header(scope: Scope, name: str) -> str | None:
    """Return a header of a request."""
    wanted = name.encode()
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == wanted), None)


async def refuse(send: Send, status: int, code: str, detail: str, headers: dict[str, str] | None = None) -> None:
    """Answer with a problem."""
    found, lines, body = answer(status, code, detail, headers)
    await send({"type": "http.response.start", "status": found, "headers": lines})
    await send({"type": "http.response.body", "body": body})


class Hosts:
    """Refuses requests that a web page has sent here: a strange Host (DNS rebinding) or a strange Origin."""

    def __init__(self, app: App, hosts: frozenset[str], origins: frozenset[str]) -> None:
        self._app = app
        #: Empty = any name, which is safe only where every request needs a key.
        self._hosts = hosts
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        host = header(scope, "host") or ""
        if self._hosts and _name(host) not in self._hosts:
            detail = f"this server is not called {host[:100]!r}: add the name to the setting server_hosts"
            return await refuse(send, 421, "wrong_host", detail)
        origin = header(scope, "origin")
        if origin is not None and origin not in self._origins and origin.partition("://")[2] != host:
            detail = f"pages of {origin[:100]!r} may not call this server: add it to the setting server_origins"
            return await refuse(send, 403, "wrong_origin", detail)
        return await self._app(scope, receive, send)


def _name(host: str) -> str:
    """Return a Host header without its port; what is no Host header has no name."""
    found = _HOST.fullmatch(host)
    return (found["name"] or found["address"]).lower() if found else ""


class KeyCheck:
    """Finds out who asks, and lends them the memory as they may see it."""

    def __init__(self, app: App, mem: Memotherm, *, required: bool) -> None:
        self._app = app
        self._mem = mem
        self._keys = Keys(mem)
        self._required = required

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] != "http" or scope["path"] in _OPEN:
            return await self._app(scope, receive, send)
        given = header(scope, "authorization")
        allowed, key = await anyio.to_thread.run_sync(self._who, given)
        if not allowed:
            detail = (
                "this server wants an API key: send Authorization: Bearer <key>; `memotherm keys create` makes one"
                if given is None
                else "this is no key of this server, or it was revoked"
            )
            return await refuse(send, 401, "unauthorized", detail, {"www-authenticate": 'Bearer realm="memotherm"'})
        scope["memotherm"] = self._mem if key is None else self._mem.scoped(tenant=key.tenant)
        scope["memotherm.key"] = key
        return await self._app(scope, receive, send)

    def _who(self, given: str | None) -> tuple[bool, Key | None]:
        if given is None:
            return not (self._required or self._keys), None
        scheme, _, secret = given.partition(" ")
        key = self._keys.find(secret.strip()) if scheme.lower() == "bearer" and secret.strip() else None
        # A server of one tenant has nothing for others.
        return key is not None and self._mem.scope.tenant in (None, key.tenant), key


class Rate:
    """Refuses more than so many requests in a minute from one key, or one address where there are no keys."""

    def __init__(self, app: App, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._per_minute = per_minute
        self._clock = clock
        #: Who -> (requests they may still make, when that was so).
        self._left: dict[str, tuple[float, float]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] == "http" and self._per_minute and scope["path"] not in _OPEN:
            wait = self._wait(_caller(scope))
            if wait > 0:
                detail = f"more than {self._per_minute} requests in a minute: try again later"
                return await refuse(send, 429, "too_many_requests", detail, {"retry-after": str(int(wait) + 1)})
        return await self._app(scope, receive, send)

    def _wait(self, who: str) -> float:
        """Take one request from what a caller has left; return how long to wait when there is none."""
        now, pace = self._clock(), self._per_minute / 60
        left, then = self._left.get(who, (float(self._per_minute), now))
        left = min(float(self._per_minute), left + (now - then) * pace)
        if left < 1:
            return (1 - left) / pace
        if len(self._left) >= _MOST_BUCKETS:
            self._left.clear()
        self._left[who] = (left - 1, now)
        return 0.0


def _caller(scope: Scope) -> str:
    key: Key | None = scope.get("memotherm.key")
    client = scope.get("client") or ("unknown", 0)
    return f"key {key.name}" if key is not None else f"address {client[0]}"


class Body:
    """Reads the body, up to a limit, and hands it on in one piece."""

    def __init__(self, app: App, most: int) -> None:
        self._app = app
        self._most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] != "http" or scope["method"] not in _METHODS_WITH_BODY:
            return await self._app(scope, receive, send)
        told = header(scope, "content-length") or "0"
        if not (told.isascii() and told.isdigit()) or len(told) > 18:
            return await refuse(send, 400, "bad_request", "the Content-Length is no number")
        try:
            body = None if int(told) > self._most else await _read(receive, self._most)
        except ConnectionError:
            # Nobody waits for an answer, and half of a request is none.
            return None
        if body is None:
            detail = f"the body is larger than {self._most:,} bytes: split it, or raise the setting server_body_bytes"
            return await refuse(send, 413, "body_too_large", detail, {"connection": "close"})
        scope["memotherm.body"] = body
        return await self._app(scope, _once(body, receive), send)


async def _read(receive: Receive, most: int) -> bytes | None:
    """Return a whole body; None when it is longer than it may be. A caller who has left is an error."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ConnectionAbortedError
        body += message.get("body", b"")
        if len(body) > most:
            return None
        if not message.get("more_body"):
            return bytes(body)


def _once(body: bytes, receive: Receive) -> Receive:
    given = False

    async def read() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return read
