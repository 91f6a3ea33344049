"""ASGI middleware: check the Host and Origin headers, the API key, the request rate and the body size.

The key determines the tenant: `scope["memotherm"]` is the memory as that tenant sees it, and handlers use no other.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

import anyio
import anyio.to_thread
from starlette.types import ASGIApp as App
from starlette.types import Message, Receive, Scope, Send

from memotherm.dashboard import ASSETS_PATH, INDEX_PATH
from memotherm.errors import InvalidInput
from memotherm.facade.upkeep import Key, secret_hash
from memotherm.memory import Memotherm
from memotherm.rest.dependencies import requested_scope
from memotherm.rest.logins import Logins, cookie_of
from memotherm.rest.problems import problem_response

__all__ = ["App", "BodyLimit", "HostCheck", "KeyCheck", "RateLimit", "header", "is_loopback"]

_HOST = re.compile(r"(\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(:[0-9]{1,5})?")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
#: Paths that need no key.
_OPEN_PATHS = ("/health", "/openapi.json", "/docs", INDEX_PATH)
_LOGIN_PATH = "/login"
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_MCP_PATH = "/mcp"
#: The most callers that are remembered at once.
_MAX_ENTRIES = 10_000
_MAX_LENGTH_DIGITS = 18
#: The most bytes of a request body.
MAX_BODY_BYTES = 4_194_304
#: How long a request body may take to arrive: a caller that sends it byte by byte must not hold a connection.
BODY_SECONDS = 30.0
_METHODS_WITH_BODY = ("POST", "PUT", "PATCH", "DELETE")


def is_loopback(host: str) -> bool:
    """Return whether an address is reachable from this machine only."""
    return host in _LOOPBACK or host.startswith("127.")


def header(scope: Scope, name: str) -> str | None:
    """Return a header of a request."""
    encoded = name.encode()
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == encoded), None)


class HostCheck:
    """Refuse requests of web pages: an unknown Host header (DNS rebinding) or an unknown Origin."""

    def __init__(self, app: App, hosts: frozenset[str], origins: frozenset[str]) -> None:
        self._app = app
        #: Empty: any name, which is safe only if every request needs a key.
        self._hosts = hosts
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        host = header(scope, "host") or ""
        if self._hosts and _host_name(host) not in self._hosts:
            detail = f"the Host {host[:100]!r} is not a name of this server: add it to the setting server_hosts"
            return await problem_response(421, "wrong_host", detail)(scope, receive, send)
        origin = header(scope, "origin")
        if origin is not None and origin not in self._origins and origin.partition("://")[2] != host:
            detail = f"the Origin {origin[:100]!r} may not call this server: add it to the setting server_origins"
            return await problem_response(403, "wrong_origin", detail)(scope, receive, send)
        return await self._app(scope, receive, send)


def _host_name(host: str) -> str:
    """Return a Host header without its port; empty if it is malformed."""
    match = _HOST.fullmatch(host)
    return (match["name"] or match["address"]).lower() if match else ""


def _needs_no_key(path: str) -> bool:
    return path in _OPEN_PATHS or path.startswith(ASSETS_PATH)


class KeyCheck:
    """Identify the caller by the API key or the cookie of a login, and set the memory as the key's tenant sees it.

    After too many wrong keys from one address, keys that have not been accepted from there before are refused
    without looking them up, until a minute has passed.

    Args:
        app: What requests are passed on to.
        mem: The memory of the server.
        logins: The logins of browsers.
        required: Whether a key is required even if the store has none.
        remote: Whether keys are looked up over a network, so that the other requests must not wait for it.
        failures_per_minute: How many wrong keys of one address are looked up.
        monotonic: The clock of the limit.
    """

    def __init__(
        self,
        app: App,
        mem: Memotherm,
        logins: Logins,
        *,
        required: bool,
        remote: bool,
        failures_per_minute: int,
        monotonic: Callable[[], float],
    ) -> None:
        self._app = app
        self._mem = mem
        self._keys = mem.keys
        self._logins = logins
        self._required = required
        self._remote = remote
        self._failures = TokenBuckets(failures_per_minute, monotonic)
        #: Address and hashed key of accepted requests.
        self._accepted: set[tuple[str, bytes]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its memory and key, or refuse it."""
        if scope["type"] != "http" or _needs_no_key(scope["path"]):
            return await self._app(scope, receive, send)
        authorization = header(scope, "authorization")
        if authorization is None and (cookie := cookie_of(scope)) is not None:
            known, key = await anyio.to_thread.run_sync(self._logins.find, cookie)
            if known and self._accepts(key):
                return await self._with_cookie(scope, receive, send, key)
        logging_in = scope["path"] == _LOGIN_PATH and scope["method"] == "POST"
        if logging_in and self._logins.use_token(_secret(authorization)):
            scope["memotherm.token"] = True
            return await self._pass_on(scope, receive, send, None)
        return await self._with_key(scope, receive, send, authorization)

    async def _with_key(self, scope: Scope, receive: Receive, send: Send, authorization: str | None) -> None:
        """Pass on a request with a valid key, or without one where none is required; refuse others."""
        address = _address(scope)
        caller = (address, hashlib.sha256((authorization or "").encode()).digest())
        if authorization is not None and caller not in self._accepted:
            wait = self._failures.wait(address)
            if wait > 0:
                detail = "too many requests with a wrong API key from this address: try again later"
                return await problem_response(429, "too_many_failures", detail, _retry_after(wait))(
                    scope, receive, send
                )
        if self._remote:
            allowed, key = await anyio.to_thread.run_sync(self._authenticate, authorization)
        else:
            # A file answers sooner than a thread.
            allowed, key = self._authenticate(authorization)
        if not allowed:
            if authorization is not None:
                self._accepted.discard(caller)
                self._failures.take(address)
            detail = (
                "this server requires an API key: send Authorization: Bearer <key>; `memotherm keys create` makes one"
                if authorization is None
                else "the API key is unknown or was revoked"
            )
            return await problem_response(
                401, "unauthorized", detail, {"www-authenticate": 'Bearer realm="memotherm"'}
            )(scope, receive, send)
        if authorization is not None:
            if len(self._accepted) >= _MAX_ENTRIES:
                self._accepted.clear()
            self._accepted.add(caller)
        return await self._pass_on(scope, receive, send, key)

    async def _with_cookie(self, scope: Scope, receive: Receive, send: Send, key: Key | None) -> None:
        """Pass on a request that a browser has authenticated; only the pages of this server may change anything."""
        origin = header(scope, "origin") or ""
        if scope["method"] not in _SAFE_METHODS and origin.partition("://")[2] != header(scope, "host"):
            detail = "a request that changes something with the cookie of a login needs the Origin of this server"
            return await problem_response(403, "wrong_origin", detail)(scope, receive, send)
        return await self._pass_on(scope, receive, send, key)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send, key: Key | None) -> None:
        view = self._mem if key is None else self._mem.scoped(tenant=key.tenant, user=key.user)
        scope["memotherm"] = view.read_only() if key is not None and key.read_only else view
        scope["memotherm.key"] = key
        if scope["path"] == _MCP_PATH:
            try:
                scope["memotherm"] = scope["memotherm"].scoped(**requested_scope(scope["headers"]))
            except InvalidInput as exc:
                return await problem_response(422, exc.code, str(exc))(scope, receive, send)
        return await self._app(scope, receive, send)

    def _authenticate(self, authorization: str | None) -> tuple[bool, Key | None]:
        if authorization is None:
            return not (self._required or self._keys), None
        secret = _secret(authorization)
        key = self._keys.find(secret_hash(secret)) if secret else None
        return key is not None and self._accepts(key), key

    def _accepts(self, key: Key | None) -> bool:
        """Return whether a key may be used: a server of one tenant, or user, accepts only the keys of that."""
        own = self._mem.scope
        return key is None or (own.tenant in (None, key.tenant) and key.user in (None, own.user or key.user))


