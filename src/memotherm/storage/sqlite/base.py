"""Transactions, snapshots and caches of a store in one SQLite file, or in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TypeVar

from memotherm.model import Scope
from memotherm.settings import Settings
from memotherm.storage.log_writer import Logged
from memotherm.storage.rows import scope_row
from memotherm.storage.sqlite.assumptions import Assumptions
from memotherm.storage.sqlite.bands import Bands
from memotherm.storage.sqlite.candidates import CandidateCache
from memotherm.storage.sqlite.combining import Combiner
from memotherm.storage.sqlite.connect import Connections
from memotherm.storage.sqlite.erasure import Erasure
from memotherm.storage.sqlite.files import MEMORY, require_openable
from memotherm.storage.sqlite.filters import Filters
from memotherm.storage.sqlite.migrate import SCHEMA_VERSION, migrate, require_ours
from memotherm.storage.sqlite.postings import CACHE_SIZE, Postings
from memotherm.storage.sqlite.record_cache import RecordCache
from memotherm.storage.sqlite.statements import Lending, SqliteStatements
from memotherm.storage.sqlite.textindex import rebuild
from memotherm.storage.sqlstore import (
    MOST_SCOPES,
    Outdated,
    SqlStore,
)
from memotherm.storage.statements import Statements
from memotherm.storage.values import Identity, LaterUse, RecallEntry, Search

__all__ = ["SqliteBase"]

Result = TypeVar("Result")

#: One part in so many of `candidate_cache_bytes` is for whole memories.
_PART_OF_RECORDS = 2


class SqliteBase(SqlStore):
    """The part of a store that reaches the file."""

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
        self._combiner = Combiner()
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

    def log_recall(self, entry: RecallEntry, *, keep: bool) -> None:
        """Count the uses of a recall and log it, unless the file can only be read."""
        if not self._connections.read_only:
            super().log_recall(entry, keep=keep)

    def log_later_use(self, later: LaterUse) -> None:
        """Record and count a use that followed a recall, unless the file can only be read."""
        if not self._connections.read_only:
            super().log_later_use(later)

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

    def _texts(self, nos: Sequence[int]) -> list[str]:
        """Return the words of some active memories, as one text each."""
        with self._reading() as statements:
            texts: dict[int, str] = dict(statements.rows("candidate_texts", nos=list(nos)))
        return [texts.get(no, "") for no in nos]

    def _fact(self, statements: SqliteStatements, name: str, **values: list[int]) -> int | None:
        """Return the number that a statement reads and that changes only with an event."""
        key = (name, *map(tuple, values.values()))
        value = self._postings.fact(statements, key, lambda: statements.value(name, **values))
        return None if value is None else int(value)
