"""Requests to the server of a store: retries, and errors as the classes that it raised."""

from __future__ import annotations

import json
import logging
import random
import time
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

from memotherm import errors
from memotherm.errors import InvalidInput, MemothermError, StoreBusy, StoreError, StoreUnavailable, WrongKey
from memotherm.model import Scope
from memotherm.operations.table import SCOPE_HEADER

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


def error_class(code: str) -> type[MemothermError] | None:
    """Return the class of the errors with a code; None if no class of ours has it."""
    return _CLASSES.get(code)


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
            path += (
                f"?{urlencode({name: _query_text(value) for name, value in rest.items()}, doseq=True)}" if rest else ""
            )
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
        kind = error_class(code)
        if kind is not None and detail:
            return kind(detail)
        return StoreError(f"{self.url} answered {status}: is it the address of `memotherm serve`?")


def _query_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
