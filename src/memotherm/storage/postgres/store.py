"""A store on a PostgreSQL server."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from memotherm.errors import StoreBusy
from memotherm.model import Scope, Tier
from memotherm.model.clock import to_micros
from memotherm.model.results import Problem
from memotherm.settings import Settings
from memotherm.storage.base import MOST_SCOPES, Expected
from memotherm.storage.base import Job as WriteJob
from memotherm.storage.candidates import Candidates
from memotherm.storage.filters import passing_rows
from memotherm.storage.postgres.connections import Connection, Connections, Start, mapped
from memotherm.storage.postgres.search import (
    CANDIDATE_FIELDS,
    MOST_INDEXED,
    RecallRows,
    by_vector,
    expect,
    index_live,
    of_memories,
    strengths,
    text_matches,
)
from memotherm.storage.postgres.statements import SCHEMA, PostgresStatements
from memotherm.storage.postgres.tables import (
    LOCK,
    SCHEMA_VERSION,
    PostgresTables,
    check,
    distribute,
    migrate,
    require_coordinator,
)
from memotherm.storage.postgres.transaction import PostgresTransaction, rebuild
from memotherm.storage.recall_log import count_uses
from memotherm.storage.sqlite.copies import require_free
from memotherm.storage.sqlite.store import SqliteStore
from memotherm.storage.statements import Row, Statements
from memotherm.storage.store import Distribution, Store, Transaction
from memotherm.storage.transfer import transfer
from memotherm.storage.values import (
    Identity,
    LaterUse,
    Prefetch,
    RecallEntry,
    Record,
    Scores,
    Search,
    TextMatches,
)
from memotherm.storage.writer import Committing, Job, UnwrittenEntry

_REPEATABLE = "ISOLATION LEVEL REPEATABLE READ READ ONLY"
#: Live memories of a tenant up to which all vectors are compared; the server takes four times as long as a process.
EXACT_LIMIT = 5000
#: Of a store with more memories than this times the sample, only some pages are read.
_WHOLE_SAMPLE = 10

_log = logging.getLogger(__name__)

Vectors = NDArray[np.float32]
Result = TypeVar("Result")


class PostgresStore(Store):
    """Rows, words and vectors in one database; any number of servers may use it at once.

    Writers of one tenant exclude each other; those of different tenants do not. A writer for all tenants
    (`for_tenant(None)`) excludes every other writer.
    """

    _transaction = PostgresTransaction

    def __init__(self, url: str, settings: Settings) -> None:
        self._settings = settings
        self._exact_limit = EXACT_LIMIT
        self._connections = Connections(url, settings)
        #: The snapshot that the current thread is in: tenant and statements.
        self._snapshots = threading.local()
        #: Whether spaces had so few memories in some tiers, when that was last read, that all vectors are compared.
        self._small: dict[tuple[tuple[int, ...], tuple[Tier, ...]], bool] = {}
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

    @contextmanager
    def snapshot(self, prefetch: Prefetch | None = None) -> Iterator[int | None]:
        """Let the reads of this thread see one state of the store, on one connection, until it is left."""

        def start(connection: Connection, begin: Callable[[], None]) -> PostgresStatements:
            with self._writer.snapshot() as unwritten:
                if prefetch is None:
                    statements = self._starting()(connection, begin)
                else:
                    # What is searched for is read in the same round trip.
                    begin()
                    statements = self._statements(connection)
                    statements.recall = RecallRows(prefetch)
                    search = prefetch.search
                    compares_all = search.selective or Tier.COLD in search.tiers
                    exact = True if compares_all else self._small.get((search.spaces, search.tiers))
                    expect(statements, prefetch, exact=exact)
            statements.unwritten = unwritten
            return statements

        before = getattr(self._snapshots, "current", None)
        with ExitStack() as stack:
            statements = self._current
            if statements is None:
                transaction = self._connections.transaction(self.tenant, start, mode=_REPEATABLE)
                statements = stack.enter_context(transaction)
                statements.committed = True
            try:
                self._snapshots.current = (self.tenant, statements)
                yield None
            finally:
                self._snapshots.current = before

    @property
    def _current(self) -> PostgresStatements | None:
        """The statements of the snapshot or unit of work of the current thread, if it is one of this view."""
        snapshot: tuple[str | None, PostgresStatements] | None = getattr(self._snapshots, "current", None)
        if snapshot is not None and snapshot[0] == self.tenant:
            return snapshot[1]
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
        self, *, once: bool = False, logged: bool = True, expected: Expected | None = None
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
        with self._connections.transaction(self.tenant, self._starting(expected), mode=mode) as statements:
            statements.committed = True
            yield statements

    @contextmanager
    def _exclusive(self) -> Iterator[PostgresStatements]:
        """Begin a transaction that excludes other writers of the tenant."""
        self._writer.flush()
        name, asked = ("lock_store", {}) if self.tenant is None else ("lock_tenant", {"tenant": self.tenant})
        start = self._starting({name: {"store": LOCK, **asked}, "transaction_begin": {}})
        with self._connections.transaction(self.tenant, start, patient=True) as statements, statements.batching():
            yield statements

    def _marking(self) -> AbstractContextManager[PostgresStatements]:
        """Begin a transaction that does not exclude other writers."""
        return self._connections.transaction(self.tenant, self._starting(), patient=True, wide=True)

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
            # A tenant's recall also counts the use of memories without a tenant.
            transaction = self._connections.transaction(
                tenant, view._starting(), patient=True, durable=False, wide=True
            )
            try:
                with ExitStack() as stack:
                    statements = stack.enter_context(transaction)
                    if not statements.value("try_lock_tenant", store=LOCK, tenant=tenant or ""):
                        reason = "is locked by another writer: the log of recalls is written later"
                        busy = StoreBusy(f"{self.name} {reason}")
                        continue
                    with statements.batching():
                        view._write_log(statements, own)
                    with committing(own):
                        stack.close()
            except StoreBusy as exc:
                busy = exc
        if busy is not None:
            raise busy

    def _starting(self, expected: Expected | None = None) -> Start[PostgresStatements]:
        """Return what begins a transaction, sends the first statements with it, and waits for their rows."""

        def start(connection: Connection, begin: Callable[[], None]) -> PostgresStatements:
            begin()
            statements = self._statements(connection)
            for name, values in (expected or {}).items():
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

    # Tenants

    def _visible_rows(self, statements: Statements, scope: Scope) -> list[Row]:
        """Return the visible spaces; on a cluster, find out whether there are memories without a tenant, too.

        While there are none, a tenant's statements do not read the copies of them, and are planned in half of the time.
        """
        rows = super()._visible_rows(statements, scope)
        if not self._connections.distributed or not self.tenant or self._connections.has_shared:
            return rows
        self._connections.has_shared = bool(rows[0][2] if rows else statements.value("shared_any"))
        return super()._visible_rows(statements, scope) if self._connections.has_shared else rows

    def visible(self, scope: Scope) -> tuple[tuple[int, ...], Identity | None]:
        """Return the spaces whose memories a scope can see, and the serving embedder, on one server in one read."""
        if self._connections.distributed:
            return self.spaces(scope), self.identity()
        return super().visible(scope)

    def spaces_within(self, scope: Scope) -> tuple[int, ...]:
        """Return the spaces that lie inside a scope, as far as they are this tenant's."""
        return super().spaces_within(replace(scope, tenant=self.tenant) if self.tenant else scope)

    def parts(self, scope: Scope) -> list[Self]:
        """Return the stores that together hold what lies inside a scope: one for each tenant."""
        tenants = [scope.tenant] if scope.tenant else [tenant for (tenant,) in self.for_tenant(None)._rows("tenants")]
        return [self.for_tenant(tenant) for tenant in tenants]

    # Uses

    def log_recall(self, entry: RecallEntry, *, keep: bool) -> None:
        """Count the uses of a recall and log it; on a cluster, memories without a tenant are counted by themselves.

        They are on other nodes than the tenant's memories, and a tenant's transaction needs one node.
        """
        super().log_recall(entry, keep=keep)
        if not self._connections.distributed or not self.tenant:
            return
        shared = self._shared_among({*(use.no for use in entry.uses), *(no for no, _ in entry.relevance)})
        if shared:
            uses = tuple(use for use in entry.uses if use.no in shared)
            relevance = tuple(pair for pair in entry.relevance if pair[0] in shared)
            self.for_tenant("").log_recall(replace(entry, uses=uses, relevance=relevance, receipt=None), keep=False)

    def _shared_among(self, nos: Collection[int]) -> set[int]:
        """Return those of some memories that have no tenant."""
        return {no for (no,) in self._unlogged_rows("shared_numbers", nos=list(nos))} if nos else set()

    def _count_shared(self, later: Sequence[LaterUse]) -> None:
        """Count the uses of memories without a tenant, which a transaction of the tenant cannot change."""
        shared = self._shared_among({use.no for use in later}) if self.tenant else set()
        if not shared:
            return
        with self.for_tenant("")._exclusive() as statements:
            for use in later:
                if use.no in shared:
                    count_uses(statements, [(use.use, to_micros(use.at))])

    # Searches

    def _active_pinned(self, search: Search) -> list[Record]:
        records = super()._active_pinned(search)
        if (recall := self._recall) is not None:
            recall.pinned.update(record.no for record in records)
        return records

    def _active_candidates(self, search: Search, nos: Sequence[int]) -> Candidates:
        recall = self._recall
        if recall is None or recall.prefetch.search.now != search.now:
            return super()._active_candidates(search, nos)
        with self._reading() as statements:
            ranks = {tier.rank for tier in search.tiers}
            rows = [row for row in recall.candidates(statements, nos) if row[2] in ranks and row[1] in search.spaces]
            passing = passing_rows(statements, rows, search)
            candidates = Candidates.of(row[:CANDIDATE_FIELDS] for row in passing)
            candidates.add_uses(statements.unwritten)
            return candidates

    def records(self, nos: Sequence[int]) -> Mapping[int, Record]:
        """Return memories by number, as they are now."""
        rows = {} if (recall := self._recall) is None else recall.memories(nos)
        if len(rows) < len({*nos}):
            return super().records(nos)
        with self._reading(once=True) as statements:
            records = self._converted(statements, list(rows.values()))
            return dict(zip(rows, records, strict=True))

    def _active_matches(self, search: Search, words: Sequence[str], limit: int) -> TextMatches:
        if not words or not search.spaces:
            return TextMatches({}, 0, dict.fromkeys(words, 0))
        with self._reading() as statements:
            return text_matches(statements, search, words, limit)

    def _active_nearest(self, search: Search, vector: Vectors, limit: int, by: Identity | None) -> Scores:
        if not search.spaces or not search.tiers:
            return {}
        with self._reading() as statements:
            identity = by or statements.embedder()
            if identity is None:
                return {}
            exact = search.selective or Tier.COLD in search.tiers
            if not exact:
                tiers = [tier.rank for tier in search.tiers]
                count = statements.value_once("count_in", spaces=list(search.spaces), tiers=tiers)
                if len(self._small) >= MOST_SCOPES:
                    self._small.clear()
                exact = self._small[search.spaces, search.tiers] = int(count) <= self._exact_limit
            found: Scores = dict(by_vector(statements, identity, search, vector, limit, exact=exact).rows(statements))
            if (recall := statements.recall) is not None and recall.prefetch.vector is vector:
                recall.strengths |= found
        return found

    def similarities(
        self,
        search: Search,  # noqa: ARG002
        nos: Sequence[int],
        vector: Vectors,
        by: Identity | None = None,
    ) -> dict[int, float]:
        """Return the cosine of each of some memories that has vectors; its nearest part counts."""
        recall = self._recall
        known = recall.similarities(nos) if recall is not None and recall.prefetch.vector is vector else None
        if known is not None:
            return known
        with self._reading() as statements:
            identity = by or statements.embedder()
            return {} if identity is None else strengths(statements, identity, vector, nos)

    # The ledger, embedders and vectors

    def _events_after(self, **values: object) -> list[Row]:
        """Return the rows of events in ascending order, only those that none can precede any more.

        Numbers are assigned before the commit, so that one with a lower number may still be on its way: the reader
        waits for the running writers, as a writer does, and then reads what they have committed.
        """
        mode = "ISOLATION LEVEL READ COMMITTED READ ONLY"
        name, asked = ("lock_store", {}) if self.tenant is None else ("lock_ledger", {"tenant": self.tenant})
        start = self._starting({name: {"store": LOCK, **asked}})
        with self._connections.transaction(self.tenant, start, mode=mode, patient=True) as statements:
            return statements.rows("events_after", **values)

    def _committed(self, transaction: Transaction) -> None:
        super()._committed(transaction)
        if isinstance(transaction, PostgresTransaction):
            self._count_shared(transaction.later_uses)

    def register_embedder(self, name: str, dimensions: int, *, serve: bool = True) -> Identity:
        """Register an embedder and return its number; the first one with `serve` serves searches at once."""
        identity = super(PostgresStore, self.for_tenant(None)).register_embedder(name, dimensions, serve=serve)
        # An index is built beside the transactions that run, so not inside one of our own.
        if self._local.unit is None:
            self.build_indexes()
        else:
            self._local.unit.after_commit.append(self.build_indexes)
        return identity

    def served_vectors(self, digests: Collection[str]) -> tuple[Identity | None, Mapping[str, Vectors]]:
        """Return the serving embedder, and what `cached_vectors` returns for each of some digests, without None."""
        asked = {"digests": [bytes.fromhex(digest) for digest in digests]}
        if not digests:
            return self.identity(), {}
        expected: Expected = {"embedder_serving": {}, "digests_with_vectors": asked}
        with self._reading(logged=False, expected=expected) as statements:
            identity = statements.embedder()
            found = {no: digest.hex() for no, digest in statements.rows("digests_with_vectors", **asked)}
            vectors = {} if identity is None else of_memories(statements, identity, list(found))
        return identity, {found[no]: rows for no, rows in vectors.items()}

    def vectors_of(self, nos: Sequence[int]) -> dict[int, Vectors]:
        """Return the vectors of memories by number, made by the serving embedder; those without are left out."""
        with self._reading() as statements:
            identity = statements.embedder()
            return {} if identity is None else of_memories(statements, identity, nos)

    def sample_vectors(self, limit: int, by: Identity) -> Vectors | None:
        """Return a repeatable sample of the vectors made `by` an embedder."""
        with self._reading() as statements:
            # Of a large store, the vectors on the same few pages every time.
            total = max(1, int(statements.value("count_all")))
            percent = 100 * min(1.0, _WHOLE_SAMPLE * limit / total)
            rows = statements.rows("vectors_sample", number=by.number, limit=limit, percent=percent)
        return np.stack([vector.to_numpy() for (vector,) in rows]).astype(np.float32) if rows else None

    # Maintenance

    def size(self) -> int:
        """Return the bytes that the tables and their indexes take."""
        return int(self._rows("size", schema=SCHEMA)[0][0])

    def missing_nodes(self) -> tuple[str, ...]:
        """Return the nodes of the cluster that do not answer, each as host:port; empty for one server."""
        rows = self.for_tenant(None)._rows("nodes_missing") if self._connections.distributed else []
        return tuple(node for (node,) in rows)

    def build_indexes(self) -> None:
        """Index the live vectors of every embedder once a tenant has too many for an exact search."""
        with self._reading() as statements:
            if int(statements.value("live_most")) < self._exact_limit:
                return
            missing = statements.rows("embedders_unindexed", most=MOST_INDEXED)
        for number, name, dimensions in missing:
            with self._connections.alone() as connection:
                index_live(connection, Identity(number=number, name=name, dimensions=dimensions))

    def repair(self) -> None:
        """Rebuild the text index from the memories."""
        with self.for_tenant(None)._exclusive() as statements:
            rebuild(statements)

    def check(self) -> list[Problem]:
        """Check the consistency of all tables and indexes and return the problems."""
        with self.for_tenant(None)._reading() as statements:
            return [*check(statements, statements.embedder()), *self._check_scopes(statements)]

    def _tables(self, statements: PostgresStatements) -> PostgresTables:
        return PostgresTables(statements)

    def distribute(self, shards: int) -> Distribution:
        """Distribute the tables over the nodes of a Citus cluster by tenant, or resume it, and verify the rows."""
        with self._connections.alone() as connection:
            return distribute(PostgresStatements(connection, None), shards, self.name)

    def checkpoint(self, path: Path) -> None:
        """Write a consistent copy to a new file while the store is in use: a SQLite store."""
        require_free(path)
        with TemporaryDirectory(prefix=".memotherm-", dir=path.parent) as folder:
            copy = SqliteStore(str(Path(folder) / "copy.db"), self._settings)
            with closing(copy):
                transfer(self, copy)
                copy.checkpoint(path, origin=self.name)

    def close(self) -> None:
        """Close all connections; calling it twice, or in a forked process, is harmless."""
        if not self._process.current:
            return
        self._writer.close()
        self._connections.close()
