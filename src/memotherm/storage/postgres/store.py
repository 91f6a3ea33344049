"""A store on a PostgreSQL server, for one tenant or for all of them."""

from __future__ import annotations

import logging
import threading
from collections import Counter, deque
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

import numpy as np
from numpy.typing import NDArray

from memotherm.errors import StoreBusy
from memotherm.model import Event, Scope, Tier
from memotherm.model.clock import to_micros
from memotherm.model.results import Problem
from memotherm.settings import Settings
from memotherm.storage.candidates import Candidates, candidate_row
from memotherm.storage.contract.optional import Distribution
from memotherm.storage.log_writer import Logged
from memotherm.storage.postgres.check import check
from memotherm.storage.postgres.connect import Connection, Connections, wait_for_begin
from memotherm.storage.postgres.distribute import distribute, require_coordinator
from memotherm.storage.postgres.errors import mapped
from memotherm.storage.postgres.migrate import LOCK, SCHEMA_VERSION, migrate
from memotherm.storage.postgres.partition import partition
from memotherm.storage.postgres.replica import Replica
from memotherm.storage.postgres.searching import CANDIDATE_FIELDS, RecallRows, bands, by_vector, by_words, expect
from memotherm.storage.postgres.statements import SCHEMA, PostgresStatements
from memotherm.storage.postgres.text import queries
from memotherm.storage.postgres.textindex import rebuild
from memotherm.storage.postgres.transaction import PostgresTransaction
from memotherm.storage.postgres.transfer import PostgresTables
from memotherm.storage.postgres.vectors import index_live, largest, of_memory, sampled, strengths, unindexed
from memotherm.storage.rows import event_of, record_of
from memotherm.storage.selecting import passing_rows
from memotherm.storage.sqlite.backup import require_free
from memotherm.storage.sqlite.store import SqliteStore
from memotherm.storage.sqlstore import MOST_SCOPES, SqlClaim, SqlStore, identity_of
from memotherm.storage.statements import Row, Statements
from memotherm.storage.transfer import transfer
from memotherm.storage.uses import add_later_use, count_uses
from memotherm.storage.values import Filter, Identity, LaterUse, RecallEntry, Record, Scores, Search, Use

__all__ = ["PostgresStore"]

_log = logging.getLogger(__name__)

Vectors = NDArray[np.float32]

_REPEATABLE = "ISOLATION LEVEL REPEATABLE READ READ ONLY"
#: How many tenants are tried before a process finds nothing to do; others claim tenants at the same time.
_DUE = 100
#: The cost of comparing a vector on the server, relative to one in this process.
_READING = 4


