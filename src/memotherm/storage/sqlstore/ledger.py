"""The ledger: events and what they tell."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from memotherm.model import Event, Retention, Tier
from memotherm.model.clock import from_micros, to_micros
from memotherm.storage.rows import changes_of, event_of
from memotherm.storage.sqlstore.base import SqlBase
from memotherm.storage.values import Record, TierChange

__all__ = ["SqlLedger"]

_TIERS = tuple(Tier)
_RETENTIONS = tuple(Retention)
#: Larger than any number of a memory or an event.
_EVERY = 1 << 62


class SqlLedger(SqlBase):
    """The part of `LedgerStore` that is the same in SQL everywhere."""

    def written_before(self, spaces: Sequence[int], moment: datetime, after: int, limit: int) -> list[Record]:
        """Return memories that existed at a moment and still have their content, in order of number."""
        values = {"spaces": list(spaces), "moment": to_micros(moment)}
        return self._records("written_before", after=after, limit=limit, **values)

    def events(self, record: Record) -> list[Event]:
        """Return the history of one memory, oldest first."""
        return [event_of(row) for row in self._rows("events_of", no=record.no)]

    def event(self, spaces: Sequence[int], seq: int) -> tuple[Event, Record] | None:
        """Return one event of a memory in one of the spaces, and that memory as it is now."""
        rows = self._rows("event_get", seq=seq)
        if not rows or rows[0][10] not in spaces:
            return None
        (record,) = self._records("memory_by_no", no=rows[0][9])
        return event_of(rows[0]), record

    def ledger(self, spaces: Sequence[int], past: int | None, limit: int, *, oldest_first: bool) -> list[Event]:
        """Return events of memories in some spaces, including purged ones, in ascending or descending order."""
        name, begin = ("events_after", 0) if oldest_first else ("events_before", _EVERY)
        rows = self._rows(name, spaces=list(spaces), past=begin if past is None else past, limit=limit)
        return [event_of(row) for row in rows]

    def events_since(self, spaces: Sequence[int], moment: datetime) -> list[Event]:
        """Return the events of memories in some spaces from the first event after a moment on, oldest first."""
        return [event_of(row) for row in self._rows("events_since", spaces=list(spaces), moment=to_micros(moment))]

    def changed_between(self, spaces: Sequence[int], after: datetime, until: datetime) -> bool:
        """Return whether memories of some spaces were created or changed after a moment and up to another."""
        values = {"spaces": list(spaces), "after": to_micros(after), "until": to_micros(until)}
        return bool(self._rows("changed_between", **values)[0][0])

    def tier_changes(self, spaces: Sequence[int], since: datetime) -> list[TierChange]:
        """Return the events of memories in some spaces since a moment, newest first, with where they are now."""
        rows = self._rows("tier_changes", spaces=list(spaces), since=to_micros(since))
        return [
            TierChange(no, from_micros(at), changes_of(changes), _TIERS[tier], _RETENTIONS[retention])
            for no, at, changes, tier, retention in rows
        ]

    def seq(self) -> int:
        """Return the sequence number of the newest event."""
        return int(self._unlogged_rows("event_last")[0][0])
