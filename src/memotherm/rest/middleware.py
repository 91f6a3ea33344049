"""Checks of a request before its route: Host and Origin headers, the API key, the request rate and the body size.

The key determines the tenant: `scope["memotherm"]` is the memory as that tenant sees it, and handlers use no other.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from starlette.datastructures import Headers
from starlette.types import ASGIApp as App
from starlette.types import Receive, Scope, Send

from memotherm.dashboard import ASSETS_PATH, INDEX_PATH
from memotherm.errors import InvalidInput, MemothermError
from memotherm.facade.keys import Key, secret_hash
from memotherm.memory import Memotherm
from memotherm.model import Trust
from memotherm.rest.dependencies import requested_scope
from memotherm.rest.logins import Logins, cookie_of
from memotherm.rest.problems import error_response, problem_response
from memotherm.rest.turns import replay

__all__ = ["App", "Checked", "Checks", "is_loopback"]

_Given = TypeVar("_Given")
_Found = TypeVar("_Found")

_HOST = re.compile(r"(\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(:[0-9]{1,5})?")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_HEALTH = "/health"
#: Paths that need no key.
_OPEN_PATHS = (_HEALTH, "/openapi.json", INDEX_PATH)
_LOGIN = ("POST", "/login")
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_MCP_PATH = "/mcp"
#: The threads that look up keys and logins.
_KEY_THREADS = 4
#: The most callers that are remembered at once.
_MAX_ENTRIES = 10_000
_MAX_LENGTH_DIGITS = 18
#: The most headers of a request, and the most bytes of its first line and all headers.
MAX_HEADERS = 100
MAX_HEADER_BYTES = 32_768
HEADERS_TOO_LARGE = (
    431,
    "headers_too_large",
    f"a request has at most {MAX_HEADERS} headers, and {MAX_HEADER_BYTES:,} bytes with its first line: send less",
)
#: The most bytes of a request body.
MAX_BODY_BYTES = 4_194_304
#: The most values of a request body, and how deeply they may be nested.
MAX_VALUES = 30_000
MAX_DEPTH = 64
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
#: How long a request body may take to arrive: a caller that sends it byte by byte must not hold a connection.
BODY_SECONDS = 30.0
_METHODS_WITH_BODY = ("POST", "PUT", "PATCH", "DELETE")


def is_loopback(host: str) -> bool:
    """Return whether an address is reachable from this machine only."""
    return host in _LOOPBACK or host.startswith("127.")


class _Refused(Exception):
    """A request that a check does not let through, with the problem to answer it with."""

    def __init__(self, status: int, code: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        self.response = problem_response(status, code, detail, headers)


#: Raises `_Refused`, or returns the `receive` for what follows if it has read the body.
Check = Callable[[Scope, Receive], Awaitable[Receive | None]]


class Checked:
    """Passes on the requests that all checks let through."""

    def __init__(self, app: App, *checks: Check) -> None:
        self._app = app
        self._checks = checks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        try:
            for check in self._checks if scope["type"] == "http" else ():
                receive = await check(scope, receive) or receive
        except _Refused as refused:
            return await refused.response(scope, receive, send)
        except MemothermError as error:
            return await error_response(error)(scope, receive, send)
        except ConnectionAbortedError:
            # The client has disconnected before the end of the request.
            scope["memotherm.gone"] = True
            return None
        return await self._app(scope, receive, send)


class Checks:
    """The checks of a server."""

    def __init__(
        self,
        mem: Memotherm,
        logins: Logins,
        *,
        hosts: Collection[str],
        origins: Collection[str],
        required: bool,
        remote: bool,
        failures_per_minute: int,
        rate_per_minute: int,
        monotonic: Callable[[], float],
    ) -> None:
        self._mem = mem
        self._keys = mem.keys
        self._logins = logins
        #: The names in Host headers; empty: any, which is safe only if every request needs a key.
        self._hosts = hosts
        self._origins = origins
        self._required = required
        #: Whether keys are looked up over a network, so that the other requests must not wait for it.
        self._remote = remote
        self._failures = TokenBuckets(failures_per_minute, monotonic)
        self._rate = rate_per_minute
        self._requests = TokenBuckets(rate_per_minute, monotonic)
        #: Threads of their own: who a caller is must not wait for what others have asked for.
        self._threads = anyio.CapacityLimiter(_KEY_THREADS)
        #: Address and hashed key of accepted requests.
        self._accepted: set[tuple[str, bytes]] = set()

    async def headers(self, scope: Scope, receive: Receive) -> None:  # noqa: ARG002
        """Refuse too many or too large headers; the parser of the server stops at the same size."""
        size = sum(len(name) + len(value) for name, value in scope["headers"])
        if len(scope["headers"]) > MAX_HEADERS or size > MAX_HEADER_BYTES:
            raise _Refused(*HEADERS_TOO_LARGE, {"connection": "close"})

    async def host(self, scope: Scope, receive: Receive) -> None:  # noqa: ARG002
        """Refuse requests of web pages: an unknown Host header (DNS rebinding) or an unknown Origin."""
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        if self._hosts and _host_name(host) not in self._hosts:
            detail = f"the Host {host[:100]!r} is not a name of this server: add it to the setting server_hosts"
            raise _Refused(421, "wrong_host", detail)
        if origin is not None and origin not in self._origins and origin.partition("://")[2] != host:
            detail = f"the Origin {origin[:100]!r} may not call this server: add it to the setting server_origins"
            raise _Refused(403, "wrong_origin", detail)

    async def key(self, scope: Scope, receive: Receive) -> None:  # noqa: ARG002
        """Identify the caller by the API key or the cookie of a login, and set the memory as the key's tenant sees it.

        After too many wrong keys from one address, keys that have not been accepted from there before are refused
        without looking them up, until a minute has passed.
        """
        if _needs_no_key(scope["path"]):
            return
        authorization = Headers(scope=scope).get("authorization")
        cookie = cookie_of(scope) if authorization is None else None
        known, key = (False, None) if cookie is None else await self._in_thread(self._logins.find, cookie)
        if known and self._accepts(key):
            if scope["method"] not in _SAFE_METHODS and not _is_own_page(scope):
                detail = "a request that changes something with the cookie of a login needs the Origin of this server"
                raise _Refused(403, "wrong_origin", detail)
        elif (scope["method"], scope["path"]) == _LOGIN and self._logins.use_token(_secret(authorization)):
            scope["memotherm.token"] = True
            key = None
        else:
            key = await self._authenticated(_address(scope), authorization)
        view = self._mem
        if key is not None:
            fields: Any = {"tenant": key.tenant, "user": key.user, "owner": None if key.shared else key.user}
            view = view.scoped(**fields)
        # The one-time token was printed for a person. Any program can exchange a key for a cookie, so that a login
        # with a key has the trust of the key.
        person = key.person if key is not None else known or "memotherm.token" in scope
        scope["memotherm.trust"] = Trust.PERSON if person else Trust.AGENT
        # Programs name their agent in the scope of a request; the dashboard names there what it looks at.
        name = ""
        if known or _is_own_page(scope):
            name = key.name if key is not None else "person" if known else "dashboard"
        view = view.by(Trust.PERSON if person and scope["path"] != _MCP_PATH else None, name)
        scope["memotherm"] = view.read_only() if key is not None and key.read_only else view
        scope["memotherm.key"] = key
        if scope["path"] == _MCP_PATH:
            try:
                scope["memotherm"] = scope["memotherm"].scoped(**requested_scope(scope["headers"]))
            except InvalidInput as exc:
                raise _Refused(422, exc.code, str(exc)) from exc

    async def _in_thread(self, find: Callable[[_Given], _Found], given: _Given) -> _Found:
        return await anyio.to_thread.run_sync(find, given, limiter=self._threads)

    async def _authenticated(self, address: str, authorization: str | None) -> Key | None:
        """Return the key of an Authorization header; None without one where none is required."""
        caller = (address, hashlib.sha256((authorization or "").encode()).digest())
        if authorization is not None and caller not in self._accepted:
            wait = self._failures.wait(address)
            if wait > 0:
                detail = "too many requests with a wrong API key from this address: try again later"
                raise _Refused(429, "too_many_failures", detail, _retry_after(wait))
        if self._remote:
            allowed, key = await self._in_thread(self._authenticate, authorization)
        else:
            # A file answers sooner than a thread.
            allowed, key = self._authenticate(authorization)
        if not allowed:
            detail = (
                "this server requires an API key: send Authorization: Bearer <key>; `memotherm keys create` makes one"
            )
            if authorization is not None:
                self._accepted.discard(caller)
                self._failures.take(address)
                detail = "the API key is unknown or was revoked"
            raise _Refused(401, "unauthorized", detail, {"www-authenticate": 'Bearer realm="memotherm"'})
        if authorization is not None:
            if len(self._accepted) >= _MAX_ENTRIES:
                self._accepted.clear()
            self._accepted.add(caller)
        return key

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

    async def rate(self, scope: Scope, receive: Receive) -> None:  # noqa: ARG002
        """Limit the requests per minute of each key, or of each address where no key is used, except monitors."""
        key: Key | None = scope.get("memotherm.key")
        caller = scope["memotherm.caller"] = f"address {_address(scope)}" if key is None else f"key {key.name}"
        if not self._rate or scope["path"] == _HEALTH:
            return
        wait = self._requests.wait(caller)
        if wait > 0:
            detail = f"more than {self._rate} requests in a minute: try again later"
            raise _Refused(429, "too_many_requests", detail, _retry_after(wait))
        self._requests.take(caller)

    async def body(self, scope: Scope, receive: Receive) -> Receive | None:
        """Read the body up to a size and within a time, and pass it on in one piece unless it is too complex."""
        if scope["method"] not in _METHODS_WITH_BODY:
            return None
        length = Headers(scope=scope).get("content-length", "0")
        if not (length.isascii() and length.isdigit()) or len(length) > _MAX_LENGTH_DIGITS:
            raise _Refused(400, "bad_request", "the Content-Length is not a number")
        try:
            with anyio.fail_after(BODY_SECONDS):
                body = None if int(length) > MAX_BODY_BYTES else await _read_body(receive)
        except TimeoutError:
            detail = f"the body took longer than {BODY_SECONDS:g} seconds to arrive: send it faster"
            raise _Refused(408, "body_too_slow", detail, {"connection": "close"}) from None
        if body is None:
            detail = f"the body is larger than {MAX_BODY_BYTES:,} bytes: split it"
            raise _Refused(413, "body_too_large", detail, {"connection": "close"})
        if b"\0" in body:
            raise _Refused(400, "bad_request", "the body contains a NUL byte: send JSON in UTF-8")
        if _is_complex(body):
            detail = f"the body has more than {MAX_VALUES:,} values or {MAX_DEPTH} levels: split or flatten it"
            raise _Refused(422, "body_too_complex", detail)
        scope["memotherm.body"] = body
        return replay({"type": "http.request", "body": body, "more_body": False}, receive)


def _host_name(host: str) -> str:
    """Return a Host header without its port; empty if it is malformed."""
    match = _HOST.fullmatch(host)
    return (match["name"] or match["address"]).lower() if match else ""


def _is_own_page(scope: Scope) -> bool:
    """Return whether a page of this server has sent a request; browsers say so for those that change something."""
    headers = Headers(scope=scope)
    return headers.get("origin", "").partition("://")[2] == headers.get("host")


def _needs_no_key(path: str) -> bool:
    return path in _OPEN_PATHS or path.startswith(ASSETS_PATH)


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


def _retry_after(seconds: float) -> dict[str, str]:
    return {"retry-after": str(int(seconds) + 1)}


def _address(scope: Scope) -> str:
    client = scope.get("client") or ("unknown", 0)
    return str(client[0])


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


def _is_complex(body: bytes) -> bool:
    """Return whether JSON has too many values, or is nested too deeply, without making any of them."""
    opened = body.count(b"[") + body.count(b"{")
    if opened <= MAX_DEPTH and opened + body.count(b",") <= MAX_VALUES:
        return False
    # Values and names of members are texts; each has two quotes, and what is between texts is the structure.
    most_quotes = 4 * MAX_VALUES
    pieces = body.replace(rb"\\", b"").replace(rb"\"", b"").split(b'"', most_quotes + 1)
    structure = b"".join(pieces[::2])
    if len(pieces) > most_quotes or sum(map(structure.count, (b"[", b"{", b","))) > MAX_VALUES:
        return True
    depth = deepest = 0
    for bracket in structure.translate(None, _NO_BRACKETS)[: 2 * MAX_VALUES]:
        depth += 1 if bracket in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest > MAX_DEPTH