class PostgresStore(SqlStore):
    """Rows, words and vectors in one database; any number of servers may use it at once.

    Writers of one tenant exclude each other; those of different tenants do not. A writer for all tenants
    (`for_tenant(None)`) excludes every other writer.
    """

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

    def replica_lag(self) -> str | None:
        """Return a sentence about the age of the replica, or why it is not used; None without one."""
        if self._source is None:
            return None
        with self._reading() as statements:
            ((copying, seconds),) = statements.rows("replica_lag")
        return self._source.lag(seconds, copying=copying)

    # Transactions

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
            with self._log.beginning() as waiting:
                if search is None:
                    wait_for_begin(connection, begin)
                else:
                    begin()
                    if self._source is not None:
                        statements.expect("replica_lag")
                    statements.recall = RecallRows(search)
                    expect(statements, search, exact=self._compares_all(search))
            if self._source is None:
                statements.waiting = waiting
            begun[:] = [statements]

        with self._server.transaction(self.tenant, mode=_REPEATABLE, start=start):
            yield begun[0]

    @property
    def _server(self) -> Replica | Connections:
        """What recalls read: the replica, if there is one for them."""
        return self._source or self._connections

    @property
    def _joined(self) -> PostgresStatements | None:
        """The statements of the snapshot that the current thread is in, if it is one of this view of the store."""
        tenant, source, statements = getattr(self._snapshots, "current", None) or (None, None, None)
        return statements if (tenant, source) == (self.tenant, self._source) else None

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

    def _rows(self, name: str, /, **values: object) -> list[Row]:
        if self._joined is None:
            self._log.write()
        return self._unlogged_rows(name, **values)

    def _unlogged_rows(self, name: str, /, **values: object) -> list[Row]:
        if self._joined is not None:
            return super()._unlogged_rows(name, **values)
        return self._server.read(self.tenant, lambda connection: self._statements(connection).send(name, **values))

    def _records(self, name: str, /, **values: object) -> list[Record]:
        if self._joined is not None:
            return super()._records(name, **values)
        rows = self._rows(name, **values)
        if {row[2] for row in rows} <= self._scopes.keys():
            return [record_of(row, self._scopes[row[2]]) for row in rows]
        with self._reading(once=True, logged=False) as statements:
            return self._converted(statements, rows)

    @contextmanager
    def _writing(self, *expected: str) -> Iterator[PostgresStatements]:
        """Begin a transaction that excludes other writers; statements whose rows are wanted first are sent with it."""
        self._log.write()
        locked: list[PostgresStatements] = []

        def start(connection: Connection, begin: Callable[[], None]) -> None:
            begin()
            statements = self._statements(connection)
            if self.tenant is None:
                statements.expect("lock_store", store=LOCK)
            else:
                statements.expect("lock_tenant", store=LOCK, tenant=self.tenant)
            for name in expected:
                statements.expect(name)
            statements.wait()
            locked[:] = [statements]

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

    def _made_by(self, number: int) -> dict[str, object]:
        return {"number": number}

    # Tenants

    def _visible_spaces(self, scope: Scope) -> list[Row]:
        """Return the visible spaces; on a cluster, find out whether there are memories without a tenant, too.

        While there are none, a tenant's statements do not read the copies of them, and are planned in half of the time.
        """
        rows = super()._visible_spaces(scope)
        if not self._connections.distributed or not self.tenant or self._sharing.exists:
            return rows
        self._sharing.exists = bool(rows[0][2] if rows else self._rows("shared_any")[0][0])
        return super()._visible_spaces(scope) if self._sharing.exists else rows

    def spaces_within(self, scope: Scope) -> tuple[int, ...]:
        """Return the spaces that lie inside a scope, as far as they are this tenant's."""
        return super().spaces_within(replace(scope, tenant=self.tenant) if self.tenant else scope)

    def parts(self, scope: Scope) -> list[Self]:
        """Return the stores that together hold what lies inside a scope: one for each tenant."""
        tenants = [scope.tenant] if scope.tenant else [tenant for (tenant,) in self._all_tenants()._rows("tenants")]
        return [self.for_tenant(tenant) for tenant in tenants]

    def claims(
        self, name: str, holder: str, now: Callable[[], datetime], term: timedelta, before: datetime
    ) -> Generator[SqlClaim[Self], None, None]:
        """Claim the tenants one by one, the one whose job was done the longest time ago first."""
        self._register(name)
        seen: list[str] = []
        while (tenant := self._claimed(name, holder, now(), term, before, seen)) is not None:
            seen.append(tenant)
            outcome = "job_release"
            try:
                row = {"name": name, "holder": holder, "tenant": tenant}
                yield SqlClaim(self.for_tenant(tenant), "job_renew", row, now, term)
                outcome = "job_done"
            finally:
                with self._all_tenants()._marking() as statements:
                    statements.run(outcome, name=name, holder=holder, tenant=tenant, now=to_micros(now()))

    def _register(self, name: str) -> None:
        """Create the row of a job for every tenant that has none."""
        with self._all_tenants()._marking() as statements:
            registered = {tenant for (tenant,) in statements.rows("jobs_of", name=name)}
            new = [tenant for (tenant,) in statements.rows("tenants") if tenant not in registered]
            statements.run_many("job_add", [{"tenant": tenant, "name": name} for tenant in new])

    def _claimed(
        self, name: str, holder: str, now: datetime, term: timedelta, before: datetime, seen: list[str]
    ) -> str | None:
        """Claim the tenant whose job was done the longest time ago; skip those that another process has claimed."""
        due = {
            "name": name,
            "now": to_micros(now),
            "late": to_micros(now + 2 * term),
            "before": to_micros(before),
        }
        with self._all_tenants()._marking() as statements:
            found = statements.rows("jobs_due", **due, tenant=self.tenant, seen=seen, limit=_DUE)
            for (tenant,) in found:
                row = {**due, "tenant": tenant, "holder": holder, "until": to_micros(now + term)}
                if statements.row("job_claim", **row) is not None:
                    return str(tenant)
        return None

    def _all_tenants(self) -> Self:
        return self.for_tenant(None)

    # The log of recalls

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

    def log_later_use(self, later: LaterUse) -> None:
        """Record and count a use that followed a recall; never wait for other writers of the tenant."""
        super().log_later_use(later)
        self._count_shared([self._uncounted.popleft() for _ in range(len(self._uncounted))])

    @property
    def _log_tenant(self) -> str | None:
        return self.tenant

    def _write_log(
        self, tenant: str | None, waiting: Sequence[Logged], committing: AbstractContextManager[None]
    ) -> None:
        view = self if tenant == self.tenant else self.for_tenant(tenant)
        super(PostgresStore, view)._write_log(tenant, waiting, committing)

    def _log_entries(self, statements: Statements, entries: Sequence[Logged]) -> None:
        if self._connections.distributed:
            window = self._shared.window_micros
            later = [logged.entry for logged in entries if isinstance(logged.entry, LaterUse)]
            self._uncounted.extend(use for use in later if add_later_use(statements, use, window))
            entries = [logged for logged in entries if isinstance(logged.entry, RecallEntry)]
        super()._log_entries(statements, entries)

    def _shared_among(self, nos: Collection[int]) -> set[int]:
        """Return those of some memories that have no tenant."""
        return {no for (no,) in self._unlogged_rows("shared_numbers", nos=list(nos))} if nos else set()

    def _count_shared(self, later: Sequence[LaterUse]) -> None:
        """Count the uses of memories without a tenant, which a transaction of the tenant cannot change."""
        shared = self._shared_among({use.no for use in later}) if self.tenant else set()
        if not shared:
            return
        with self.for_tenant("")._writing() as statements:
            for use in later:
                if use.no in shared:
                    counted = Use(use.no, use.weight, times=0), to_micros(use.at)
                    count_uses(statements, [counted], self._shared.window_micros)

    # The ledger

    def ledger(self, spaces: Sequence[int], past: int | None, limit: int, *, oldest_first: bool) -> list[Event]:
        """Return events of memories in some spaces; in ascending order, only those that none can precede any more.

        Numbers are assigned before the commit, so that one with a lower number may still be on its way: the reader
        waits for the running writers, as a writer does, and then reads what they have committed.
        """
        if not oldest_first:
            return super().ledger(spaces, past, limit, oldest_first=False)
        mode = "ISOLATION LEVEL READ COMMITTED READ ONLY"
        with self._connections.transaction(self.tenant, mode=mode, patient=True) as connection:
            statements = self._statements(connection)
            if self.tenant is None:
                statements.rows("lock_store", store=LOCK)
            else:
                statements.rows("lock_ledger", store=LOCK, tenant=self.tenant)
            rows = statements.rows("events_after", spaces=list(spaces), past=past or 0, limit=limit)
        return [event_of(row) for row in rows]

    # Searching

    def pinned(self, spaces: Sequence[int], now: datetime) -> list[Record]:
        """Return the visible pinned memories, oldest first."""
        records = super().pinned(spaces, now)
        if (recall := self._recall) is not None:
            recall.pinned.update(record.no for record in records)
        return records

    def candidates(self, spaces: Sequence[int], tiers: Sequence[Tier], nos: Sequence[int], where: Filter) -> Candidates:
        """Return those of some memories that scope, tiers, retention and filter let through."""
        recall = self._recall
        if recall is None or recall.search.where.now != where.now:
            return super().candidates(spaces, tiers, nos, where)
        with self._reading() as statements:
            ranks = {tier.rank for tier in tiers}
            rows = [row for row in recall.candidates(statements, nos) if row[2] in ranks and row[1] in spaces]
            passing = passing_rows(statements, rows, where)
            candidates = Candidates.of(candidate_row(row[:CANDIDATE_FIELDS]) for row in passing)
            candidates.add_uses(statements.waiting)
            return candidates

    def records(self, nos: Sequence[int]) -> Mapping[int, Record]:
        """Return memories by number, as they are now."""
        rows = {} if (recall := self._recall) is None else recall.memories(nos)
        if len(rows) < len({*nos}):
            return super().records(nos)
        with self._reading(once=True) as statements:
            records = self._converted(statements, list(rows.values()))
            return dict(zip(rows, records, strict=True))

    def search_text(
        self, spaces: Sequence[int], tiers: Sequence[Tier], words: Sequence[str], limit: int, where: Filter
    ) -> Scores:
        """Return the best keyword matches, strongest first, newest first among equals."""
        searched = list(bands(tiers)) if words and spaces else []
        rows: list[Row] = []
        with self._reading() as statements:
            counted = self._counted(statements, searched if len(searched) > 1 else [], spaces, words)
            for band, ranks in searched:
                others = sum((counts for other, counts in counted.items() if other != band), Counter[int]())
                asked = by_words(statements, band, ranks, spaces, tiers, words, limit, where, others)
                found = statements.rows_of(asked.name, asked.marks, **asked.values)
                rows += [row for row in found if row[0] > 0]
                counts = Counter({-no: int(count) for no, count in found if no < 0})
                statements.known[_counts_key(band, ranks, spaces, words)] = counts
        ranked = sorted(rows, key=lambda row: (-row[1], -row[0]))
        return dict(ranked[:limit])

    def search_vector(
        self,
        spaces: Sequence[int],
        tiers: Sequence[Tier],
        vector: Vectors,
        limit: int,
        where: Filter,
        by: Identity | None = None,
    ) -> Scores:
        """Return the memories with the nearest vectors `by` an embedder (None = the serving one), nearest first."""
        if not spaces or not tiers:
            return {}
        with self._reading() as statements:
            identity = by or identity_of(statements)
            if identity is None:
                return {}
            exact = where.selective or Tier.COLD in tiers or self._is_small(statements, spaces, tiers)
            asked = by_vector(statements, identity, vector, spaces, tiers, limit, where, exact=exact)
            found: Scores = dict(asked.rows(statements))
            if (recall := statements.recall) is not None and recall.search.vector is vector:
                recall.strengths |= found
        return found

    def similarities(
        self,
        spaces: Sequence[int],  # noqa: ARG002
        tiers: Sequence[Tier],  # noqa: ARG002
        nos: Sequence[int],
        vector: Vectors,
        by: Identity | None = None,
    ) -> dict[int, float]:
        """Return the cosine of each of the memories that has vectors; its nearest part counts."""
        recall = self._recall
        known = recall.similarities(nos) if recall is not None and recall.search.vector is vector else None
        if known is not None:
            return known
        with self._reading() as statements:
            identity = by or identity_of(statements)
            return {} if identity is None else strengths(statements, identity, vector, nos)

    @property
    def _recall(self) -> RecallRows | None:
        """What the recall of the current thread has read."""
        joined = self._joined
        return None if joined is None else joined.recall

    def _is_small(self, statements: PostgresStatements, spaces: Sequence[int], tiers: Sequence[Tier]) -> bool:
        """Return whether the spaces have so few memories that all their vectors are compared."""
        count = int(statements.value_once("count_in", spaces=list(spaces), tiers=[tier.rank for tier in tiers]))
        if len(self._small) >= MOST_SCOPES:
            self._small.clear()
        small = self._small[tuple(spaces), tuple(tiers)] = count <= self._exact_limit
        return small

    def _compares_all(self, search: Search) -> bool | None:
        """Return whether a search compares all vectors, as far as is known before it begins."""
        if search.where.selective or Tier.COLD in search.tiers:
            return True
        return self._small.get((search.spaces, search.tiers))

    def frequencies(
        self, spaces: Sequence[int], tiers: Sequence[Tier], words: Sequence[str]
    ) -> tuple[int, dict[str, int]]:
        """Return the number of memories in some spaces and tiers, and the number that contain each word."""
        with self._reading() as statements:
            searched = list(bands(tiers)) if words and spaces else []
            total = int(statements.value_once("count_in", spaces=list(spaces), tiers=[tier.rank for tier in tiers]))
            counted = self._counted(statements, searched, spaces, words)
        return total, {
            word: sum(counts[position] for counts in counted.values()) for position, word in enumerate(words, 1)
        }

    def _counted(
        self,
        statements: PostgresStatements,
        searched: Sequence[tuple[str, list[int]]],
        spaces: Sequence[int],
        words: Sequence[str],
    ) -> dict[str, Counter[int]]:
        """Return for each band the number of memories that contain each word, by its position."""
        asked = {"spaces": list(spaces), "scoped": queries(words, spaces)}
        counted = {}
        for band, ranks in searched:
            key = _counts_key(band, ranks, spaces, words)
            if key not in statements.known:
                rows = statements.rows(f"text_frequencies_{band}", tiers=ranks, **asked)
                statements.known[key] = Counter(dict(rows))
            counted[band] = statements.known[key]
        return counted

    # Writing

    @contextmanager
    def write(self, *, made_by: int | None = None) -> Iterator[PostgresTransaction]:
        """Begin a transaction."""
        with self._writing("transaction_begin") as statements, statements.batching():
            if self.claim is not None:
                self.claim.require(statements)
            # A cache of its own: after a rollback, the new spaces do not exist.
            scopes: dict[int, Scope] = {}
            transaction = PostgresTransaction(
                statements, lambda space: self._scope(statements, space, scopes), self._shared.window_micros, made_by
            )
            self._shared.saw(transaction.adopted)
            yield transaction
            transaction.finish()
            self._log.forget(transaction.erased_spaces)
        self._shared.saw(transaction.adopted)
        self._count_shared(transaction.later_uses)

    def deferring(self) -> AbstractContextManager[None]:
        """Commit the last transaction of this thread when the context is left, with the values stored after it."""
        return self._connections.deferral.active()

    # Embedders and their vectors

    def register_embedder(self, name: str, dimensions: int, *, serve: bool = True) -> Identity:
        """Register an embedder and return its number; the first one with `serve` serves searches at once."""
        with self._all_tenants()._writing() as statements:
            number = int(statements.value("embedder_put", name=name, dimensions=dimensions))
            identity = Identity(number=number, name=name, dimensions=dimensions)
            if serve and identity_of(statements) is None:
                statements.run("meta_set", key="embedder", value=str(number))
        self.build_indexes()
        return identity

    def digests_with_vectors(self, digests: Collection[str]) -> Collection[str]:
        """Return those of some digests for which `cached_vectors` may return vectors, in one round trip."""
        rows = self._rows("digests_with_vectors", digests=[bytes.fromhex(digest) for digest in digests])
        return {digest.hex() for (digest,) in rows}

    def cached_vectors(self, digest: str) -> Vectors | None:
        """Return the stored vectors of the same content, made by the serving embedder."""
        with self._reading() as statements:
            no = statements.value("vectors_by_digest", digest=bytes.fromhex(digest))
            identity = None if no is None else identity_of(statements)
            return None if identity is None else of_memory(statements, identity, no)

    def sample_vectors(self, limit: int, by: Identity | None = None) -> Vectors | None:
        """Return a repeatable sample of the vectors made `by` an embedder (None = the serving one)."""
        with self._reading() as statements:
            identity = by or identity_of(statements)
            return None if identity is None else sampled(statements, identity, limit)

    # Maintenance

    def size(self) -> int:
        """Return the bytes that the tables and their indexes take."""
        return int(self._rows("size", schema=SCHEMA)[0][0])

    def missing_nodes(self) -> tuple[str, ...]:
        """Return the nodes of the cluster that do not answer, each as host:port; empty for one server."""
        if not self._connections.distributed:
            return ()
        return tuple(node for (node,) in self._all_tenants()._rows("nodes_missing"))

    def build_indexes(self) -> None:
        """Index the live vectors of every embedder once a tenant has too many for an exact search."""
        with self._reading() as statements:
            missing = unindexed(statements) if largest(statements) >= self._exact_limit else []
        for identity in missing:
            with self._connections.alone() as connection:
                index_live(connection, identity)

    def check(self) -> list[Problem]:
        """Check the consistency of all tables and indexes and return the problems."""
        with self._all_tenants()._reading() as statements:
            return check(statements, identity_of(statements))

    @contextmanager
    def read_tables(self) -> Iterator[PostgresTables]:
        """Open the tables for reading, in one snapshot."""
        with self._all_tenants()._reading() as statements:
            yield PostgresTables(statements)

    @contextmanager
    def write_tables(self) -> Iterator[PostgresTables]:
        """Open the tables for writing, in one transaction."""
        with self._all_tenants()._writing() as statements:
            yield PostgresTables(statements)

    def partition(self, parts: int) -> list[str]:
        """Cut the tables into parts by tenant, all at once; return their names."""
        with self._connections.transaction(None, patient=True) as connection:
            PostgresStatements(connection, None).rows("lock_store", store=LOCK)
            return partition(connection, parts)

    def distribute(self, shards: int) -> Distribution:
        """Distribute the tables over the nodes of a Citus cluster by tenant, or resume it, and verify the rows."""
        with self._connections.alone() as connection:
            return distribute(connection, shards, self.name)

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
        self._log.close()
        self._connections.close()
        if self._replica is not None:
            self._replica.close()


class _Sharing:
    """Whether a distributed store has memories without a tenant (None = not known yet); once it has, it always will."""

    exists: bool | None = None


def _counts_key(band: str, ranks: Sequence[int], spaces: Sequence[int], words: Sequence[str]) -> object:
    """Return the key of the numbers of memories of a band that contain each of some words."""
    return band, tuple(ranks), tuple(spaces), tuple(words)
