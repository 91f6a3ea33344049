"""A store in one SQLite file, or in memory."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from memotherm.errors import StoreDamaged, StoreError, StoreUnavailable
from memotherm.model import Retention, Scope, Tier
from memotherm.model.clock import to_micros
from memotherm.model.results import Problem
from memotherm.settings import Settings
from memotherm.storage.candidates import Candidates
from memotherm.storage.log_writer import Logged
from memotherm.storage.rows import scope_row
from memotherm.storage.selecting import found_numbers
from memotherm.storage.sqlite.assumptions import Assumptions
from memotherm.storage.sqlite.backup import ORIGIN_KEY, copy
from memotherm.storage.sqlite.bands import Bands, decoded
from memotherm.storage.sqlite.candidates import CandidateCache
from memotherm.storage.sqlite.check import check, check_text_structure
from memotherm.storage.sqlite.connect import Connections
from memotherm.storage.sqlite.erasure import Erasure
from memotherm.storage.sqlite.files import MEMORY, require_openable
from memotherm.storage.sqlite.filters import BandKey, Filters
from memotherm.storage.sqlite.keys import MEMORY_MASK, PART_BITS, vector_base, vector_range
from memotherm.storage.sqlite.matches import best_matches, contained
from memotherm.storage.sqlite.migrate import SCHEMA_VERSION, migrate, require_ours
from memotherm.storage.sqlite.postings import CACHE_SIZE, Postings
from memotherm.storage.sqlite.record_cache import RecordCache
from memotherm.storage.sqlite.statements import Lending, SqliteStatements
from memotherm.storage.sqlite.textindex import rebuild
from memotherm.storage.sqlite.transaction import SqliteTransaction
from memotherm.storage.sqlite.transfer import SqliteTables
from memotherm.storage.sqlstore import (
    MOST_SCOPES,
    Outdated,
    SqlClaim,
    SqlStore,
    any_expired,
    identity_of,
    visible_rows,
)
from memotherm.storage.statements import Row, Statements
from memotherm.storage.values import Filter, Find, Identity, LaterUse, RecallEntry, Record, Scores, Search

__all__ = ["SqliteStore"]

Result = TypeVar("Result")
Vectors = NDArray[np.float32]
Numbers = NDArray[np.int64]
Strengths = NDArray[np.float64]

#: The share of all memories from which on a listing reads the table in its own order.
_LARGE_SHARE = 0.1
#: One part in so many of `candidate_cache_bytes` is for whole memories.
_PART_OF_RECORDS = 2


class SqliteStore(SqlStore):
    """Rows, words and vectors in one file; several processes may use it at once."""

    def __init__(self, path: str, settings: Settings) -> None:
        require_openable(path, settings.key)
        require_ours(path, settings.key)
        # In memory, all share one connection, and nothing waits for a disk.
        super().__init__(path, SCHEMA_VERSION, settings.use_window_days, {}, log_at_once=path == MEMORY)
        #: Scope -> the highest space number then, and the spaces it can see.
        self._visible: dict[Scope, tuple[int, tuple[int, ...]]] = {}
        self._connections = Connections(path, settings)
        self._connections.forking = self._log.stop
        #: The statements of the snapshot that the current thread is in.
        self._snapshots = threading.local()
        self._assumptions = Assumptions()
        try:
            migrate(self._connections)
            self._rebuild_if_outdated(rebuild)
            store = str(self._rows("meta_get", key="store")[0][0])
        except BaseException:
            self._connections.close()
            raise
        # The cache files are not encrypted.
        folder = None if path == MEMORY or settings.key else Path(f"{path}-vectors")
        self._filters = Filters()
        # A store in memory reads uncommitted data, which must not be cached.
        cached = path != MEMORY
        limits = (settings.exact_band_limit, settings.vector_cache_bytes)
        self._bands = Bands(store, folder, *limits, self._filters, keep_strengths=cached)
        self._erasure = Erasure(self._connections, self._bands)
        self._erasure.finish()
        self._postings = Postings(CACHE_SIZE if cached else 0)
        cache_bytes = settings.candidate_cache_bytes if cached else 0
        self._candidates = CandidateCache(cache_bytes - cache_bytes // _PART_OF_RECORDS, self._texts)
        self._records_read = RecordCache(cache_bytes // _PART_OF_RECORDS)

    def for_tenant(self, tenant: str | None) -> Self:
        """Return the same store as one tenant uses it; a file has no row-level security."""
        view = self._view()
        view.tenant = tenant
        return view

    def parts(self, scope: Scope) -> list[Self]:  # noqa: ARG002
        """Return the store itself, which holds what lies inside any scope."""
        return [self]

    def claims(
        self,
        name: str,
        holder: str,
        now: Callable[[], datetime],
        term: timedelta,
        before: datetime,
    ) -> Generator[SqlClaim[Self], None, None]:
        """Claim the whole store, unless another holder does the same job or it was done since `before`."""
        if not self._done_since(name, before, now()) and self.lease(name, holder, now(), now() + term):
            try:
                yield SqlClaim(self._view(), "lease_renew", {"name": name, "holder": holder}, now, term)
                with self._marking() as statements:
                    statements.run("meta_set", key=f"done:{name}", value=str(to_micros(now())))
            finally:
                self.release(name, holder)

    def _done_since(self, name: str, moment: datetime, now: datetime) -> bool:
        """Return whether a job was done since a moment; a time that is yet to come was that of a wrong clock."""
        done = self._rows("meta_get", key=f"done:{name}")
        return bool(done) and to_micros(moment) <= int(done[0][0]) <= to_micros(now)

    def for_recall(self) -> Self:
        """Return the store itself: a file has no replica."""
        return self

    def replica_lag(self) -> str | None:
        """Return None: what is read is what is written."""
        return None

    def _reading(self, *, once: bool = False, logged: bool = True) -> AbstractContextManager[SqliteStatements]:
        current: SqliteStatements | None = getattr(self._snapshots, "statements", None)
        if current is not None:
            return nullcontext(current)
        if logged:
            self._log.write()
        return Lending(self._connections.reading(once=once))

    def _writing(self) -> AbstractContextManager[SqliteStatements]:
        self._log.write()
        return Lending(self._connections.transaction())

    def _marking(self, *, join: bool = False) -> AbstractContextManager[SqliteStatements]:
        return Lending(self._connections.transaction(join=join))

    @contextmanager
    def _logging(self) -> Iterator[SqliteStatements]:
        with Lending(self._connections.logging()) as statements:
            yield statements
        for counted in statements.counted:
            self._candidates.add_uses(counted)
            self._records_read.add_uses(counted, self._shared.window_micros, statements.averaged)

    def _log_entries(self, statements: Statements, entries: Sequence[Logged]) -> None:
        super()._log_entries(statements, entries)
        if isinstance(statements, SqliteStatements):
            recalls = [logged.entry for logged in entries if isinstance(logged.entry, RecallEntry)]
            statements.averaged.update(no for entry in recalls for no, _ in entry.relevance)

    def _made_by(self, number: int) -> dict[str, object]:
        return {"base": vector_base(number)}

    def log_recall(self, entry: RecallEntry, *, keep: bool) -> None:
        """Count the uses of a recall and log it, unless the file can only be read."""
        if not self._connections.read_only:
            super().log_recall(entry, keep=keep)

    def log_later_use(self, later: LaterUse) -> None:
        """Record and count a use that followed a recall, unless the file can only be read."""
        if not self._connections.read_only:
            super().log_later_use(later)

    # Reading

    @contextmanager
    def snapshot(self, search: Search | None = None) -> Iterator[int | None]:  # noqa: ARG002
        """Let the reads of this thread see one state of the store until the context is left."""
        before = getattr(self._snapshots, "statements", None)
        with self._connections.snapshot(), Lending(self._connections.reading()) as statements:
            if before is None:
                with self._log.beginning() as statements.waiting:
                    statements.moment()
                self._shared.saw(statements.basis.adopted)
                self._assumptions.verify(statements.basis)
            self._snapshots.statements = before or statements
            try:
                yield self._snapshots.statements.moment().seq
            finally:
                self._snapshots.statements = before

    def optimistically(self, read: Callable[[], Result]) -> Result:
        """Return the result of a read that asks for spaces and the serving embedder, and then begins a snapshot.

        It gets what the last snapshot has shown; if its own shows something else, it is repeated.
        """
        begun = getattr(self._snapshots, "statements", None) is not None or self._assumptions.basis is not None
        # A store in memory shows what is not committed yet.
        if not begun and self.name != MEMORY:
            with suppress(Outdated), self._assumptions.relied_on():
                return read()
        return read()

    def identity(self, name: str | None = None) -> Identity | None:
        """Return the embedder that serves searches, or the one with a name; None if there is none."""
        assumed = None if name is not None else self._assumptions.identity()
        if assumed is not None:
            return assumed
        identity = super().identity(name)
        if name is None:
            self._assumptions.keep(identity)
        return identity

    def pinned(self, spaces: Sequence[int], now: datetime) -> list[Record]:
        """Return the visible pinned memories, oldest first."""
        with self._reading() as statements:
            count = self._fact(statements, "pinned_count", spaces=list(spaces))
        return super().pinned(spaces, now) if count else []

    def pending(self, spaces: Sequence[int]) -> int:
        """Return the number of visible memories without vectors."""
        with self._reading() as statements:
            statements.moment()
            return super().pending(spaces) if statements.any_pending else 0

    def spaces(self, scope: Scope) -> tuple[int, ...]:
        """Return the spaces whose memories a scope can see."""
        known, assumed = self._visible.get(scope), self._assumptions.basis
        if known is not None and assumed is not None and known[0] == assumed.space:
            return known[1]
        if known is not None:
            last, adopted = self._unlogged_rows("space_last")[0]
            self._shared.saw(adopted)
            if known[0] == last:
                return known[1]
        with self._reading(logged=False) as statements:
            last, adopted = statements.rows("space_last")[0]
            spaces = tuple(space for space, _ in statements.rows("spaces_visible", **scope_row(scope)))
        self._shared.saw(adopted)
        # Spaces are only ever added, so this stays true until there is a new one (in memory, it may be taken back).
        if self.name != MEMORY:
            if len(self._visible) >= MOST_SCOPES:
                self._visible.clear()
            self._visible[scope] = (last, spaces)
        return spaces

    def find(self, spaces: Sequence[int], find: Find) -> list[Record]:
        """Return a page of memories in the order of the listing; every context lists hot ones, which are cached."""
        listed_again = find.tier is Tier.HOT and find.order == "newest" and not find.skip
        if not listed_again or getattr(self._snapshots, "statements", None) is None:
            return super().find(spaces, find)
        with self._reading() as statements:
            nos = found_numbers(statements, spaces, find)
        records = self.records(nos)
        return [records[no] for no in nos]

    def _reads_in_order(self, statements: Statements, spaces: Sequence[int], find: Find) -> bool:
        """Return whether a large share of all memories is listed, so that a page is soon full.

        A page of 100 from one space with 100,000 memories takes 1 ms instead of 320 ms by the index and a sort.
        """
        if find.tier is Tier.HOT or find.tags is not None or find.retention not in (None, Retention.ACTIVE):
            return False
        tiers = [tier.rank for tier in (Tier if find.tier is None else [find.tier])]
        count = int(statements.value("count_in", spaces=list(spaces), tiers=tiers))
        return count >= _LARGE_SHARE * int(statements.value("memory_last_no"))

    # Searching

    def candidates(self, spaces: Sequence[int], tiers: Sequence[Tier], nos: Sequence[int], where: Filter) -> Candidates:
        """Return those of some memories that scope, tiers, retention and filter let through, in their order."""
        with self._reading() as statements:
            return self._candidates.visible(statements, spaces, tiers, nos, where)

    def _memory_rows(self, statements: Statements, nos: Sequence[int]) -> list[Row]:
        current: SqliteStatements | None = getattr(self._snapshots, "statements", None)
        if current is None:
            return super()._memory_rows(statements, nos)
        return self._records_read.rows(current, nos)

    def active(self, nos: Sequence[int]) -> Candidates:
        """Return those of some memories that are active, in their order: the turns before a message."""
        with self._reading() as statements:
            return self._candidates.active(statements, nos)

    def _texts(self, nos: Sequence[int]) -> list[str]:
        """Return the words of some active memories, as one text each."""
        with self._reading() as statements:
            texts: dict[int, str] = dict(statements.rows("candidate_texts", nos=list(nos)))
        return [texts.get(no, "") for no in nos]

    def search_text(
        self, spaces: Sequence[int], tiers: Sequence[Tier], words: Sequence[str], limit: int, where: Filter
    ) -> Scores:
        """Return the best keyword matches, strongest first, newest first among equals."""
        with self._reading() as statements:
            lists, total = self._counted(statements, spaces, tiers, words)
            expired = self._any_expired(statements, spaces, where.now)
            filtered = where.selective or expired
            allowed = (
                None if expired or not where.selective else self._filters.numbers(statements, spaces, tiers, where)
            )
            # About as many as a filter over half leaves enough of.
            wanted = 3 * limit if where.selective else limit
            while True:
                nos, strengths = best_matches(lists, total, wanted)
                found = _contained(nos, strengths, allowed) if allowed is not None else (nos, strengths)
                scores = dict(zip(*(column.tolist() for column in found), strict=True))
                if filtered and allowed is None:
                    scores = _visible(statements, spaces, tiers, scores, where)
                if len(scores) >= limit or len(nos) < wanted:
                    return _first(limit, scores)
                wanted *= 4

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
        keys = [BandKey(space, tier) for space in spaces for tier in tiers]
        with self._reading() as statements:
            identity = by or identity_of(statements)
            if identity is None:
                return {}
            wanted = limit
            while True:
                scores = self._bands.search(statements, identity, keys, vector, wanted, where)
                if not self._any_expired(statements, spaces, where.now):
                    return scores
                visible = _visible(statements, spaces, tiers, scores, where)
                if len(visible) >= limit or len(scores) < wanted:
                    return _first(limit, visible)
                wanted *= 4

    def similarities(
        self,
        spaces: Sequence[int],
        tiers: Sequence[Tier],
        nos: Sequence[int],
        vector: Vectors,
        by: Identity | None = None,
    ) -> dict[int, float]:
        """Return the cosine of each of the memories that has vectors; its nearest part counts."""
        keys = [BandKey(space, tier) for space in spaces for tier in tiers]
        with self._reading() as statements:
            identity = by or identity_of(statements)
            return {} if identity is None else self._bands.cosines(statements, identity, keys, nos, vector)

    def frequencies(
        self, spaces: Sequence[int], tiers: Sequence[Tier], words: Sequence[str]
    ) -> tuple[int, dict[str, int]]:
        """Return the number of memories in some spaces and tiers, and the number that contain each word."""
        with self._reading() as statements:
            lists, total = self._counted(statements, spaces, tiers, words)
        return total, dict(zip(words, map(len, lists), strict=True))

    def _counted(
        self, statements: SqliteStatements, spaces: Sequence[int], tiers: Sequence[Tier], words: Sequence[str]
    ) -> tuple[list[NDArray[np.int64]], int]:
        """Return the memories that contain each word, and the number of all memories."""
        total = self._fact(statements, "count_in", spaces=list(spaces), tiers=[tier.rank for tier in tiers]) or 0
        return [self._postings.of(statements, spaces, tiers, word) for word in words], total

    def _any_expired(self, statements: SqliteStatements, spaces: Sequence[int], now: datetime) -> bool:
        """Return whether there are expired memories that maintenance has not processed yet."""
        first = self._fact(statements, "first_expiry")
        return first is not None and first <= to_micros(now) and any_expired(statements, spaces, now)

    def _fact(self, statements: SqliteStatements, name: str, **values: list[int]) -> int | None:
        """Return the number that a statement reads and that changes only with an event."""
        key = (name, *map(tuple, values.values()))
        value = self._postings.fact(statements, key, lambda: statements.value(name, **values))
        return None if value is None else int(value)

    # Writing

    @contextmanager
    def write(self, *, made_by: int | None = None) -> Iterator[SqliteTransaction]:
        """Begin a transaction."""
        with self._writing() as statements:
            if self.claim is not None:
                self.claim.require(statements)
            # A cache of its own: after a rollback, the numbers of new spaces may be assigned to other scopes.
            scopes: dict[int, Scope] = {}
            transaction = SqliteTransaction(
                statements,
                lambda space: self._scope(statements, space, scopes),
                self._shared.window_micros,
                made_by,
                self._connections.text_changes,
            )
            self._shared.saw(transaction.adopted)
            yield transaction
            transaction.finish()
            self._log.forget(transaction.erased_spaces)
        self._shared.saw(transaction.adopted)
        if transaction.purged or transaction.log_pending:
            self._connections.deferral.then(lambda: self._erasure.finish(wait=transaction.purged))

    def deferring(self) -> AbstractContextManager[None]:
        """Commit the last transaction of this thread when the context is left, with the values stored after it."""
        return self._connections.deferral.active()

    # Embedders and their vectors

    def register_embedder(self, name: str, dimensions: int, *, serve: bool = True) -> Identity:
        """Register an embedder and return its number; the first one with `serve` serves searches at once."""
        with self._writing() as statements:
            number = int(statements.value("embedder_put", name=name, dimensions=dimensions))
            if serve and identity_of(statements) is None:
                statements.run("meta_set", key="embedder", value=str(number))
        return Identity(number=number, name=name, dimensions=dimensions)

    def cached_vectors(self, digest: str) -> Vectors | None:
        """Return the vectors of the same content that the tenant can see, made by the serving embedder."""
        key: dict[str, object] = {"digest": bytes.fromhex(digest), "tenant": self.tenant}
        if not self._rows("vectors_by_digest", **key):
            return None
        with self._reading() as statements:
            identity = identity_of(statements)
            no = statements.value("vectors_by_digest", **key)
            if identity is None or no is None:
                return None
            rows = statements.rows("vectors_between", **vector_range(identity.number, no)._asdict())
        return decoded([blob for _, blob in rows], identity.dimensions) if rows else None

    def vectors_of(self, nos: Sequence[int]) -> dict[int, Vectors]:
        """Return the vectors of memories by number, made by the serving embedder; those without are left out."""
        with self._reading() as statements:
            identity = identity_of(statements)
            if identity is None:
                return {}
            rows = statements.rows("vectors_of_memories", nos=list(nos), base=vector_base(identity.number))
        blobs: dict[int, list[bytes]] = defaultdict(list)
        for key, blob in sorted(rows):
            blobs[key >> PART_BITS & MEMORY_MASK].append(blob)
        return {no: decoded(parts, identity.dimensions) for no, parts in blobs.items()}

    def sample_vectors(self, limit: int, by: Identity | None = None) -> Vectors | None:
        """Return a repeatable sample of the vectors made `by` an embedder (None = the serving one)."""
        identity = by or self.identity()
        if identity is None:
            return None
        base = vector_base(identity.number)
        rows = self._rows("vectors_sample", low=base, high=vector_base(identity.number + 1) - 1, limit=limit)
        return decoded([blob for _, blob in rows], identity.dimensions) if rows else None

    # Maintenance

    @contextmanager
    def read_tables(self) -> Iterator[SqliteTables]:
        """Open the tables for reading, in one snapshot."""
        with self._reading() as statements:
            yield SqliteTables(statements)

    @contextmanager
    def write_tables(self) -> Iterator[SqliteTables]:
        """Open the tables for writing, in one transaction."""
        with self._writing() as statements:
            yield SqliteTables(statements)

    def size(self) -> int:
        """Return the bytes the store takes, without the log of what is not checkpointed yet."""
        with self._connections.reading() as connection:
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            (page_size,) = connection.execute("PRAGMA page_size").fetchone()
        return int(pages) * int(page_size)

    def build_indexes(self) -> None:
        """Finish a pending erasure; bands are built when they are searched."""
        self._erasure.finish()

    def check(self) -> list[Problem]:
        """Check the consistency of all tables and indexes and return the problems."""
        try:
            missing = self._connections.missing_files()
        except StoreUnavailable:
            missing = [self.name]
        if missing:
            detail = "was moved, deleted or replaced while the store is open: put it back, or open the store again"
            return [Problem(code="file_gone", detail=f"{name} {detail}") for name in missing]
        self._log.write()
        try:
            caches = self._bands.cache_files()
            # A full-text table of a newer SQLite compares with what its connection has read before a write of another.
            with Lending(self._connections.fresh_reading()) as statements:
                problems = check(statements, identity_of(statements))
                problems += self._bands.check(statements.connection, caches)
            if self._connections.read_only:
                return problems
            with self._writing() as statements:
                return problems + check_text_structure(statements)
        except (StoreDamaged, ValueError, LookupError, TypeError, AttributeError) as exc:
            # Pages that cannot be read, or that read back as something no writer writes.
            return [Problem(code="file", detail=f"the file is damaged and could not be read to the end: {exc}")]

    def checkpoint(self, path: Path, origin: str | None = None) -> None:
        """Write a consistent copy to a new file while the store is in use; it records its origin."""
        self._log.write()
        with self._connections.reading() as connection:
            meta = {ORIGIN_KEY: origin or self._connections.path}
            copy(connection, path, meta=meta, cipher=self._connections.cipher_for(path))

    def close(self) -> None:
        """Close all connections; calling it twice, or in a forked process, is harmless."""
        if not self._process.current:
            return
        self._log.close()
        with suppress(StoreError):
            self._erasure.finish()
            with self._connections.reading() as connection:
                self._bands.close(connection)
        self._connections.close()


def _visible(
    statements: SqliteStatements, spaces: Sequence[int], tiers: Sequence[Tier], scores: Scores, where: Filter
) -> Scores:
    """Return the scores of those memories that are not expired and that the filter lets through."""
    visible = {row[0] for row in visible_rows(statements, "visible", spaces, tiers, list(scores), where)}
    return {no: score for no, score in scores.items() if no in visible}


def _contained(nos: Numbers, strengths: Strengths, allowed: Sequence[Numbers]) -> tuple[Numbers, Strengths]:
    """Return the matches that are in one of some lists."""
    passing = np.any([contained(nos, numbers) for numbers in allowed], axis=0)
    return nos[passing], strengths[passing]


def _first(count: int, scores: Scores) -> Scores:
    return dict(islice(scores.items(), count))
