"""A store in one SQLite file, or in memory."""

from __future__ import annotations

import functools
import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from memotherm.errors import StoreBusy, StoreDamaged, StoreError, StoreUnavailable
from memotherm.model import SCOPE_FIELDS, Retention, Scope, Tier
from memotherm.model.clock import to_micros
from memotherm.model.results import Problem
from memotherm.settings import Settings
from memotherm.storage.base import Expected
from memotherm.storage.base import Job as WriteJob
from memotherm.storage.candidates import Candidates
from memotherm.storage.filters import filtered_numbers
from memotherm.storage.rows import scope_row
from memotherm.storage.sqlite import driver
from memotherm.storage.sqlite.bands import BandKey, Bands, decoded
from memotherm.storage.sqlite.columns import CandidateColumns, candidate_rows
from memotherm.storage.sqlite.connections import Connections, mapped
from memotherm.storage.sqlite.copies import ORIGIN_KEY, SqliteTables, copy
from memotherm.storage.sqlite.driver import MEMORY, require_openable
from memotherm.storage.sqlite.statements import (
    MEMORY_MASK,
    PART_BITS,
    SqliteStatements,
    vector_base,
)
from memotherm.storage.sqlite.tables import SCHEMA_VERSION, check, check_text_structure, migrate, require_ours
from memotherm.storage.sqlite.text_search import best_matches, posting_lists
from memotherm.storage.sqlite.transaction import ERASURE_KEY, INDEXES, LOG, SqliteTransaction, rebuild, remove_index
from memotherm.storage.statements import Row, Statements
from memotherm.storage.store import Store, Transaction
from memotherm.storage.values import Identity, Prefetch, RecallEntry, Scores, Search, TextMatches
from memotherm.storage.writer import Answer, Committing, Job, UnwrittenEntry

_log = logging.getLogger(__name__)

Vectors = NDArray[np.float32]
Result = TypeVar("Result")
#: Vectors up to which a band is searched exactly, in about 1 ms; codes of a larger one are worth their build.
EXACT_LIMIT = 20_000
#: Memory for vectors, beyond which the least recently searched bands are evicted: the codes of a million memories.
VECTOR_CACHE_BYTES = 256 << 20
#: Memory for the fields that ranking uses: about 100,000 memories.
CANDIDATE_CACHE_BYTES = 24 << 20
#: The share of all memories from which on a listing reads the table in its own order.
_LARGE_SHARE = 0.1
#: How long the writer waits for readers that are about to finish, so that the log can be truncated.
_WAIT_MS = 50


class _Snapshot(threading.local):
    """The statements of the snapshot that the current thread is in."""

    statements: SqliteStatements | None = None


