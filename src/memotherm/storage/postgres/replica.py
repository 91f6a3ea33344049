"""A replica that serves recalls; if it fails, the primary does."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TypeVar

import psycopg

from memotherm.errors import StoreBusy, StoreUnavailable
from memotherm.settings import Settings
from memotherm.storage.postgres.connections import Connection, Connections, Start
from memotherm.storage.postgres.migrate import SCHEMA_VERSION, schema_of
from memotherm.storage.statements import Row

#: How long a replica that failed is not used.
_PAUSE_SECONDS = 10.0

Result = TypeVar("Result")


class Replica:
    """Read connections to a replica, with the primary as the fallback."""

    def __init__(self, settings: Settings, primary: Connections) -> None:
        self._connections = Connections(settings.postgres_replica, settings)
        self._primary = primary
        self._open = False
        self._paused_until = 0.0
        self._trouble = ""

    @contextmanager
    def transaction(self, tenant: str | None, start: Start[Result], *, mode: str) -> Iterator[Result]:
        """Run one read-only transaction."""
        with ExitStack() as stack:
            yield self._preferred(lambda server: stack.enter_context(server.transaction(tenant, start, mode=mode)))

    def read(self, tenant: str | None, send: Callable[[Connection], psycopg.Cursor[Row]]) -> list[Row]:
        """Run one statement in a transaction of its own; return its rows."""
        return self._preferred(lambda server: server.read(tenant, send))

    def lag(self, seconds: float | None, *, copying: bool) -> str | None:
        """Return a sentence about the age of the data that was read; None if that was the primary's."""
        if copying:
            late = "of unknown age" if seconds is None else f"whose newest change is {max(0.0, seconds):.1f} s old"
            return f"read from a replica {late}"
        return f"the replica failed and the primary was read: {self._trouble}" if self._trouble else None

    def close(self) -> None:
        """Close all connections; calling it twice is harmless."""
        self._connections.close()

    def _require_schema(self) -> None:
        """Check once that the replica has the current schema."""
        if self._open:
            return
        with self._connections.alone() as connection:
            if schema_of(connection, self._connections.name) != SCHEMA_VERSION:
                raise StoreUnavailable(f"{self._connections.name} has another schema: is it a replica of this store?")
        self._connections.open()
        self._open = True

    def _preferred(self, begin: Callable[[Connections], Result]) -> Result:
        """Begin to read from the replica; if that fails, from the primary."""
        if time.monotonic() >= self._paused_until:
            try:
                self._require_schema()
                result = begin(self._connections)
            except (StoreUnavailable, StoreBusy) as exc:
                self._trouble, self._paused_until = str(exc), time.monotonic() + _PAUSE_SECONDS
            else:
                self._trouble = ""
                return result
        return begin(self._primary)
