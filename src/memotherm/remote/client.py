"""A memory on a server: a `Memotherm` whose verbs are requests, made from the table of operations.

A request is tried again where that is safe, and an error is raised as the class that the server raised.

Written here are the verbs that need something of this machine beside the request.
`store`, `keys` and `checkpoint` need the store itself: `hasattr` is false for them.
"""

from __future__ import annotations

import json
import logging
import random
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Self, Unpack
from urllib.parse import quote, urlencode, urlsplit

from memotherm import errors
from memotherm.context.values import Context
from memotherm.errors import InvalidInput, MemothermError, ReadOnly, StoreBusy, StoreError, StoreUnavailable, WrongKey
from memotherm.hooks.spool import erase_jobs, user_spool
from memotherm.memory import Memotherm
from memotherm.model import Memory, Scope, Trust
from memotherm.model.memory import ScopeFields
from memotherm.model.reports import Erased, Metrics, Status
from memotherm.model.results import Captured
from memotherm.operations.codec import from_json, to_json
from memotherm.operations.operation import Operation
from memotherm.operations.table import OPERATIONS, SCOPE_HEADER
from memotherm.remote.groups import (
    RemoteBulk,
    RemoteInspection,
    RemoteNotes,
    RemotePolicies,
    RemoteReceipts,
    RemoteSession,
    with_verbs,
)
from memotherm.settings import FIELDS, SECRET_NAMES, Settings
from memotherm.text.redaction import redactor

if TYPE_CHECKING:
    import urllib3


_log = logging.getLogger(__name__)

Json = dict[str, Any]

_RETRIES = 3
_FIRST_WAIT, _MOST_WAIT = 0.2, 2.0
_CONNECT_SECONDS = 5.0
_MOST_DETAIL_CHARS = 1000
#: Statuses of a server that is busy or restarting; it has changed nothing.
_RETRIED = (429, 502, 503, 504)
_CLASSES: dict[str, type[MemothermError]] = {
    found.code: found
    for name in errors.__all__
    if isinstance(found := getattr(errors, name), type) and issubclass(found, MemothermError)
}


class Transport:
    """Sends requests to one server."""

    def __init__(self, url: str, key: str, timeout: float, sleep: Callable[[float], None] = time.sleep) -> None:
        parts = urlsplit(url)
        if not parts.hostname or parts.query or parts.fragment or parts.username or parts.password:
            raise InvalidInput("the URL of a server is http://host:port, without a user, a password or a query")
        #: The address of the server.
        self.url = url.rstrip("/")
        self._key = key
        self._timeout = timeout
        self._sleep = sleep
        self._pool: urllib3.PoolManager | None = None

    def send(self, route: str, scope: Scope, arguments: Mapping[str, Any], seconds: float | None = None) -> Json:
        """Send arguments in the path, and in the query or the body; of a PATCH, `version` is a header.

        `seconds` is how long to wait for the answer, if that is longer than usual.
        """
        method, _, path = route.partition(" ")
        rest = {name: value for name, value in arguments.items() if f"{{{name}}}" not in path and value is not None}
        path = path.format(**{name: quote(str(value), safe="") for name, value in arguments.items()})
        conditions = {"if-match": f'"{rest.pop("version")}"'} if method == "PATCH" and "version" in rest else {}
        body: bytes | None = None
        if method in ("GET", "DELETE"):
            query = {name: str(value).lower() if isinstance(value, bool) else value for name, value in rest.items()}
            path += f"?{urlencode(query, doseq=True)}" if rest else ""
        elif rest:
            body = json.dumps(rest).encode()
        headers = {**self._headers(method, scope), **conditions}
        return self._answered(method, path, body, headers, seconds or self._timeout)

    def close(self) -> None:
        """Close the connections."""
        if self._pool is not None:
            self._pool.clear()

    def __repr__(self) -> str:
        return f"Transport({self.url!r})"

    def _headers(self, method: str, scope: Scope) -> dict[str, str]:
        if scope.tenant is not None:
            raise InvalidInput("the tenant is that of the API key: leave it out of the scope")
        headers = {"user-agent": "memotherm"}
        if scope.items():
            headers[SCOPE_HEADER] = ";".join(f"{name}={quote(value, safe='')}" for name, value in scope.items())
        if self._key:
            headers["authorization"] = f"Bearer {self._key}"
        if method in ("POST", "PATCH"):
            headers["content-type"] = "application/json"
        if method == "POST":
            headers["idempotency-key"] = str(uuid.uuid4())
        return headers

    def _answered(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], seconds: float) -> Json:
        """Send a request until it is answered; a change without an idempotency key is not sent twice."""
        from urllib3 import Timeout
        from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError

        timeout = Timeout(connect=min(_CONNECT_SECONDS, seconds), read=seconds)
        for attempt in range(_RETRIES + 1):
            last = attempt == _RETRIES
            try:
                response = self._manager().request(
                    method, self.url + path, body=body, headers=dict(headers), timeout=timeout, retries=False,
                    redirect=False,
                )  # fmt: skip
            except HTTPError as error:
                unsent = isinstance(error, NewConnectionError | ConnectTimeoutError)
                if last or not (unsent or method in ("GET", "POST")):
                    raise StoreUnavailable(
                        f"{self.url} cannot be reached ({type(error).__name__}): is `memotherm serve` running there?"
                    ) from error
            else:
                if response.status not in _RETRIED or last:
                    return self._result(response.status, response.data)
            wait = min(_FIRST_WAIT * 2**attempt, _MOST_WAIT) * (1 - random.random() / 4)
            _log.info("%s does not answer: trying again in %.1f s", self.url, wait)
            self._sleep(wait)
        raise AssertionError("unreachable")  # the last attempt returns or raises

    def _manager(self) -> urllib3.PoolManager:
        if self._pool is None:
            import urllib3

            self._pool = urllib3.PoolManager(maxsize=10)
        return self._pool

    def _result(self, status: int, data: bytes) -> Json:
        try:
            found = json.loads(data) if data else {}
        except (ValueError, RecursionError):
            found = None
        if 200 <= status < 300 and isinstance(found, dict):
            return found
        raise self._error(status, found if isinstance(found, dict) else {})

    def _error(self, status: int, problem: Json) -> MemothermError:
        """Return the error that the server raised."""
        code, detail = str(problem.get("code", "")), str(problem.get("detail", ""))[:_MOST_DETAIL_CHARS]
        if status == 401:
            return WrongKey(f"{self.url} refuses the API key: pass key=..., or set MEMOTHERM_API_KEY; {detail}")
        if status in (400, 403, 409, 422) and code not in _CLASSES and detail:
            return InvalidInput(detail)
        if status == 429:
            return StoreBusy(f"{self.url} gets too many requests: try again later")
        kind = _CLASSES.get(code)
        if kind is not None and detail:
            return kind(detail)
        return StoreError(f"{self.url} answered {status}: is it the address of `memotherm serve`?")


