"""What ranking uses of the memories that were candidates last, in memory.

It is a projection of the ledger, as the bands are: the events since the last read remove the memories that they
changed. Uses are counted without an event, but each transaction that counts some has a number: those of this process
are added here, and after one of another process everything is read again.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from typing import NamedTuple

from memotherm.model import Tier
from memotherm.model.clock import to_micros
from memotherm.storage.rows import PRIORITIES, TIERS
from memotherm.storage.selecting import passing_rows
from memotherm.storage.sqlite.statements import CountedUses, Moment, SqliteStatements
from memotherm.storage.statements import Row
from memotherm.storage.values import CandidateRow, Filter

__all__ = ["CandidateCache"]

#: What a memory takes beside its words, in bytes: tuples, numbers, dictionary slots.
_ENTRY_SIZE = 500
#: With more changes than this, reading the memories again is cheaper than removing those that were changed.
_MOST_CHANGES = 20_000
#: The time of expiry of a memory that never expires.
_NEVER = 1 << 62


class _Entry(NamedTuple):
    """An active memory."""

    row: CandidateRow
    expires_at: int


class CandidateCache:
    """The fields of memories that ranking uses.

    Args:
        capacity: How many bytes they may take; those that were used last stay.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._moment = Moment(0, 0)
        # Two generations: what is used of the older one joins the newer one, and the rest leaves when that is full.
        self._newer: dict[int, _Entry] = {}
        self._older: dict[int, _Entry] = {}
        self._size = 0

    def __len__(self) -> int:
        """Return the number of memories in it."""
        return len(self._newer | self._older)

    def visible(
        self,
        statements: SqliteStatements,
        spaces: Collection[int],
        tiers: Collection[Tier],
        nos: Sequence[int],
        where: Filter,
    ) -> dict[int, CandidateRow]:
        """Return the rows of those memories that scope, tiers, retention, expiry and the filter let through."""
        entries, now = self._entries(statements, nos), to_micros(where.now)
        rows = [
            row
            for row, expires_at in map(entries.__getitem__, filter(entries.__contains__, nos))
            if expires_at > now and row.tier in tiers and row.space in spaces
        ]
        rows = statements.waiting.counted_in_candidates(passing_rows(statements, rows, where))
        return {row.no: row for row in rows}

    def add_uses(self, counted: CountedUses) -> None:
        """Add the uses that this process has counted, unless the cache is from another time."""
        with self._lock:
            if counted.number != self._moment.counted + 1:
                return
            self._moment = self._moment._replace(counted=counted.number)
            for entries in (self._newer, self._older):
                for no in filter(entries.__contains__, counted.uses):
                    row, expires_at = entries[no]
                    entries[no] = _Entry(counted.uses.counted_in_candidate(row), expires_at)

    def _entries(self, statements: SqliteStatements, nos: Sequence[int]) -> dict[int, _Entry]:
        """Return the active ones of some memories."""
        moment = statements.moment()
        with self._lock:
            self._catch_up(statements, moment)
            # Another thread may have seen more than this snapshot.
            entries = self._known(nos) if moment == self._moment else {}
        missing = [no for no in nos if no not in entries]
        if missing:
            read = {row[0]: _entry(row) for row in statements.rows("candidates", nos=missing)}
            entries |= read
            with self._lock:
                if moment == self._moment:
                    self._keep(read)
        return entries

    def _catch_up(self, statements: SqliteStatements, moment: Moment) -> None:
        """Remove what was changed since the last read."""
        if moment <= self._moment:
            return
        changed = statements.rows("events_changed_since", seq=self._moment.seq) if self._newer or self._older else []
        if moment.counted != self._moment.counted or len(changed) > _MOST_CHANGES:
            self._newer, self._older, self._size = {}, {}, 0
        for (no,) in changed:
            self._newer.pop(no, None)
            self._older.pop(no, None)
        self._moment = moment

    def _known(self, nos: Sequence[int]) -> dict[int, _Entry]:
        newer, older = self._newer, self._older
        known = {no: newer[no] for no in nos if no in newer}
        again = {no: older[no] for no in nos if no in older and no not in known} if older else {}
        self._keep(again)
        return known | again

    def _keep(self, entries: dict[int, _Entry]) -> None:
        """Add memories; when they take half of the capacity, those of the older generation leave."""
        if not self._capacity or not entries:
            return
        self._newer |= entries
        self._size += sum(_ENTRY_SIZE + len(row.words) for row, _ in entries.values())
        if self._size > self._capacity // 2:
            self._newer, self._older, self._size = {}, self._newer, 0


def _entry(row: Row) -> _Entry:
    no, space, tier, priority, *fields, expires_at = row
    candidate = CandidateRow(no, space, TIERS[tier], PRIORITIES[priority], *fields)
    return _Entry(candidate, _NEVER if expires_at is None or priority == 0 else expires_at)