def _secret(authorization: str | None) -> str:
    """Return the secret of an Authorization header; empty if it is another scheme."""
    scheme, _, secret = (authorization or "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


class TokenBuckets:
    """A number of requests per minute for each caller, refilled continuously."""

    def __init__(self, per_minute: int, monotonic: Callable[[], float]) -> None:
        self._per_minute = per_minute
        self._monotonic = monotonic
        #: The requests that each caller has left, and the time when that was so.
        self._left: dict[str, tuple[float, float]] = {}

    def wait(self, caller: str) -> float:
        """Return the seconds until a caller may make a request; 0 if now."""
        return max(0.0, (1 - self._refilled(caller, self._monotonic())) * 60 / self._per_minute)

    def take(self, caller: str) -> None:
        """Count a request of a caller."""
        now = self._monotonic()
        left = self._refilled(caller, now) - 1
        if len(self._left) >= _MAX_ENTRIES:
            self._left.clear()
        self._left[caller] = left, now

    def _refilled(self, caller: str, now: float) -> float:
        left, then = self._left.get(caller, (self._per_minute, now))
        return min(self._per_minute, left + (now - then) * self._per_minute / 60)


class RateLimit:
    """Limit the requests per minute of each key, or of each address where no key is used."""

    def __init__(self, app: App, per_minute: int, monotonic: Callable[[], float]) -> None:
        self._app = app
        self._per_minute = per_minute
        self._requests = TokenBuckets(per_minute, monotonic)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] == "http" and self._per_minute and not _needs_no_key(scope["path"]):
            key: Key | None = scope.get("memotherm.key")
            caller = f"address {_address(scope)}" if key is None else f"key {key.name}"
            wait = self._requests.wait(caller)
            if wait > 0:
                detail = f"more than {self._per_minute} requests in a minute: try again later"
                return await problem_response(429, "too_many_requests", detail, _retry_after(wait))(
                    scope, receive, send
                )
            self._requests.take(caller)
        return await self._app(scope, receive, send)


