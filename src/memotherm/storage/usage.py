"""The recall log, receipts of contexts, uses and counters: reading and trimming them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from memotherm.model import Tier
from memotherm.model.clock import from_micros, id_millis, to_micros
from memotherm.model.recall import TimedRecall, UseKind
from memotherm.model.receipts import KeptReceipt
from memotherm.model.results import LoggedRecall
from memotherm.storage.base import StoreBase
from memotherm.storage.recall_log import log_entry_of, receipt_of, timed_recall_of
from memotherm.storage.statements import Statements
from memotherm.storage.values import LaterUse, LogEntry, RecallEntry, Tally, UseRow
from memotherm.storage.writer import UnwrittenEntry

__all__ = ["UsageStore"]

#: Larger than any number of a memory or an event.
_EVERY = 1 << 62


class UsageStore(StoreBase):
    """The part of a store that logs recalls and counts uses."""

    def log_recall(self, entry: RecallEntry, *, keep: bool) -> None:
        """Count the uses of a recall, keep its receipt, and, with `keep`, log it; it is written a moment later."""
        self._log(UnwrittenEntry(entry, keep, self._log_tenant), now=bool(entry.relevance))

    def log_later_use(self, later: LaterUse) -> None:
        """Record and count a use that followed a recall; never wait for other writers."""
        # Only the store knows whether the use is new.
        self._log(UnwrittenEntry(later, keep=False, tenant=self._log_tenant), now=True)

    def _log(self, entry: UnwrittenEntry, *, now: bool) -> None:
        self._process.require()
        self._writer.add(entry)
        if now:
            self._writer.flush()

    @property
    def _log_tenant(self) -> str | None:
        """The tenant whose log this view of the store writes, if each has its own transactions."""
        return None

    def recall_micros(self, spaces: Sequence[int], limit: int) -> list[int]:
        """Return the durations of the last recalls in microseconds, newest first."""
        return [micros for (micros,) in self._rows("recalls_micros", spaces=list(spaces), limit=limit)]

    def log_entries(self, spaces: Sequence[int], after: int, limit: int) -> list[LogEntry]:
        """Return entries of the recall log with a greater number than `after`, in order of number."""
        return [log_entry_of(row) for row in self._rows("recalls_after", spaces=list(spaces), after=after, limit=limit)]

    def timed_recalls(self, spaces: Sequence[int], limit: int, *, slowest: bool) -> list[TimedRecall]:
        """Return queries of the recall log, slowest or newest first."""
        with self._reading(once=True) as statements:
            query = "recalls_slowest" if slowest else "recalls_newest"
            rows = statements.rows(query, spaces=list(spaces), limit=limit)
            return [timed_recall_of(row, self._scope(statements, row[2], self._scopes)) for row in rows]

    def logged_recall(self, spaces: Sequence[int], recall_id: str) -> LogEntry | None:
        """Return the entry of the recall log with an id, if its space is among some."""
        millis = id_millis(recall_id)
        times = {"first": millis * 1000, "last": millis * 1000 + 999}
        rows = self._rows("recall_by_id", spaces=list(spaces), id=recall_id, **times)
        return log_entry_of(rows[0]) if rows else None

    def recent_recalls(self, spaces: Sequence[int], since: datetime, until: datetime, limit: int) -> list[LogEntry]:
        """Return the last recalls of a period in some spaces, newest first."""
        period = {"since": to_micros(since), "until": to_micros(until)}
        return [log_entry_of(row) for row in self._rows("recalls_recent", spaces=list(spaces), limit=limit, **period)]

    def later_uses(self, spaces: Sequence[int]) -> list[UseRow]:
        """Return the uses that followed recalls in some spaces, in order of time."""
        rows = self._rows("uses_of", spaces=list(spaces))
        return [UseRow(recall, no, UseKind(strength), from_micros(at)) for recall, no, strength, at in rows]

    def trim_recalls(self, before: datetime) -> None:
        """Delete the log entries of recalls before a time."""

        def trim(statements: Statements) -> None:
            statements.run("recalls_trim", before=to_micros(before))
            statements.run("uses_trim", before=to_micros(before))

        self._write(trim)

    def receipts(self, spaces: Sequence[int], past: int | None, limit: int) -> list[KeptReceipt]:
        """Return receipts of contexts in some spaces, newest first; `past` = only with a smaller number."""
        with self._reading(once=True) as statements:
            values = {"spaces": list(spaces), "past": _EVERY if past is None else past, "limit": limit}
            rows = statements.rows("receipts_before", **values)
            return [receipt_of(row, self._scope(statements, row[2], self._scopes)) for row in rows]

    def receipts_of(self, spaces: Sequence[int], memory_id: str, limit: int) -> list[KeptReceipt]:
        """Return the last receipts of contexts in some spaces that name a memory, newest first."""
        with self._reading(once=True) as statements:
            rows = statements.rows("receipts_of", spaces=list(spaces), id=memory_id, limit=limit)
            return [receipt_of(row, self._scope(statements, row[2], self._scopes)) for row in rows]

    def recalls_of(self, spaces: Sequence[int], no: int, limit: int) -> list[LoggedRecall]:
        """Return the last logged recalls in some spaces that returned a memory, newest first."""
        rows = self._rows("recalls_of", spaces=list(spaces), no=no, limit=limit)
        return [
            LoggedRecall(
                at=from_micros(at),
                query=query,
                tiers=tuple(Tier(tier) for tier in tiers.split()),
                returned=len(json.loads(returned)),
            )
            for at, query, tiers, returned in rows
        ]

    def trim_receipts(self, before: datetime) -> None:
        """Delete the receipts of contexts before a time."""
        self._write(lambda statements: statements.run("receipts_trim", before=to_micros(before)))

    def tallies(self, spaces: Sequence[int]) -> dict[str, Tally]:
        """Return the counters of some spaces, by name."""
        rows = self._rows("tallies_of", spaces=list(spaces))
        return {name: Tally(times, amount) for name, times, amount in rows}
