"""Transactions and snapshots of a store on a PostgreSQL server, for one tenant or for all of them."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Self, TypeVar

from memotherm.errors import StoreBusy
from memotherm.model import Tier
from memotherm.settings import Settings
from memotherm.storage.postgres.assumptions import ASSUMED, Assumptions
from memotherm.storage.postgres.connect import Connection, Connections, wait_for_begin
from memotherm.storage.postgres.distribute import require_coordinator
from memotherm.storage.postgres.errors import mapped
from memotherm.storage.postgres.migrate import LOCK, SCHEMA_VERSION, migrate
from memotherm.storage.postgres.replica import Replica
from memotherm.storage.postgres.searching import RecallRows, expect
from memotherm.storage.postgres.statements import PostgresStatements
from memotherm.storage.postgres.textindex import rebuild
from memotherm.storage.rows import record_of
from memotherm.storage.sqlstore import Outdated, SqlStore
from memotherm.storage.statements import Row
from memotherm.storage.values import LaterUse, Record, Search

__all__ = ["PostgresBase"]

_REPEATABLE = "ISOLATION LEVEL REPEATABLE READ READ ONLY"
#: The cost of comparing a vector on the server, relative to one in this process.
_READING = 4
#: How often a read is repeated before it assumes nothing.
_REPETITIONS = 3
_log = logging.getLogger(__name__)

Result = TypeVar("Result")


class _Sharing:
    """Whether a distributed store has memories without a tenant (None = not known yet); once it has, it always will."""

    exists: bool | None = None


class PostgresBase(SqlStore):
    """The part of a store that reaches the server."""

    def __init__(self, url: str, settings: Settings) -> None:
        self._settings = settings
        self._exact_limit = settings.exact_band_limit // _READING
        self._connections = Connections(url, settings)
        self._replica = Replica(settings, self._connections) if settings.postgres_replica else None
        self._sharing = _Sharing()
        #: The replica to read from, if any.
        self._source: Replica | None = None
        #: The snapshot that the current thread is in: tenant, replica, statements.
        self._snapshots = threading.local()
        #: Whether spaces had so few memories in some tiers, when that was last read, that all vectors are compared.
        self._small: dict[tuple[tuple[int, ...], tuple[Tier, ...]], bool] = {}
        #: What recalls take as known before their snapshot begins.
        self._assumptions = Assumptions()
        #: Uses that were recorded on a cluster, and may be of memories without a tenant.
        self._uncounted: deque[LaterUse] = deque()
        super().__init__(self._connections.name, SCHEMA_VERSION, settings.use_window_days, {})
        with self._connections.alone() as connection:
            require_coordinator(connection, self._connections.name)
        migrate(self._connections)
        self._connections.open()
        if self._connections.unfinished:
            return  # `distribute` goes on with it; nothing else can be done
        try:
            self._rebuild_if_outdated(rebuild)
            if self._rows("bypasses_security")[0][0]:
                _log.warning(
                    "row-level security does not hold for the role of %s: let the server use a role "
                    "that is neither superuser nor has BYPASSRLS",
                    self.name,
                )
        except BaseException:
            self._connections.close()
            raise

    def for_tenant(self, tenant: str | None) -> Self:
        """Return the same store as one tenant uses it; None = all tenants together."""
        view = self._view()
        view.tenant = tenant
        return view

    def for_recall(self) -> Self:
        """Return the same store as it is read from the replica, if there is one."""
        view = self.for_tenant(self.tenant)
        view._source = self._replica
        return view

    def _all_tenants(self) -> Self:
        return self.for_tenant(None)

    @contextmanager
    def snapshot(self, search: Search | None = None) -> Iterator[int | None]:
        """Let the reads of this thread see one state of the store, on one connection, until it is left."""
        before = getattr(self._snapshots, "current", None)
        with ExitStack() as stack:
            statements = self._joined or stack.enter_context(self._snapshot(search))
            self._snapshots.current = (self.tenant, self._source, statements)
            try:
                yield None
            finally:
                self._snapshots.current = before

    @contextmanager
    def _snapshot(self, search: Search | None) -> Iterator[PostgresStatements]:
        """Begin a snapshot; what is searched for is read in the same round trip."""
        begun: list[PostgresStatements] = []

        def start(connection: Connection, begin: Callable[[], None]) -> None:
            statements = self._statements(connection)

            def begin_verified() -> None:
                begin()
                self._assumptions.expect(self._part, statements)

            with self._log.beginning() as waiting:
                if search is None:
                    wait_for_begin(connection, begin_verified)
                else:
                    begin_verified()
                    if self._source is not None:
                        statements.expect("replica_lag")
                    statements.recall = RecallRows(search)
                    expect(statements, search, exact=self._compares_all(search))
            if self._source is None:
                statements.waiting = waiting
            begun[:] = [statements]

        with self._server.transaction(self.tenant, mode=_REPEATABLE, start=start):
            if self._assumptions.verify(self._part, begun[0]):
                yield begun[0]
                return
        raise Outdated

    def optimistically(self, read: Callable[[], Result]) -> Result:
        """Return the result of a read that asks for spaces and the serving embedder, and then begins a snapshot.

        It gets what these were last; if its snapshot shows that they have changed, it is repeated.
        """
        if self._assumptions.active:
            return read()
        for _ in range(_REPETITIONS):
            with suppress(Outdated), self._assumptions.noted():
                return read()
        return read()

    @property
    def _part(self) -> tuple[str | None, bool]:
        """What this view of the store reads: whose rows, and whether on a replica."""
        return self.tenant, self._source is not None

    def _compares_all(self, search: Search) -> bool | None:
        """Return whether a search compares all vectors, as far as is known before it begins."""
        if search.where.selective or Tier.COLD in search.tiers:
            return True
        return self._small.get((search.spaces, search.tiers))

    @property
    def _server(self) -> Replica | Connections:
        """What recalls read: the replica, if there is one for them."""
        return self._source or self._connections

    @property
    def _joined(self) -> PostgresStatements | None:
        """The statements of the snapshot that the current thread is in, if it is one of this view of the store."""
        tenant, source, statements = getattr(self._snapshots, "current", None) or (None, None, None)
        return statements if (tenant, source) == (self.tenant, self._source) else None

    @property
    def _recall(self) -> RecallRows | None:
        """What the recall of the current thread has read."""
        joined = self._joined
        return None if joined is None else joined.recall

    @contextmanager
    def _reading(self, *, once: bool = False, logged: bool = True) -> Iterator[PostgresStatements]:
        joined = self._joined
        if joined is not None:
            with mapped(self.name):
                yield joined
            return
        if logged:
            self._log.write()
        mode = "READ ONLY" if once else _REPEATABLE
        with self._server.transaction(self.tenant, mode=mode) as connection:
            yield self._statements(connection)

    @contextmanager
    def _reading_first(self, **expected: Mapping[str, object]) -> Iterator[PostgresStatements]:
        """Begin a transaction that only reads; statements whose rows are wanted first are sent with it.

        They do not depend on the log or on uses, and each has its parameters.
        """
        if self._joined is not None:
            with self._reading() as statements:
                yield statements
            return
        begun: list[PostgresStatements] = []

        def start(connection: Connection, begin: Callable[[], None]) -> None:
            begin()
            begun[:] = [self._expected(connection, expected)]

        with self._server.transaction(self.tenant, mode=_REPEATABLE, start=start):
            yield begun[0]

    def _expected(self, connection: Connection, expected: Mapping[str, Mapping[str, object]]) -> PostgresStatements:
        """Send the first statements of a transaction, and wait for their rows."""
        statements = self._statements(connection)
        for name, values in expected.items():
            statements.expect(name, **values)
        statements.wait()
        return statements

    def _rows(self, name: str, /, **values: object) -> list[Row]:
        if self._joined is None:
            self._log.write()
        return self._unlogged_rows(name, **values)

    def _unlogged_rows(self, name: str, /, **values: object) -> list[Row]:
        if self._joined is not None:
            return super()._unlogged_rows(name, **values)
        # On a cluster, the spaces tell which statements are used.
        kept = name in ASSUMED and not self._connections.distributed
        if kept and (assumed := self._assumptions.assumed(self._part, name, values)) is not None:
            return assumed
        rows = self._server.read(self.tenant, lambda connection: self._statements(connection).send(name, **values))
        if kept:
            self._assumptions.keep(self._part, name, values, rows)
        return rows

    def _records(self, name: str, /, **values: object) -> list[Record]:
        if self._joined is not None:
            return super()._records(name, **values)
        rows = self._rows(name, **values)
        if {row[2] for row in rows} <= self._scopes.keys():
            return [record_of(row, self._scopes[row[2]]) for row in rows]
        with self._reading(once=True, logged=False) as statements:
            return self._converted(statements, rows)

    @contextmanager
    def _writing(self, **expected: Mapping[str, object]) -> Iterator[PostgresStatements]:
        """Begin a transaction that excludes other writers; statements whose rows are wanted first are sent with it."""
        self._log.write()
        locked: list[PostgresStatements] = []

        def start(connection: Connection, begin: Callable[[], None]) -> None:
            begin()
            lock: dict[str, Mapping[str, object]] = (
                {"lock_store": {"store": LOCK}}
                if self.tenant is None
                else {"lock_tenant": {"store": LOCK, "tenant": self.tenant}}
            )
            locked[:] = [self._expected(connection, lock | expected)]

        with self._connections.transaction(self.tenant, patient=True, start=start):
            yield locked[0]

    @contextmanager
    def _marking(self, *, join: bool = False) -> Iterator[PostgresStatements]:
        with self._connections.transaction(self.tenant, patient=True, wide=True, join=join) as connection:
            yield self._statements(connection)

    @contextmanager
    def _logging(self) -> Iterator[PostgresStatements]:
        # A tenant's recall also counts the use of memories without a tenant.
        with self._connections.transaction(self.tenant, patient=True, durable=False, wide=True) as connection:
            statements = self._statements(connection)
            if not statements.value("try_lock_tenant", store=LOCK, tenant=self.tenant or ""):
                raise StoreBusy(f"{self.name} is locked by another writer: the log of recalls is written later")
            with statements.batching():
                yield statements

    def _statements(self, connection: Connection) -> PostgresStatements:
        return PostgresStatements(
            connection,
            self.tenant,
            distributed=self._connections.distributed,
            shared=lambda: self._sharing.exists is not False,
        )