def _retry_after(seconds: float) -> dict[str, str]:
    return {"retry-after": str(int(seconds) + 1)}


def _address(scope: Scope) -> str:
    client = scope.get("client") or ("unknown", 0)
    return str(client[0])


class BodyLimit:
    """Read the body up to a size and within a time, and pass it on in one piece."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] != "http" or scope["method"] not in _METHODS_WITH_BODY:
            return await self._app(scope, receive, send)
        length = header(scope, "content-length") or "0"
        if not (length.isascii() and length.isdigit()) or len(length) > _MAX_LENGTH_DIGITS:
            return await problem_response(400, "bad_request", "the Content-Length is not a number")(
                scope, receive, send
            )
        try:
            with anyio.fail_after(BODY_SECONDS):
                body = None if int(length) > MAX_BODY_BYTES else await _read_body(receive)
        except TimeoutError:
            detail = f"the body took longer than {BODY_SECONDS:g} seconds to arrive: send it faster"
            return await problem_response(408, "body_too_slow", detail, {"connection": "close"})(scope, receive, send)
        except ConnectionError:
            # The client has disconnected before the end of the request.
            return None
        if body is None:
            detail = f"the body is larger than {MAX_BODY_BYTES:,} bytes: split it"
            return await problem_response(413, "body_too_large", detail, {"connection": "close"})(scope, receive, send)
        scope["memotherm.body"] = body
        return await self._app(scope, _replay(body, receive), send)


async def _read_body(receive: Receive) -> bytes | None:
    """Return the whole body, or None if it is too long; raise `ConnectionAbortedError` if the client disconnects."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ConnectionAbortedError
        body += message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            return None
        if not message.get("more_body"):
            return bytes(body)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body once, and then whatever comes after it."""
    done = False

    async def read() -> Message:
        nonlocal done
        if done:
            return await receive()
        done = True
        return {"type": "http.request", "body": body, "more_body": False}

    return read
