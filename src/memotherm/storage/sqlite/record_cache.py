"""The rows of the memories that recalls read last, in memory.

They are a projection of the ledger, as the candidates are; after uses that another process has counted, the uses are
read again. The number of vectors changes without an event: whoever writes a memory reads it in the transaction, not
here.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from sys import intern
from typing import Any

from memotherm.storage.rows import COLUMNS
from memotherm.storage.sqlite.projection import Projection
from memotherm.storage.sqlite.statements import CountedUses, SqliteStatements
from memotherm.storage.statements import Row

__all__ = ["RecordCache"]

#: What a row takes beside its content, in bytes.
_ROW_SIZE = 750
_CONTENT = COLUMNS.index("content")
#: What the statement `memory_uses` returns after the number.
_USES = tuple(
    COLUMNS.index(name)
    for name in ("accessed_at", "access_count", "recent_uses", "use_weight", "last_used_at", "relevance")
)
#: What many memories have in common.
_COMMON = tuple(COLUMNS.index(name) for name in ("kind", "tags", "metadata", "source", "tier_rule"))


class RecordCache(Projection):
    """Rows of `COLUMNS` by number.

    Args:
        capacity: How many bytes they may take; those that were used last stay.
    """

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        #: In the order in which they were used.
        self._rows: OrderedDict[int, Row] = OrderedDict()
        #: Those whose uses are to be read again.
        self._outdated: set[int] = set()
        #: About how many bytes they take.
        self.size = 0

    def __len__(self) -> int:
        """Return the number of memories in it."""
        return len(self._rows)

    def rows(self, statements: SqliteStatements, nos: Sequence[int]) -> list[Row]:
        """Return the rows of some memories as a snapshot sees them."""
        with self._lock:
            current = self._catch_up(statements)
            found = {no: self._rows[no] for no in nos if no in self._rows} if current else {}
            outdated = list(self._outdated.intersection(found))
            for no in found:
                self._rows.move_to_end(no)
        missing = [no for no in nos if no not in found]
        read = statements.rows("memories_of", nos=missing) if missing else []
        for no, *uses in statements.rows("memory_uses", nos=outdated) if outdated else ():
            found[no] = _with_uses(found[no], uses)
        if missing or outdated:
            with self._lock:
                if self._is_at(statements):
                    self._add([*read, *(found[no] for no in outdated)])
        return [*found.values(), *read]

    def add_uses(self, counted: CountedUses, window_micros: int, averaged: Collection[int]) -> None:
        """Add the uses that this process has counted, unless the cache is from another time.

        Args:
            counted: The uses.
            window_micros: The time in which uses count as recent.
            averaged: Memories whose relevance was written with them.
        """
        with self._lock:
            if self._follows(counted):
                for no in self._rows.keys() & counted.uses:
                    self._rows[no] = counted.uses.counted_in(self._rows[no], window_micros)
                self._remove(averaged)

    def _add(self, rows: Sequence[Row]) -> None:
        self._remove(row[0] for row in rows)
        for row in rows:
            self._rows[row[0]] = _sharing(row)
            self.size += _size(row)
        while self.size > self._capacity:
            self._remove([next(iter(self._rows))])

    def _clear(self) -> None:
        self._rows.clear()
        self._outdated.clear()
        self.size = 0

    def _remove(self, nos: Iterable[int]) -> None:
        for no in nos:
            row = self._rows.pop(no, None)
            if row is not None:
                self.size -= _size(row)
                self._outdated.discard(no)

    def _forget_uses(self) -> None:
        self._outdated.update(self._rows)


def _with_uses(row: Row, uses: Sequence[Any]) -> Row:
    """Return a row with the uses that were read again."""
    fields = list(row)
    for place, value in zip(_USES, uses, strict=True):
        fields[place] = value
    return tuple(fields)


def _sharing(row: Row) -> Row:
    """Return a row whose common values are the same objects as those of other rows."""
    fields = list(row)
    for place in _COMMON:
        fields[place] = intern(fields[place])
    return tuple(fields)


def _size(row: Row) -> int:
    """Return about how many bytes a row takes."""
    return _ROW_SIZE + len(row[_CONTENT]) + sum([len(row[place]) for place in _COMMON])
