"""One transaction on a SQLite store."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from memotherm.model import Retention, Scope, Tier
from memotherm.storage.sqlite.erasure import Erasure
from memotherm.storage.sqlite.keys import text_key, vector_base, vector_range
from memotherm.storage.sqlite.statements import SqliteStatements
from memotherm.storage.sqlite.textindex import TextChange, change_text
from memotherm.storage.transaction import SqlTransaction, indexed_words
from memotherm.storage.values import Cause, Record, UsageCounts

__all__ = ["SqliteTransaction"]

Vectors = NDArray[np.float32]

#: How many changes of the text indexes wait for each other in a transaction that need not wait for others.
_MOST_TEXT_CHANGES = 10_000


class SqliteTransaction(SqlTransaction):
    """A write transaction; there is only one writer, so the next numbers follow from the highest ones."""

    def __init__(
        self,
        statements: SqliteStatements,
        scope_of: Callable[[int], Scope],
        window_micros: int,
        made_by: int | None = None,
        text_changes: list[TextChange] | None = None,
    ) -> None:
        """Begin.

        Args:
            statements: The statements on the connection of the transaction.
            scope_of: Returns the scope of a space.
            window_micros: The time in which uses count as recent.
            made_by: The number of the embedder that has made the vectors of the caller.
            text_changes: Where changes of the text indexes wait for the commit; None to make them at the end.
        """
        super().__init__(statements, scope_of, window_micros, made_by)
        self._sql: SqliteStatements = statements
        self._seq: int
        self._last_no: int
        self._seq, self._last_no, erasure = self._begun
        #: Whether the log of an earlier purge is left to be truncated.
        self.log_pending = Erasure.is_log(erasure)
        self._waiting_changes = text_changes
        self._text_changes: list[TextChange] = []

    def finish(self) -> None:
        """Change the text indexes, or let that wait, and erase what the logs say about purged memories."""
        if self._waiting_changes is None:
            self._change_text()
        else:
            self._waiting_changes += self._text_changes
        super().finish()

    def duplicate(
        self, space: int, digest: str, kind: str, now: datetime, since: datetime | None = None
    ) -> Record | None:
        """Return the visible memory of a space with the same content and no key, if it was created since a moment."""
        # Nearly every content is new, and the index of digests knows that at once.
        if not self._sql.rows("digest_known", digest=bytes.fromhex(digest)):
            return None
        return super().duplicate(space, digest, kind, now, since)

    def purge(self, record: Record, cause: Cause, *, clean: bool = True) -> Record:
        """Erase a memory; the copies in indexes and log are erased after the commit, or later."""
        purged = super().purge(record, cause, clean=clean)
        self._record_erasure()
        return purged

    def erase_usage(self, spaces: Sequence[int]) -> UsageCounts:
        """Delete what the logs hold of some spaces; the copies in the write-ahead log are erased after the commit."""
        counts = super().erase_usage(spaces)
        self._record_erasure()
        return counts

    def _record_erasure(self) -> None:
        Erasure.record(self._sql, self._seq)
        self.log_pending = False

    def prefetch_duplicates(self, digests: Collection[str]) -> None:
        """Do nothing: a statement takes no round trip here."""

    def _next_seq(self) -> int:
        self._seq += 1
        return self._seq

    def _next_numbers(self) -> tuple[int, int]:
        self._last_no += 1
        return self._last_no, self._next_seq()

    def _index(self, record: Record) -> None:
        row = _text_row(record)
        if row is not None:
            table, rowid = row
            text = indexed_words(record.memory.content, record.memory.tags)
            self._queue_text(f"{table}_add", rowid=rowid, words=text)

    def _reindex(self, record: Record, changed: Record, *, words: bool) -> None:
        before, after = _text_row(record), _text_row(changed)
        if before == after and not words:
            return
        if before is not None and after is not None and not words:
            self._queue_text(f"{before[0]}_to_{after[0]}", old=before[1], rowid=after[1])
            self._unindex(record)
        else:
            self._unindex(record)
            self._index(changed)

    def _unindex(self, record: Record) -> None:
        row = _text_row(record)
        if row is not None:
            table, rowid = row
            self._queue_text(f"{table}_drop", rowid=rowid)

    def _queue_text(self, name: str, **values: object) -> None:
        """Run a statement on a text index at the end, together with those that are the same."""
        self._text_changes.append((name, values))
        # Not before changes of other transactions, which may concern the same memories.
        if len(self._text_changes) >= _MOST_TEXT_CHANGES and not self._waiting_changes:
            self._change_text()

    def _change_text(self) -> None:
        change_text(self._sql.connection, self._text_changes)
        self._text_changes.clear()

    def _made_by(self, number: int) -> dict[str, object]:
        return {"base": vector_base(number)}

    def _store_vectors(self, number: int, record: Record, vectors: Vectors) -> None:
        low = vector_range(number, record.no).low
        rows = [{"key": low + part, "vector": vector.astype("<f4").tobytes()} for part, vector in enumerate(vectors)]
        self._sql.run_many("vector_add", rows)

    def _drop_vectors_of(self, number: int, no: int) -> None:
        self._sql.run("vectors_drop", **vector_range(number, no)._asdict())

    def _drop_embedder(self, number: int) -> None:
        self._sql.run("vectors_drop", low=vector_base(number), high=vector_base(number + 1) - 1)


def _text_row(record: Record) -> tuple[str, int] | None:
    """Return (table, rowid) of a memory's words; None if it is not indexed."""
    memory = record.memory
    if memory.retention is not Retention.ACTIVE:
        return None
    table = "text_cold" if memory.tier is Tier.COLD else "text_live"
    return table, text_key(record.space, memory.tier, record.no)