@with_verbs("memory", bulk=RemoteBulk, inspect=RemoteInspection, policies=RemotePolicies, receipts=RemoteReceipts)
class RemoteMemotherm(Memotherm):
    """An agent's memory on a server, seen from one scope: every verb is a request."""

    def __init__(self, transport: Transport, settings: Settings, scope: Scope | None = None) -> None:
        self._transport = transport
        self._settings = settings
        self._scope = scope or Scope()
        self._reads_only = False
        self._owner = True

    def __repr__(self) -> str:
        return f"<Memotherm {self._transport.url!r} scope: {self.scope}>"

    @property
    def scope(self) -> Scope:
        """The scope that this memory is seen from."""
        return self._scope

    @property
    def settings(self) -> Settings:
        """The settings of this machine; the server has its own."""
        return self._settings

    def _seen_from(self, scope: Scope, *, read_only: bool | None = None) -> Self:
        view = type(self)(self._transport, self.settings, scope)
        view._reads_only = self._reads_only if read_only is None else read_only
        view._owner = False
        return view

    def _call(self, operation: Operation, arguments: Mapping[str, Any]) -> Json:
        """Carry out an operation in this scope."""
        if self._reads_only and operation.writes:
            raise ReadOnly("this memory may only be read: use the one that read_only() was called on")
        if self._reads_only and "track" in operation.by_wire:
            arguments = {**arguments, "track": False}
        if operation.result_type is Context:
            arguments = {**arguments, "memories": True}
        try:
            return self._send(operation.route, arguments, operation.seconds)
        except StoreUnavailable as error:
            if operation.name != "capture":
                raise
            return self._spooled(dict(arguments), error)

    def _send(self, route: str, arguments: Mapping[str, Any], seconds: float | None = None) -> Json:
        """Send a request to a route in this scope; with `seconds`, wait that long for the answer."""
        return self._transport.send(route, self.scope, arguments, seconds)

    # Scope and lifetime

    def scoped(self, /, **fields: Unpack[ScopeFields]) -> Self:
        """Return the same store seen from a narrower scope."""
        return self._seen_from(self.scope.narrowed(**fields))

    def by(self, trust: Trust | str | None = None, name: str = "") -> Self:  # noqa: ARG002
        """Return this memory: the server says who stands behind what its clients write."""
        if trust is not None:
            Trust.of(trust)
        return self

    def in_folder(self, folder: str | PathLike[str]) -> Self:  # noqa: ARG002 - the folder is not on the server
        """Return this memory: a server reads no folders of its clients."""
        return self

    def read_only(self) -> Self:
        """Return the same memory for reading: changes raise `ReadOnly`, and recalls are not counted."""
        return self._seen_from(self.scope, read_only=True)

    def for_user(self) -> Self:
        """Return the same store seen from the scope of the user alone."""
        if self.scope.user is None:
            raise InvalidInput("the scope has no user: open it with Scope(user=...)")
        return self._seen_from(Scope(user=self.scope.user))

    def close(self) -> None:
        """Close the connections to the server."""
        if self._owner:
            self._transport.close()

    # Verbs that are more than a request

    def _spooled(self, arguments: Json, error: StoreUnavailable) -> Json:
        """Add a capture to the user's spool for `memotherm agent worker`, redacted, because it is plain text.

        With an encryption key, raise the error instead.
        """
        if self.settings.key:
            raise error
        redacted: Json = redactor(self.settings).redact_values(arguments).value
        values = {name: getattr(self.settings, name) for name in FIELDS if name not in SECRET_NAMES}
        job = {
            "version": 1,
            "do": "store",
            "store": self._transport.url,
            "scope": dict(self.scope.items()),
            "settings": {name: value for name, value in values.items() if value != FIELDS[name].default},
            "text": redacted.pop("content"),
            "arguments": redacted,
        }
        try:
            user_spool().add(job)
        except OSError as exc:
            raise error from exc
        why = f"{error}; the text waits: `memotherm agent worker --once` sends it"
        spooled: Json = to_json(Captured(status="spooled", why=why))
        return spooled

    def get(self, memory_id: str | None = None, *, key: str | None = None, include_narrower: bool = False) -> Memory:
        """Return a memory by its id, archived and deleted ones included, or the active one that has a key."""
        if (memory_id is None) == (key is None):
            raise InvalidInput("get takes either the id of a memory or a key")
        if key is not None:
            return from_json(Memory, self._call(OPERATIONS["get_by_key"], {"key": key}))
        arguments = {"memory_id": memory_id, "hidden": True, "include_narrower": include_narrower}
        return from_json(Memory, self._call(OPERATIONS["get"], arguments))

    def pinned(self) -> list[Memory]:
        """Return the pinned memories, oldest first."""
        return [*reversed(self.find(priority="pinned", limit=1000).memories)]

    get_relevant_memories = Memotherm.get_relevant_memories

    def status(self, include_narrower: bool = False) -> Status:
        """Return counts of the visible memories; the size and the numbers of the whole store are 0 here."""
        found = self._call(OPERATIONS["status"], {"include_narrower": include_narrower})
        return from_json(Status, {**found, "store": self._transport.url, "bytes": 0, "seq": 0, "schema": 0})

    def metrics(self) -> Metrics:
        """Return metrics, without the histograms of durations."""
        return from_json(Metrics, self._call(OPERATIONS["status"], {})["measured"])

    def erase(self, *, jobs: bool = True) -> Erased:
        """Erase everything at and below this scope permanently, on the server and in the jobs of hooks here and there.

        Args:
            jobs: Whether to erase the jobs of hooks on this machine as well.
        """
        if not self.scope.items():
            raise InvalidInput("name the scope to erase, such as mem.scoped(user='ana').erase(): this one has no field")
        waiting = erase_jobs(user_spool(), self._transport.url, self.scope) if jobs else 0
        # The server may add the tenant of the API key.
        found: Erased = from_json(Erased, self._call(OPERATIONS["erase"], {"confirm": str(self.status().scope)}))
        return replace(found, jobs=found.jobs + waiting)

    # What belongs together

    def session(self, session_id: str) -> RemoteSession:
        """Return the working memory of one session, starting it if it is new."""
        return RemoteSession(self.scoped(session=session_id), session_id)

    def notes(
        self, root: str | PathLike[str] | None = None, extra_paths: Sequence[str] = (), *, name: str | None = None
    ) -> RemoteNotes:
        """Return the notes of the server: those of its setting `notes_root`, to search, read and curate."""
        if root is not None or extra_paths or name is not None:
            raise InvalidInput(
                "a folder of this machine needs the store itself: leave it out for the notes of the server, which "
                "is the folder of its setting notes_root"
            )
        return RemoteNotes(self)
