"""The rows of the memories that recalls read last, in memory.

As with the candidates, the events since the last read remove the memories that they changed, the uses that this process
counts are added, and after uses that another process has counted everything is read again. The number of vectors
changes without an event: whoever writes a memory reads it in the transaction, not here.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Sequence

from memotherm.storage.rows import COLUMNS
from memotherm.storage.sqlite.statements import CountedUses, Moment, SqliteStatements
from memotherm.storage.statements import Row

__all__ = ["RecordCache"]

#: What a row takes beside its content, tags and metadata, in bytes.
_ROW_SIZE = 1000
_TEXTS = tuple(COLUMNS.index(name) for name in ("content", "tags", "metadata"))


class RecordCache:
    """Rows of `COLUMNS` by number.

    Args:
        capacity: How many bytes they may take; those that were used last stay.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._moment = Moment(0, 0)
        # Two generations: what is used of the older one joins the newer one, and the rest leaves when that is full.
        self._newer: dict[int, Row] = {}
        self._older: dict[int, Row] = {}
        self._size = 0

    def __len__(self) -> int:
        """Return the number of memories in it."""
        return len(self._newer.keys() | self._older.keys())

    def rows(self, statements: SqliteStatements, nos: Sequence[int]) -> list[Row]:
        """Return the rows of some memories as a snapshot sees them."""
        moment = statements.moment()
        with self._lock:
            self._catch_up(statements, moment)
            # Another thread may have seen more than this snapshot.
            found = self._found(nos) if moment == self._moment else []
        if len(found) == len(nos):
            return found
        known = {row[0] for row in found}
        read = statements.rows("memories_of", nos=[no for no in nos if no not in known])
        with self._lock:
            if moment == self._moment:
                self._add(read)
        return [*found, *read]

    def add_uses(self, counted: CountedUses, window_micros: int, averaged: Collection[int]) -> None:
        """Add the uses that this process has counted, unless the cache is from another time.

        Args:
            counted: The uses.
            window_micros: The time in which uses count as recent.
            averaged: Memories whose relevance was written with them.
        """
        with self._lock:
            if counted.number != self._moment.counted + 1:
                return
            self._moment = self._moment._replace(counted=counted.number)
            for rows in (self._newer, self._older):
                for no in rows.keys() & counted.uses:
                    rows[no] = counted.uses.counted_in(rows[no], window_micros)
            self._remove(averaged)

    def _found(self, nos: Sequence[int]) -> list[Row]:
        """Return the rows that are here; those of the older generation join the newer one."""
        found = [self._newer[no] for no in nos if no in self._newer]
        if len(found) < len(nos) and self._older:
            again = [self._older[no] for no in nos if no in self._older and no not in self._newer]
            self._add(again)
            found += again
        return found

    def _add(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self._newer[row[0]] = row
            self._size += _ROW_SIZE + sum([len(row[place]) for place in _TEXTS])
        if self._size > self._capacity // 2:
            self._older, self._newer, self._size = self._newer if self._capacity else {}, {}, 0

    def _catch_up(self, statements: SqliteStatements, moment: Moment) -> None:
        """Remove what was changed since the last read."""
        if moment <= self._moment:
            return
        if moment.counted != self._moment.counted:
            self._newer, self._older, self._size = {}, {}, 0
        elif self._newer or self._older:
            self._remove(no for (no,) in statements.rows("events_changed_since", seq=self._moment.seq))
        self._moment = moment

    def _remove(self, nos: Iterable[int]) -> None:
        for no in nos:
            self._newer.pop(no, None)
            self._older.pop(no, None)
