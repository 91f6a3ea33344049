"""Connections to one PostgreSQL database: a pool, transactions, and recovery from connections that were cut."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from pgvector.psycopg.vector import register_vector_info
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.types import TypeInfo
from psycopg.types.numeric import Int8Dumper
from psycopg_pool import ConnectionPool, PoolTimeout

from memotherm.errors import InvalidInput
from memotherm.settings import Settings
from memotherm.storage.postgres.errors import mapped, without_secrets
from memotherm.storage.postgres.statements import SCHEMA

__all__ = ["Connection", "Connections"]

Connection = psycopg.Connection[tuple[Any, ...]]

#: Where names are looked up: ours first; the extension may have been put into either of the others.
_PATH = f"{SCHEMA}, public, extensions"
#: How long to wait for the pool before asking whether the server is there at all.
_PATIENCE = 1.0
#: What connections have unless the URL says otherwise: a dead network must not hold a caller for ever.
_MANNERS = {
    "application_name": "memotherm",
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "tcp_user_timeout": "30000",
}

#: How a tenant's statements are planned. They want few rows of large tables, and the server guesses far too many
#: where a tenant's memories are mostly cold: it would read whole tables, in parallel, with code compiled for it.
_NARROW = {
    "enable_seqscan": "off",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "plan_cache_mode": "force_custom_plan",
}


class Connections:
    """The pool of one store. A connection is lent for one transaction and then given back."""

    def __init__(self, url: str, settings: Settings) -> None:
        self.name = without_secrets(url)
        self._settings = settings
        try:
            self._arguments: dict[str, Any] = {**_MANNERS, **conninfo_to_dict(url), "autocommit": True}
        except psycopg.ProgrammingError as exc:
            raise InvalidInput(f"{self.name} is not the URL of a database: {exc}".rstrip()) from exc
        self._vector: TypeInfo | None = None
        self._size = settings.postgres_pool_size
        self._pool: ConnectionPool[Connection] = ConnectionPool(
            kwargs=self._arguments,
            min_size=0,
            max_size=self._size,
            configure=self._configure,
            open=False,
            name="memotherm",
            num_workers=1,
        )

    @contextmanager
    def alone(self) -> Iterator[Connection]:
        """Lend a connection that is not of the pool, with the path set, for what comes before all else."""
        with mapped(self.name), psycopg.connect(**self._arguments) as connection:
            connection.execute("SELECT set_config('search_path', %s, false)", (_PATH,))
            yield connection

    def open(self) -> None:
        """Begin to lend connections; the schema and its types must be there."""
        with self.alone() as connection:
            self._vector = TypeInfo.fetch(connection, "vector")
        self._pool.open()

    def _configure(self, connection: Connection) -> None:
        register_vector_info(connection, self._vector)
        # One width for all numbers, so that a statement is prepared once and not for each width of its parameters.
        connection.adapters.register_dumper(int, Int8Dumper)

    @contextmanager
    def transaction(
        self,
        tenant: str | None,
        *,
        mode: str = "",
        patient: bool = False,
        durable: bool = True,
        wide: bool = False,
    ) -> Iterator[Connection]:
        """Lend a connection for one transaction; an exception takes everything back.

        Args:
            tenant: Whose transaction it is; None = all tenants'.
            mode: What BEGIN says of it.
            patient: Whether it may wait for locks, for as long as the settings say.
            durable: Whether its end waits for the disk.
            wide: Whether it works beyond its tenant all the same.
        """
        local = {
            "search_path": _PATH,
            "memotherm.tenant": tenant or "",
            "memotherm.operator": "on" if tenant is None or wide else "off",
            **({"lock_timeout": f"{self._settings.busy_timeout_ms}ms"} if patient else {}),
            **({} if durable else {"synchronous_commit": "off"}),
            **({} if tenant is None else _NARROW),
        }
        with mapped(self.name):
            connection = self._begun(_beginning(mode, local))
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                with suppress(psycopg.Error):
                    connection.execute("ROLLBACK")
                raise
            finally:
                self._pool.putconn(connection)

    def _begun(self, beginning: str) -> Connection:
        """Return a connection in a new transaction; those that were cut since they were last used are dropped."""
        left = self._size + 1
        while True:
            connection = self._lent()
            try:
                connection.execute(beginning, prepare=False)
            except psycopg.Error:
                broken = connection.broken
                self._pool.putconn(connection)
                left -= 1
                if not broken or not left:
                    raise
            else:
                return connection

    def _lent(self) -> Connection:
        """Wait for a connection as long as the settings say; where there is no server, only until that is sure."""
        deadline = time.monotonic() + self._settings.busy_timeout_ms / 1000
        while True:
            left = deadline - time.monotonic()
            try:
                return self._pool.getconn(timeout=max(0.001, min(_PATIENCE, left)))
            except PoolTimeout:
                psycopg.connect(**self._arguments).close()
                if left <= 0:
                    raise

    def close(self) -> None:
        """Close all connections; calling it twice is harmless."""
        self._pool.close()


def _beginning(mode: str, local: dict[str, str]) -> str:
    """Return what begins a transaction: one message, so that it takes one round trip."""
    settings = ", ".join(
        f"set_config('{name}', {sql.Literal(value).as_string()}, true)" for name, value in local.items()
    )
    return f"BEGIN {mode}; SELECT {settings}"
