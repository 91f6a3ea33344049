"""What ranking uses of the memories that were candidates last, in memory.

It is a projection of the ledger, as the bands are: the events since the last read remove the memories that they
changed. Uses are counted without an event, but each transaction that counts some has a number: those of this process
are added here, and after one of another process everything is read again.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from itertools import compress
from sys import intern
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memotherm.model import Tier
from memotherm.model.clock import to_micros
from memotherm.storage.candidates import Candidates, candidate_row
from memotherm.storage.selecting import passing_rows
from memotherm.storage.sqlite.statements import CountedUses, Moment, SqliteStatements
from memotherm.storage.statements import Row
from memotherm.storage.values import Filter
from memotherm.storage.waiting import WaitingUses
from memotherm.text.word_ids import ID_BYTES

__all__ = ["CandidateCache"]

#: What a memory takes beside its words, in bytes: numbers, references, dictionary slots.
_ENTRY_SIZE = 400
#: With more changes than this, reading the memories again is cheaper than removing those that were changed.
_MOST_CHANGES = 20_000
#: The time of expiry of a memory that never expires.
_NEVER = 1 << 62
#: How many rows a table has at first.
_FIRST_ROWS = 256


class _Taken(NamedTuple):
    """Rows of a table, and what decides about their visibility."""

    candidates: Candidates
    space: NDArray[np.int64]
    expires_at: NDArray[np.int64]

    def visible(
        self, statements: SqliteStatements, spaces: Collection[int], tiers: Collection[Tier], where: Filter
    ) -> Candidates:
        """Return those that scope, tiers, expiry and the filter let through."""
        found, ranks = self.candidates, [tier.rank for tier in tiers]
        passing = (self.expires_at > to_micros(where.now)) & _among(found.tier, ranks) & _among(self.space, spaces)
        if where.selective:
            columns = (found.no, self.space, found.tier, found.priority)
            rows = zip(*(column.tolist() for column in columns), found.kind, strict=True)
            allowed = passing_rows(statements, list(compress(rows, passing)), where)
            passing &= _among(found.no, [row[0] for row in allowed])
        return found if passing.all() else found.where(passing)


def _among(values: NDArray[np.int64], accepted: Collection[int]) -> NDArray[np.bool_]:
    """Return which of some values are accepted; for a few of them, faster than `isin`."""
    return np.asarray((values[:, np.newaxis] == np.array(accepted, np.int64)).any(axis=1))


class _Texts(NamedTuple):
    """What is no number of a candidate."""

    kind: str
    text: str
    words: bytes
    fragments: bytes
    author: str


class _Table:
    """Active memories by number: a row of numbers for each, and a list of the rest."""

    def __init__(self) -> None:
        self.slots: dict[int, int] = {}
        #: no, space, tier, priority, created_at, length, previous, expires_at
        self._numbers = np.empty((_FIRST_ROWS, 8), np.int64)
        #: accessed_at, access_count
        self._uses = np.empty((_FIRST_ROWS, 2), np.float64)
        self._texts: list[_Texts] = []
        #: The bytes that it takes.
        self.size = 0

    def add(self, rows: Sequence[Row]) -> None:
        """Add rows of the statement `candidates`."""
        numbers, uses, texts = [], [], []
        for *fields, expires_at in rows:
            row = candidate_row(fields)
            end = _NEVER if expires_at is None or row.priority == 0 else expires_at
            length = len(row.words) // ID_BYTES
            numbers.append((row.no, row.space, row.tier, row.priority, row.created_at, length, row.previous, end))
            uses.append((row.accessed_at, row.access_count))
            texts.append(_Texts(intern(row.kind), row.text, row.words, row.fragments, intern(row.author)))
        if texts:
            self._extend(np.array(numbers, np.int64), np.array(uses, np.float64), texts)

    def move(self, nos: Sequence[int], other: _Table) -> None:
        """Add memories of another table."""
        slots = list(map(other.slots.__getitem__, nos))
        self._extend(other._numbers[slots], other._uses[slots], [other._texts[slot] for slot in slots])

    def _extend(self, numbers: NDArray[np.int64], uses: NDArray[np.float64], texts: Sequence[_Texts]) -> None:
        start, end = len(self._texts), len(self._texts) + len(texts)
        if end > len(self._numbers):
            spare = max(end, 2 * len(self._numbers)) - len(self._numbers)
            self._numbers = np.concatenate([self._numbers, np.empty((spare, 8), np.int64)])
            self._uses = np.concatenate([self._uses, np.empty((spare, 2), np.float64)])
        self._numbers[start:end], self._uses[start:end] = numbers, uses
        self.slots.update(zip(numbers[:, 0].tolist(), range(start, end), strict=True))
        self._texts += texts
        for each in texts:
            self.size += _ENTRY_SIZE + len(each.text) + len(each.words) + len(each.fragments)

    def use(self, uses: WaitingUses) -> None:
        """Count uses of the memories that are here."""
        used = [(slot, *uses.total(no)) for no in uses if (slot := self.slots.get(no)) is not None]
        if used:
            slots, times, moments = np.array(used, np.int64).T
            self._uses[slots, 0] = moments
            self._uses[slots, 1] += times

    def taken(self, nos: Sequence[int]) -> _Taken:
        """Return the rows of those memories that are here, in their order."""
        slots = list(map(self.slots.__getitem__, filter(self.slots.__contains__, nos)))
        rows = np.array(slots, np.int64)
        no, space, tier, priority, created_at, length, previous, expires_at = self._numbers.take(rows, axis=0).T
        accessed_at, access_count = self._uses.take(rows, axis=0).T
        texts = zip(*map(self._texts.__getitem__, slots), strict=True) if slots else ((),) * len(_Texts._fields)
        kind, text, words, fragments, author = texts
        candidates = Candidates(
            no=no,
            tier=tier,
            priority=priority,
            kind=kind,
            created_at=created_at,
            accessed_at=accessed_at,
            access_count=access_count,
            text=text,
            words=words,
            length=length,
            fragments=fragments,
            author=author,
            previous=previous,
        )
        return _Taken(candidates, space, expires_at)


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
        self._newer, self._older = _Table(), _Table()

    def __len__(self) -> int:
        """Return the number of memories in it."""
        return len(self._newer.slots | self._older.slots)

    def __contains__(self, no: int) -> bool:
        """Return whether a memory is in it."""
        return no in self._newer.slots or no in self._older.slots

    def visible(
        self,
        statements: SqliteStatements,
        spaces: Collection[int],
        tiers: Collection[Tier],
        nos: Sequence[int],
        where: Filter,
    ) -> Candidates:
        """Return those memories that scope, tiers, retention, expiry and the filter let through, in their order."""
        visible = self._taken(statements, nos).visible(statements, spaces, tiers, where)
        visible.add_uses(statements.waiting)
        return visible

    def active(self, statements: SqliteStatements, nos: Sequence[int]) -> Candidates:
        """Return those memories that are active, in their order."""
        return self._taken(statements, nos).candidates

    def add_uses(self, counted: CountedUses) -> None:
        """Add the uses that this process has counted, unless the cache is from another time."""
        with self._lock:
            if counted.number != self._moment.counted + 1:
                return
            self._moment = self._moment._replace(counted=counted.number)
            self._newer.use(counted.uses)
            self._older.use(counted.uses)

    def _taken(self, statements: SqliteStatements, nos: Sequence[int]) -> _Taken:
        """Return the rows of the active ones of some memories."""
        moment = statements.moment()
        with self._lock:
            self._catch_up(statements, moment)
            # Another thread may have seen more than this snapshot.
            current = moment == self._moment
            missing = self._missing(nos) if current else nos
            if not missing:
                return self._newer.taken(nos)
        read = statements.rows("candidates", nos=list(missing))
        with self._lock:
            if current and moment == self._moment and missing == self._missing(nos):
                self._newer.add(read)
                taken = self._newer.taken(nos)
                self._limit()
                return taken
        table = _Table()
        table.add(read if missing is nos else statements.rows("candidates", nos=list(nos)))
        return table.taken(nos)

    def _missing(self, nos: Sequence[int]) -> list[int]:
        """Return those of some memories that are not in the newer table, after those of the older have joined it."""
        missing = [no for no in nos if no not in self._newer.slots]
        if missing and self._older.slots:
            self._newer.move([no for no in missing if no in self._older.slots], self._older)
            missing = [no for no in missing if no not in self._newer.slots]
        return missing

    def _catch_up(self, statements: SqliteStatements, moment: Moment) -> None:
        """Remove what was changed since the last read."""
        if moment <= self._moment:
            return
        changed = statements.rows("events_changed_since", seq=self._moment.seq) if len(self) else []
        if moment.counted != self._moment.counted or len(changed) > _MOST_CHANGES:
            self._newer, self._older = _Table(), _Table()
        for (no,) in changed:
            self._newer.slots.pop(no, None)
            self._older.slots.pop(no, None)
        self._moment = moment

    def _limit(self) -> None:
        """When the newer table takes half of the capacity, let the memories of the older one leave."""
        if self._newer.size > self._capacity // 2:
            self._newer, self._older = _Table(), self._newer if self._capacity else _Table()
