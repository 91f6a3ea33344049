"""One transaction on a SQLite store."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from memotherm.model import Retention, Tier
from memotherm.storage.rows import claim_rows, indexed_words, stored_claims
from memotherm.storage.sqlite import driver
from memotherm.storage.sqlite.statements import SqliteStatements, text_key, vector_range
from memotherm.storage.transaction import Transaction
from memotherm.storage.values import Cause, Record, UsageCounts

Vectors = NDArray[np.float32]

#: The metadata key of what is still to be erased: its value is the step to do next and the event of the last purge.
#: A purge deletes rows, but copies of the content remain in segments of the text indexes, in cache files and in the
#: log, which cannot be truncated while another connection reads an older state. Any process can finish it later.
ERASURE_KEY = "erasure"
INDEXES, LOG = "indexes", "log"


class SqliteTransaction(Transaction):
    """A write transaction; there is only one writer, so the next numbers follow from the highest ones."""

    _sql: SqliteStatements

    def _begin(self, seq: int, last_no: int, erasure: str | None) -> None:
        self._seq, self._last_no = seq, max(last_no, self._sql.assigned.memory)
        #: Whether the log of an earlier purge is left to be truncated.
        self.log_pending = erasure is not None and erasure.startswith(LOG)

    def duplicate(
        self, space: int, digest: str, kind: str, now: datetime, since: datetime | None = None
    ) -> Record | None:
        """Return the visible memory of a space with the same content and no key, if it was created since a moment."""
        # Nearly every content is new, and the index of digests knows that at once.
        if not self._sql.rows("digest_known", digest=bytes.fromhex(digest)):
            return None
        return super().duplicate(space, digest, kind, now, since)

    def purge(self, record: Record, cause: Cause, *, clean: bool = True, secrets: Iterable[str] = ()) -> Record:
        """Erase a memory; the copies in indexes and log are erased after the commit, or later."""
        purged = super().purge(record, cause, clean=clean, secrets=secrets)
        self._record_erasure()
        return purged

    def erase_usage(self, spaces: Sequence[int]) -> UsageCounts:
        """Delete what the logs hold of some spaces; the copies in the write-ahead log are erased after the commit."""
        counts = super().erase_usage(spaces)
        self._record_erasure()
        return counts

    def _record_erasure(self) -> None:
        self._sql.run("meta_set", key=ERASURE_KEY, value=f"{INDEXES}:{self._seq}")
        self.log_pending = False

    def _next_seq(self) -> int:
        self._seq += 1
        return self._seq

    def _next_numbers(self) -> tuple[int, int]:
        self._last_no += 1
        self._sql.assigned.memory = self._last_no
        return self._last_no, self._next_seq()

    def _add_space(self, row: Mapping[str, str]) -> int:
        assigned = self._sql.assigned
        assigned.space = int(self._sql.value("space_add", above=assigned.space, **row))
        return assigned.space

    def _index(self, record: Record) -> None:
        row = _text_row(record)
        if row is not None:
            table, rowid = row
            text = indexed_words(record.memory.content, record.memory.tags)
            self._sql.text_changes.append((f"{table}_add", {"rowid": rowid, "words": text}))

    def _reindex(self, record: Record, changed: Record, *, words: bool) -> None:
        before, after = _text_row(record), _text_row(changed)
        if before == after and not words:
            return
        if before is not None and after is not None and not words:
            self._sql.text_changes.append((f"{after[0]}_from_{before[0][5:]}", {"old": before[1], "rowid": after[1]}))
            self._unindex(record)
        else:
            self._unindex(record)
            self._index(changed)

    def _unindex(self, record: Record) -> None:
        row = _text_row(record)
        if row is not None:
            table, rowid = row
            self._sql.text_changes.append((f"{table}_drop", {"rowid": rowid}))

    def _store_vectors(self, number: int, record: Record, vectors: Vectors) -> None:
        low = vector_range(number, record.no).low
        rows = [{"key": low + part, "vector": vector.astype("<f4").tobytes()} for part, vector in enumerate(vectors)]
        self._sql.run_many("vector_add", rows)


def _text_row(record: Record) -> tuple[str, int] | None:
    """Return (table, rowid) of a memory's words; None if it is not indexed."""
    memory = record.memory
    if memory.retention is not Retention.ACTIVE:
        return None
    table = "text_cold" if memory.tier is Tier.COLD else "text_live"
    return table, text_key(record.space, memory.tier, record.no)


def rebuild(statements: SqliteStatements) -> None:
    """Rebuild the text indexes and the claims."""
    statements.run("text_live_clear")
    statements.run("text_cold_clear")
    statements.run("claims_clear")
    for no, space, rank, content, tags, kind, source in statements.each("indexed"):
        tier = tuple(Tier)[rank]
        table = "text_cold" if tier is Tier.COLD else "text_live"
        text = indexed_words(content, json.loads(tags) if tags else ())
        statements.run(f"{table}_add", rowid=text_key(space, tier, no), words=text)
        statements.run_many("claim_add", claim_rows(no, space, stored_claims(content, kind, source)))


def remove_index(statements: SqliteStatements, table: str) -> None:
    """Remove a text index or what is left of it: SQLite refuses to drop one whose own tables are damaged."""
    execute = statements.connection.execute
    try:
        execute(f"DROP TABLE IF EXISTS {table}")
    except driver.errors() as exc:
        if not driver.is_lost_index(exc):
            raise
        for part in ("data", "idx", "content", "docsize", "config"):
            execute(f"DROP TABLE IF EXISTS {table}_{part}")
        execute("PRAGMA writable_schema = ON")
        statements.run("index_forget", name=table)
        execute("PRAGMA writable_schema = RESET")
