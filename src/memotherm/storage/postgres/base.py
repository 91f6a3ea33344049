"""Transactions and snapshots of a store on a PostgreSQL server, for one tenant or for all of them."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Self, TypeVar, cast

from memotherm.errors import StoreBusy
from memotherm.model import Tier
from memotherm.settings import Settings
from memotherm.storage.base import Job as WriteJob
from memotherm.storage.postgres.connections import Connection, Connections, Start, mapped
from memotherm.storage.postgres.migrate import LOCK, SCHEMA_VERSION, migrate
from memotherm.storage.postgres.replica import Replica
from memotherm.storage.postgres.search import RecallRows, expect
from memotherm.storage.postgres.statements import PostgresStatements
from memotherm.storage.postgres.tables import require_coordinator
from memotherm.storage.postgres.transaction import rebuild
from memotherm.storage.rows import record_of
from memotherm.storage.statements import Row
from memotherm.storage.store import Store
from memotherm.storage.values import LaterUse, Record, Search
from memotherm.storage.writer import Committing, Job, UnwrittenEntry

__all__ = ["PostgresBase"]

_REPEATABLE = "ISOLATION LEVEL REPEATABLE READ READ ONLY"
#: Live memories of a tenant up to which all vectors are compared; the server takes four times as long as a process.
EXACT_LIMIT = 5000
_log = logging.getLogger(__name__)

Result = TypeVar("Result")


class PostgresBase(Store):
    """The part of a store that reaches the server."""

    def __init__(self, url: str, settings: Settings) -> None:
        self._settings = settings
        self._exact_limit = EXACT_LIMIT
        self._connections = Connections(url, settings)
        self._replica = Replica(settings, self._connections) if settings.postgres_replica else None
        #: The replica to read from, if any.
        self._source: Replica | None = None
        #: The snapshot that the current thread is in: tenant, replica, statements.
        self._snapshots = threading.local()
        #: Whether spaces had so few memories in some tiers, when that was last read, that all vectors are compared.
        self._small: dict[tuple[tuple[int, ...], tuple[Tier, ...]], bool] = {}
        #: Uses that were recorded on a cluster, and may be of memories without a tenant.
        self._uncounted: deque[LaterUse] = deque()
        super().__init__(self._connections.name, SCHEMA_VERSION, self._execute)
        with self._connections.alone() as connection:
            require_coordinator(PostgresStatements(connection, None), self._connections.name)
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

    @contextmanager
    def snapshot(self, search: Search | None = None) -> Iterator[int | None]:
        """Let the reads of this thread see one state of the store, on one connection, until it is left."""
        before = getattr(self._snapshots, "current", None)
        with ExitStack() as stack:
            statements = self._current or stack.enter_context(self._snapshot(search))
            self._snapshots.current = (self.tenant, self._source, statements)
            try:
                yield None
            finally:
                self._snapshots.current = before

    def _snapshot(self, search: Search | None) -> AbstractContextManager[PostgresStatements]:
        """Begin a snapshot; what is searched for is read in the same round trip."""

        def start(connection: Connection, begin: Callable[[], None]) -> PostgresStatements:
            with self._writer.snapshot() as unwritten:
                if search is None:
                    statements = self._starting()(connection, begin)
                else:
                    begin()
                    statements = self._statements(connection)
                    if self._source is not None:
                        statements.expect("replica_lag")
                    statements.recall = RecallRows(search)
                    expect(statements, search, exact=self._compares_all(search))
            if self._source is None:
                statements.unwritten = unwritten
            return statements

        return self._server.transaction(self.tenant, start, mode=_REPEATABLE)

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
    def _current(self) -> PostgresStatements | None:
        """The statements of the snapshot or unit of work of the current thread, if it is one of this view."""
        snapshot: tuple[str | None, Replica | None, PostgresStatements] | None = getattr(
            self._snapshots, "current", None
        )
        if snapshot is not None and snapshot[:2] == (self.tenant, self._source):
            return snapshot[2]
        unit = self._local.unit
        begun = None if unit is None else unit.statements
        return self._joined(begun, wide=False) if isinstance(begun, PostgresStatements) else None

    def _joined(self, statements: Any, *, wide: bool) -> PostgresStatements:  # noqa: ANN401
        if statements.tenant == self.tenant and not wide:
            return cast("PostgresStatements", statements)
        return self._statements(statements.widened())

    @property
    def _recall(self) -> RecallRows | None:
        """What the recall of the current thread has read."""
        current = self._current
        return None if current is None else current.recall

    @contextmanager
    def _reading(
        self, *, once: bool = False, logged: bool = True, **expected: Mapping[str, object]
    ) -> Iterator[PostgresStatements]:
        """Begin a transaction that only reads; statements whose rows are wanted first are sent with it."""
        current = self._current
        if current is not None:
            with mapped(self.name):
                yield current
            return
        if logged:
            self._writer.flush()
        mode = "READ ONLY" if once else _REPEATABLE
        with self._server.transaction(self.tenant, self._starting(**expected), mode=mode) as statements:
            yield statements

    def _rows(self, name: str, /, **values: object) -> list[Row]:
        if self._current is None:
            self._writer.flush()
        return self._unlogged_rows(name, **values)

    def _unlogged_rows(self, name: str, /, **values: object) -> list[Row]:
        if self._current is not None:
            return super()._unlogged_rows(name, **values)
        return self._server.read(self.tenant, lambda connection: self._statements(connection).send(name, **values))

    def _records(self, name: str, /, **values: object) -> list[Record]:
        if self._current is not None:
            return super()._records(name, **values)
        rows = self._rows(name, **values)
        if {row[2] for row in rows} <= self._scopes.keys():
            return [record_of(row, self._scopes[row[2]]) for row in rows]
        with self._reading(once=True, logged=False) as statements:
            return self._converted(statements, rows)

    def _writing(self, **expected: Mapping[str, object]) -> AbstractContextManager[PostgresStatements]:
        """Begin a transaction that excludes other writers; statements whose rows are wanted first are sent with it."""
        self._writer.flush()
        lock: dict[str, Mapping[str, object]] = (
            {"lock_store": {"store": LOCK}}
            if self.tenant is None
            else {"lock_tenant": {"store": LOCK, "tenant": self.tenant}}
        )
        return self._connections.transaction(self.tenant, self._starting(**lock, **expected), patient=True)

    def _marking(self) -> AbstractContextManager[PostgresStatements]:
        """Begin a transaction that does not exclude other writers."""
        return self._connections.transaction(self.tenant, self._starting(), patient=True, wide=True)

    @contextmanager
    def _exclusive(self) -> Iterator[PostgresStatements]:
        with self._writing(transaction_begin={}) as statements, statements.batching():
            yield statements

    def _run(self, job: WriteJob[Result], *, exclusive: bool) -> Result:
        """Run a job in the current thread: the server lets only one writer of a tenant in."""
        with self._exclusive() if exclusive else self._marking() as statements:
            return job(statements)

    def _execute(self, jobs: Sequence[Job], entries: Sequence[UnwrittenEntry], committing: Committing) -> None:  # noqa: ARG002
        """Write entries of the log, those of each tenant in one transaction."""
        busy: StoreBusy | None = None
        for tenant in dict.fromkeys(entry.tenant for entry in entries):
            own = [entry for entry in entries if entry.tenant == tenant]
            view = self.for_tenant(tenant)
            try:
                with ExitStack() as transaction:
                    view._write_log(transaction.enter_context(view._logging()), own)
                    with committing(own):
                        transaction.close()
            except StoreBusy as exc:
                busy = exc
        if busy is not None:
            raise busy

    @contextmanager
    def _logging(self) -> Iterator[PostgresStatements]:
        # A tenant's recall also counts the use of memories without a tenant.
        transaction = self._connections.transaction(
            self.tenant, self._starting(), patient=True, durable=False, wide=True
        )
        with transaction as statements:
            if not statements.value("try_lock_tenant", store=LOCK, tenant=self.tenant or ""):
                raise StoreBusy(f"{self.name} is locked by another writer: the log of recalls is written later")
            with statements.batching():
                yield statements

    def _starting(self, **expected: Mapping[str, object]) -> Start[PostgresStatements]:
        """Return what begins a transaction, sends the first statements with it, and waits for their rows."""

        def start(connection: Connection, begin: Callable[[], None]) -> PostgresStatements:
            begin()
            statements = self._statements(connection)
            for name, values in expected.items():
                statements.expect(name, **values)
            if expected:
                statements.wait()
            else:
                connection.execute("SELECT 1").fetchall()
            return statements

        return start

    def _statements(self, connection: Connection) -> PostgresStatements:
        return PostgresStatements(
            connection,
            self.tenant,
            distributed=self._connections.distributed,
            shared=lambda: self._connections.has_shared is not False,
        )
