"""Connections to one PostgreSQL database: a pool, transactions, and recovery from broken connections."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

import psycopg
from pgvector.psycopg.vector import register_vector_info
from psycopg.conninfo import conninfo_to_dict
from psycopg.types import TypeInfo
from psycopg.types.numeric import Int8Dumper
from psycopg_pool import PoolTimeout

from memotherm.errors import InvalidInput, StoreUnavailable
from memotherm.model.process import OwnProcess
from memotherm.settings import Settings
from memotherm.storage.deferral import Deferral
from memotherm.storage.postgres.errors import mapped, without_secrets
from memotherm.storage.postgres.lists import FastListDumper
from memotherm.storage.postgres.pool import Connection, Lent, Pool
from memotherm.storage.postgres.routing import SCHEMA
from memotherm.storage.postgres.statements import setting, statement
from memotherm.storage.statements import Row

__all__ = ["Connection", "Connections", "Start", "wait_for_begin"]

#: Called with a connection and what sends BEGIN; sends the first statements as well, and waits for their results.
Start = Callable[[Connection, Callable[[], None]], object]

#: The search path: Memotherm's schema first; the extension may be in either of the others.
_PATH = f"{SCHEMA}, public, extensions"
#: How long to wait for the pool before asking whether the server is there at all.
_PATIENCE = 1.0
#: Connection parameters unless the URL sets them; the timeouts detect a network that is down.
_DEFAULTS = {
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
#: Lets the scan of an index of vectors continue until enough rows pass the filter.
_CONTINUED = {"hnsw.iterative_scan": "strict_order"}
#: Lets Citus repeat the settings of a transaction on the workers, where row-level security uses them as well.
_PROPAGATED = {"citus.propagate_set_commands": "local"}
#: Lets a statement for several shards be followed by one that changes copies on all nodes.
_IN_ORDER = {"citus.multi_shard_modify_mode": "sequential"}
#: Turns row-level security off for the rest of a transaction.
_WIDE = setting("memotherm.operator", "on")


def wait_for_begin(connection: Connection, begin: Callable[[], None]) -> None:
    """Begin a transaction and wait for it."""
    begin()
    connection.execute("SELECT 1").fetchall()


class Connections:
    """The connection pool of one store. A connection is used for one transaction."""

    def __init__(self, url: str, settings: Settings) -> None:
        self.name = without_secrets(url)
        self._process = OwnProcess(self.name)
        self._settings = settings
        try:
            self._arguments: dict[str, Any] = {**_DEFAULTS, **conninfo_to_dict(url), "autocommit": True}
        except psycopg.ProgrammingError as exc:
            raise InvalidInput(f"{self.name} is not the URL of a database: {exc}".rstrip()) from exc
        self._vector: TypeInfo | None = None
        #: Whether the tables are distributed over the nodes of a Citus cluster.
        self.distributed = False
        #: Whether they are being distributed, or were until something interrupted it.
        self.unfinished = False
        #: Transactions that are not committed yet, because more is to be stored with them.
        self.deferral: Deferral[Connection] = Deferral()
        self._size = settings.postgres_pool_size
        self._pool = Pool(self._arguments, self._size, self._configure)

    @contextmanager
    def alone(self) -> Iterator[Connection]:
        """Open a connection outside the pool, with the search path set."""
        self._process.require()
        with mapped(self.name), psycopg.connect(**self._arguments) as connection:
            connection.execute("SELECT set_config('search_path', %s, false)", (_PATH,))
            if self._vector is not None:
                self._configure(connection)
            yield connection

    def open(self) -> None:
        """Open the pool; the schema and its types must exist."""
        with self.alone() as connection:
            self._vector = TypeInfo.fetch(connection, "vector")
            self._configure(connection)
        self._pool.open()

    def _configure(self, connection: Connection) -> None:
        # `distribute` ends the other connections, so that every later one finds out what it has done.
        self._find_out(connection)
        register_vector_info(connection, self._vector)
        # One width for all numbers, so that a statement is prepared once and not for each width of its parameters.
        connection.adapters.register_dumper(int, Int8Dumper)
        connection.adapters.register_dumper(list, FastListDumper)

    @contextmanager
    def transaction(
        self,
        tenant: str | None,
        *,
        mode: str = "",
        patient: bool = False,
        durable: bool = True,
        wide: bool = False,
        join: bool = False,
        start: Start = wait_for_begin,
    ) -> Iterator[Connection]:
        """Run one transaction on a pooled connection, in pipeline mode; an exception rolls it back.

        Args:
            tenant: The tenant; None = all tenants.
            mode: The transaction mode, as in BEGIN.
            patient: Whether to wait for locks, up to busy_timeout_ms.
            durable: Whether the commit waits for the disk.
            wide: Whether row-level security is off for this transaction.
            join: Whether to continue the transaction of this thread that waits to be committed, if there is one.
            start: Begins the transaction and waits for the first answer; called again if the connection was cut.
        """
        self._process.require()
        waiting = self.deferral.connection
        if join and waiting is not None:
            with mapped(self.name):
                if wide:
                    waiting.execute(_WIDE)
                yield waiting
            return
        self.deferral.commit()

        def begin(lent: Lent) -> None:
            connection = lent.connection
            local = self._local(tenant, patient=patient, durable=durable, wide=wide)
            start(connection, lambda: self._send_begin(connection, mode, local))

        with ExitStack() as stack:
            connection = stack.enter_context(self._transaction(begin, reads="READ ONLY" in mode))
            yield connection
            if durable and not mode:
                self.deferral.keep(stack, connection)

    def read(self, tenant: str | None, send: Callable[[Connection], psycopg.Cursor[tuple[Any, ...]]]) -> list[Row]:
        """Run one statement in a read-only transaction of its own, in one round trip; return its rows."""
        self._process.require()
        self.deferral.commit()
        rows: list[Row] = []

        def begin(lent: Lent) -> None:
            self._send_begin(lent.connection, "READ ONLY", self._local(tenant))
            cursor = send(lent.connection)
            lent.send_commit()
            rows[:] = cursor.fetchall()

        with mapped(self.name):
            self._pool.take_back_ending(self._begun(begin))
        return rows

    def _local(
        self, tenant: str | None, *, patient: bool = False, durable: bool = True, wide: bool = False
    ) -> dict[str, str]:
        """Return the settings of a transaction."""
        return {
            **(_PROPAGATED if self.distributed else {}),
            **(_IN_ORDER if self.distributed and not tenant else {}),
            "search_path": _PATH,
            "memotherm.tenant": tenant or "",
            "memotherm.operator": "on" if tenant is None or wide else "off",
            **({"lock_timeout": f"{self._settings.busy_timeout_ms}ms"} if patient else {}),
            **({} if durable else {"synchronous_commit": "off"}),
            **({} if tenant is None else _NARROW),
            **_CONTINUED,
        }

    def _send_begin(self, connection: Connection, mode: str, local: Mapping[str, str]) -> None:
        """Send the statements that begin a transaction.

        The first query determines which state a transaction with REPEATABLE READ sees.
        """
        connection.execute(f"BEGIN {mode}")
        if self.distributed:  # Citus repeats the statement SET on the workers, and not the function
            for name, value in local.items():
                connection.execute(setting(name, value), prepare=False)
        else:
            connection.execute(_settings(tuple(local)), list(local.values()))

    @contextmanager
    def _transaction(self, begin: Callable[[Lent], None], *, reads: bool) -> Iterator[Connection]:
        """Run a transaction; the end of one that only `reads` is not waited for."""
        with mapped(self.name):
            lent = self._begun(begin)
            try:
                yield lent.connection
                self._process.require()
                if reads and lent.settled:
                    lent.send_commit()
                    take_back = self._pool.take_back_ending
                else:
                    lent.commit()
                    take_back = self._pool.take_back
            except BaseException:
                if self._process.current:
                    lent.roll_back()
                    self._pool.take_back(lent)
                else:
                    lent.abandon()
                raise
            take_back(lent)

    def _find_out(self, connection: Connection) -> None:
        (self.distributed, self.unfinished), *_ = connection.execute(statement("distribution")).fetchall()

    def _require_finished(self, connection: Connection) -> None:
        if self.unfinished:
            self._find_out(connection)
        if self.unfinished:
            raise StoreUnavailable(
                f"the tables of {self.name} are not all distributed: wait for `memotherm distribute`, or, if it was "
                "interrupted, run it again, which goes on with it"
            )

    def _begun(self, begin: Callable[[Lent], None]) -> Lent:
        """Return a connection in a new transaction; those that were cut since they were last used are dropped."""
        left = self._size + 1
        while True:
            lent = self._lent()
            try:
                # A new connection knows how the tables are, so the settings are chosen after it was made.
                self._require_finished(lent.connection)
                begin(lent)
            except BaseException as exc:
                lent.roll_back()
                broken = lent.connection.broken
                self._pool.take_back(lent)
                left -= 1
                if not isinstance(exc, psycopg.Error) or not broken or not left:
                    raise
            else:
                return lent

    def _lent(self) -> Lent:
        """Wait for a connection up to busy_timeout_ms; fail early if the server cannot be reached."""
        deadline = time.monotonic() + self._settings.busy_timeout_ms / 1000
        while True:
            left = deadline - time.monotonic()
            try:
                return self._pool.lend(timeout=max(0.001, min(_PATIENCE, left)))
            except PoolTimeout:
                psycopg.connect(**self._arguments).close()
                if left <= 0:
                    raise

    def close(self) -> None:
        """Close all connections; calling it twice, or in a forked process, is harmless."""
        if self._process.current:
            self._pool.close()


@cache
def _settings(names: tuple[str, ...]) -> str:
    """Return the statement that sets parameters until the transaction ends."""
    return "SELECT " + ", ".join(f"set_config('{name}', %s, true)" for name in names)