class SqliteStore(Store):
    """Rows, words and vectors in one file; several processes may use it at once."""

    _transaction = SqliteTransaction
    #: The error of the last text search, if the index is lost.
    _lost_text = ""

    def __init__(self, path: str, settings: Settings) -> None:
        require_openable(path, settings.key)
        require_ours(path, settings.key)
        super().__init__(path, SCHEMA_VERSION, self._execute)
        self._connections = Connections(path, settings, self._writer)
        self._snapshot = _Snapshot()
        try:
            migrate(self._connections, self._writer)
            self._rebuild_if_outdated(rebuild)
            store = str(self.meta("store"))
        except BaseException:
            self._connections.close()
            raise
        # The files of bands are not encrypted.
        folder = None if path == MEMORY or settings.key else Path(f"{path}-vectors")
        self._bands = Bands(store, folder, EXACT_LIMIT, VECTOR_CACHE_BYTES)
        self._columns = CandidateColumns(CANDIDATE_CACHE_BYTES, self._texts)
        self._finish_erasure()

    # Transactions

    def _committed(self, transaction: Transaction) -> None:
        super()._committed(transaction)
        if isinstance(transaction, SqliteTransaction) and (transaction.purged or transaction.log_pending):
            self._finish_erasure(wait=transaction.purged)

    def _run(self, job: WriteJob[Result], *, exclusive: bool) -> Result:  # noqa: ARG002 - there is one writer
        return self._writer.run(job)

    @contextmanager
    def _exclusive(self) -> Iterator[SqliteStatements]:
        self._process.require()
        self._writer.flush()
        with self._writer.held(), self._connections.transaction(self._count_uses) as statements:
            yield statements

    def _execute(self, jobs: Sequence[Job], entries: Sequence[UnwrittenEntry], committing: Committing) -> None:
        """Write entries of the log and run jobs in one transaction."""
        log = Job(lambda statements: self._write_log(statements, entries), Answer())
        jobs = [log, *jobs] if entries else jobs
        try:
            transaction = self._connections.transaction(self._count_uses, committing(entries), log_only=jobs == [log])
            with transaction as statements:
                answers = [self._answer(statements, job, alone=len(jobs) == 1) for job in jobs]
        except BaseException as exc:  # noqa: BLE001 - the callers get it
            answers = [functools.partial(job.answer.set, error=exc) for job in jobs]
        for answer in answers:
            answer()
        if entries:
            log.answer.wait()  # raises its error

    def _answer(self, statements: SqliteStatements, job: Job, *, alone: bool) -> Callable[[], None]:
        """Run a job so that its failure takes back nothing else, and return what gives its caller the answer.

        A job that is `alone` fails with its transaction.
        """
        connection = statements.connection
        changes, counted = len(statements.text_changes), len(statements.counted)
        if not alone:
            connection.execute("SAVEPOINT job")
        try:
            with mapped(self.name):
                answer = functools.partial(job.answer.set, job.call(statements))
        except BaseException as exc:
            if alone or not self._process.current or not connection.in_transaction:
                raise  # in a fork, or SQLite has rolled back everything
            del statements.text_changes[changes:], statements.counted[counted:]
            connection.execute("ROLLBACK TO job")
            answer = functools.partial(job.answer.set, error=exc)
        if not alone:
            connection.execute("RELEASE job")
        return answer

    def _count_uses(self, statements: SqliteStatements) -> None:
        """Add the uses of a transaction to the columns; it is committed, so that a failure only clears them."""
        try:
            for counted in statements.counted:
                self._columns.add_uses(counted)
        except Exception:  # noqa: BLE001 - the caller's change is stored
            self._columns.clear()
            _log.exception("the uses of recalls are read again from %s", self.name)

    def log_recall(self, entry: RecallEntry, *, keep: bool) -> None:
        """Count the uses of a recall and log it, unless the file cannot be written."""
        if not self._connections.read_only:
            super().log_recall(entry, keep=keep)

    # Reading

    def _reading(
        self,
        *,
        once: bool = False,
        logged: bool = True,
        expected: Expected | None = None,  # noqa: ARG002 - there is no round trip
    ) -> AbstractContextManager[SqliteStatements]:
        current: Statements | None = self._snapshot.statements
        if current is None and (unit := self._local.unit) is not None:
            current = unit.statements
        if isinstance(current, SqliteStatements):
            return nullcontext(current)
        self._process.require()
        if logged:
            self._writer.flush()
        return self._connections.reading(once=once)

    def _searching(self) -> AbstractContextManager[SqliteStatements]:
        """Return the statements of the snapshot, or new ones; a search does not see a unit of work."""
        current = self._snapshot.statements
        if current is not None:
            return nullcontext(current)
        self._writer.flush()
        return self._connections.reading()

    @contextmanager
    def snapshot(self, prefetch: Prefetch | None = None) -> Iterator[int | None]:  # noqa: ARG002
        """Let the reads of this thread see one state of the store until the context is left."""
        before = self._snapshot.statements
        if before is not None:
            yield before.moment().seq
            return
        with ExitStack() as stack:
            if self.name == MEMORY:
                # Its only connection is held first: whoever commits entries waits for snapshots that begin.
                self._writer.flush()
                statements = stack.enter_context(self._connections.reading())
                moment = statements.moment()
            else:
                with self._writer.snapshot() as unwritten:
                    statements = stack.enter_context(self._connections.reading())
                    moment = statements.moment()
                statements.unwritten = unwritten
            self._saw(statements.adopted)
            try:
                self._snapshot.statements = statements
                yield moment.seq
            finally:
                self._snapshot.statements = None

    def _visible_rows(self, statements: Statements, scope: Scope) -> list[Row]:
        fields = {name: value for name, value in scope_row(scope).items() if value}
        return statements.rows_of("spaces_visible_in", {"conditions": _visible_to(tuple(fields))}, **fields)

    def _reads_in_order(self, statements: Statements, search: Search) -> bool:
        """Return whether a large share of all memories is listed, so that a page is soon full.

        A page of 100 from one space with 100,000 memories takes 1 ms instead of 320 ms by the index and a sort.
        """
        if search.tiers == (Tier.HOT,) or search.tags is not None or Retention.ACTIVE not in search.retentions:
            return False
        tiers = [tier.rank for tier in search.tiers]
        count = int(statements.value("count_in", spaces=list(search.spaces), tiers=tiers))
        return count >= _LARGE_SHARE * int(statements.value("memory_last_no"))

    # Searches

    def _active_candidates(self, search: Search, nos: Sequence[int]) -> Candidates:
        with self._searching() as statements:
            return self._columns.visible(statements, search, nos)

    def active(self, nos: Sequence[int]) -> Candidates:
        """Return the memories that are active, in their order: the turns before a message."""
        with self._searching() as statements:
            return self._columns.active(statements, nos)

    def _texts(self, nos: Sequence[int]) -> list[str]:
        """Return the words of some active memories, as one text each."""
        with self._searching() as statements:
            texts: dict[int, str] = {row[0]: row[8] for row in candidate_rows(statements, list(nos))}
        return [texts.get(no, "") for no in nos]

    def recall_problems(self) -> list[str]:
        """Return a sentence about a lost text index, beside those of every store."""
        lost = f"text search is down ({self._lost_text}), so words were not searched: {driver.REPAIR}"
        return [*super().recall_problems(), *([lost] if self._lost_text else [])]

    def _active_matches(self, search: Search, words: Sequence[str], limit: int) -> TextMatches:
        with self._searching() as statements:
            total, any_expired = _searched(statements, search)
            if not total:
                return TextMatches({}, 0, dict.fromkeys(words, 0))
            try:
                lists, self._lost_text = posting_lists(statements, search.spaces, search.tiers, words), ""
            except driver.errors() as exc:
                if not driver.is_lost_index(exc):
                    raise
                self._lost_text = str(exc)
                return TextMatches({}, total, dict.fromkeys(words, 0))
            filtered = any_expired or search.selective
            # About as many as a filter over half leaves enough of.
            wanted = 3 * limit if search.selective else limit
            while True:
                nos, weights = best_matches(lists, total, wanted)
                scores = dict(zip(nos.tolist(), weights.tolist(), strict=True))
                if filtered:
                    passing = filtered_numbers(statements, list(scores), search)
                    scores = {no: score for no, score in scores.items() if no in passing}
                if len(scores) >= limit or len(nos) < wanted:
                    frequencies = dict(zip(words, map(len, lists), strict=True))
                    return TextMatches(dict(islice(scores.items(), limit)), total, frequencies)
                wanted *= 4

    def _active_nearest(self, search: Search, vector: Vectors, limit: int, by: Identity | None) -> Scores:
        with self._searching() as statements:
            identity = by or statements.embedder()
            if identity is None:
                return {}
            filtered = search if _searched(statements, search)[1] or search.selective else None
            return self._bands.search(statements, identity, _bands_of(search), vector, limit, filtered)

    def similarities(
        self, search: Search, nos: Sequence[int], vector: Vectors, by: Identity | None = None
    ) -> dict[int, float]:
        """Return the cosine of each of some memories that has vectors; its nearest part counts."""
        with self._searching() as statements:
            identity = by or statements.embedder()
            if identity is None:
                return {}
            return self._bands.similarities(statements, identity, _bands_of(search), nos, vector)

    # Embedders and vectors

    def served_vectors(self, digests: Collection[str]) -> tuple[Identity | None, Mapping[str, Vectors]]:
        """Return the serving embedder, and what it has made of contents that the tenant can see."""
        vectors: dict[str, Vectors] = {}
        # If another embedder serves in between, the transaction that stores the vectors refuses them.
        with self._reading(once=True, logged=False) as statements:
            identity = statements.embedder()
            if identity is None:
                return None, {}
            for digest in digests:
                key = {"digest": bytes.fromhex(digest), "tenant": self.tenant, "number": identity.number}
                if rows := statements.rows("vectors_by_digest", **key):
                    vectors[digest] = decoded([blob for (blob,) in rows], identity.dimensions)
        return identity, vectors

    def vectors_of(self, nos: Sequence[int]) -> dict[int, Vectors]:
        """Return the vectors of memories by number, made by the serving embedder; those without are left out."""
        with self._reading(logged=False) as statements:
            identity = statements.embedder()
            if identity is None:
                return {}
            rows = statements.rows("vectors_of_memories", nos=list(nos), base=vector_base(identity.number))
        blobs: dict[int, list[bytes]] = defaultdict(list)
        for key, blob in sorted(rows):
            blobs[key >> PART_BITS & MEMORY_MASK].append(blob)
        return {no: decoded(parts, identity.dimensions) for no, parts in blobs.items()}

    def sample_vectors(self, limit: int, by: Identity) -> Vectors | None:
        """Return a repeatable sample of the vectors made `by` an embedder."""
        base, high = vector_base(by.number), vector_base(by.number + 1) - 1
        rows = self._unlogged_rows("vectors_sample", low=base, high=high, limit=limit)
        return decoded([blob for _, blob in rows], by.dimensions) if rows else None

    # Maintenance

    def _tables(self, statements: SqliteStatements) -> SqliteTables:
        return SqliteTables(statements)

    def size(self) -> int:
        """Return the bytes the store takes, without the log of what is not checkpointed yet."""
        with self._reading() as statements:
            (pages,) = statements.connection.execute("PRAGMA page_count").fetchone()
            (page_size,) = statements.connection.execute("PRAGMA page_size").fetchone()
        return int(pages) * int(page_size)

    def build_indexes(self) -> None:
        """Finish a pending erasure; bands are built when they are searched."""
        self._finish_erasure()

    def _finish_erasure(self, *, wait: bool = True) -> None:
        """Erase copies of purged contents, as far as other connections permit; the rest stays pending."""
        with self._connections.reading(once=True) as statements:
            state: str | None = statements.value("meta_get", key=ERASURE_KEY)
        if state is None:
            return
        following = state.replace(INDEXES, LOG, 1)

        def rewrite(statements: SqliteStatements) -> None:
            statements.run("text_live_optimize")
            statements.run("text_cold_optimize")
            statements.run("meta_replace", key=ERASURE_KEY, before=state, value=following)

        try:
            if state.startswith(INDEXES):
                self._bands.forget_files()
                self._writer.run(rewrite)
            if self._connections.truncate_log(_WAIT_MS if wait else 0):
                # Unless another purge came in between.
                done = {"key": ERASURE_KEY, "value": following}
                self._writer.run(lambda statements: statements.run("meta_drop_value", **done))
        except StoreBusy:
            return
        except (StoreError, OSError) as exc:
            # The purge itself is committed, and a damaged index must not keep the store from being opened and repaired.
            _log.warning("purged content is not erased from the files yet, which will be tried again: %s", exc)

    def repair(self) -> None:
        """Create the text index anew from the memories."""

        def recreate(statements: SqliteStatements) -> None:
            for table in ("text_live", "text_cold"):
                remove_index(statements, table)
                statements.run(f"{table}_create")
            rebuild(statements)

        self._write(recreate)
        self._columns.clear()

    def check(self) -> list[Problem]:
        """Check the consistency of all tables and indexes and return the problems."""
        try:
            missing = self._connections.missing_files()
        except StoreUnavailable:
            missing = [self.name]
        if missing:
            detail = "was moved, deleted or replaced while the store is open: put it back, or open the store again"
            return [Problem(code="file_gone", detail=f"{name} {detail}") for name in missing]
        self._writer.flush()
        try:
            caches = self._bands.cache_files()
            # A full-text table of a newer SQLite compares with what its connection has read before a write of another.
            with self._connections.reading(new=True) as statements:
                problems = check(statements, statements.embedder())
                problems += self._bands.check(statements, caches)
                problems += self._columns.check(statements)
                problems += self._check_scopes(statements)
            if self._connections.read_only:
                return problems
            return problems + self._write(check_text_structure)
        except (StoreDamaged, ValueError, LookupError, TypeError, AttributeError) as exc:
            # Pages that cannot be read, or that read back as something no writer writes.
            return [Problem(code="file", detail=f"the file is damaged and could not be read to the end: {exc}")]

    writes_checkpoints = True

    def checkpoint(self, path: Path, origin: str | None = None) -> None:
        """Write a consistent copy to a new file while the store is in use; it records its origin."""
        with self._reading() as statements:
            meta = {ORIGIN_KEY: origin or self._connections.path}
            copy(statements.connection, path, meta=meta, cipher=self._connections.cipher_for(path))

    def close(self) -> None:
        """Close all connections; calling it twice, or in a forked process, is harmless."""
        if not self._process.current:
            return
        with suppress(StoreError):
            self._finish_erasure()
        self._writer.close()
        with suppress(StoreError), self._connections.reading() as statements:
            self._bands.close(statements.connection)
        self._connections.close()


@functools.cache
def _visible_to(fields: tuple[str, ...]) -> str:
    """Return the condition on the scopes that one with some fields sees; the others have one value to look up."""
    columns = {name: "user_" if name == "user" else name for name in SCOPE_FIELDS}
    return " AND ".join(
        f"{column} IN ('', :{name})" if name in fields else f"{column} = ''" for name, column in columns.items()
    )


def _searched(statements: SqliteStatements, search: Search) -> tuple[int, bool]:
    """Return how many memories a search is about, and whether expired ones may be among them; it is read once."""
    asked = (search.spaces, search.tiers, search.now)
    if asked not in statements.searched:
        tiers = [tier.rank for tier in search.tiers]
        values = {"spaces": list(search.spaces), "tiers": tiers, "now": to_micros(search.now)}
        ((count, any_expired),) = statements.rows("searched", **values)
        statements.searched[asked] = int(count), bool(any_expired)
    return statements.searched[asked]


def _bands_of(search: Search) -> list[BandKey]:
    return [BandKey(space, tier) for space in search.spaces for tier in search.tiers]
