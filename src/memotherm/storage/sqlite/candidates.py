"""What ranking uses of the memories that were candidates last, in memory.

It is a projection of the ledger, as the bands are: the events since the last read remove the memories that they
changed. Uses are counted without an event, but each transaction that counts some has a number: those of this process
are added here, and after one of another process everything is read again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import compress
from sys import intern
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memotherm.model import Tier
from memotherm.model.clock import to_micros
from memotherm.storage.candidates import Candidates
from memotherm.storage.selecting import passing_rows
from memotherm.storage.sqlite.statements import CountedUses, Moment, SqliteStatements
from memotherm.storage.statements import Row
from memotherm.storage.values import Filter
from memotherm.storage.waiting import WaitingUses
from memotherm.text.word_ids import ID_BYTES, fragment_ids, joined_word_ids

__all__ = ["CandidateCache"]

#: Returns the words of some active memories, as one text each.
ReadTexts = Callable[[Sequence[int]], Sequence[str]]

#: What a memory takes beside its words, in bytes: numbers, references, dictionary slots.
_ENTRY_SIZE = 250
#: What the fragments of a memory take beside their numbers, in bytes.
_FRAGMENTS_SIZE = 100
#: The columns of a table's numbers that are computed from the words.
_LENGTH, _BEGINNING = 7, 8
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


class _Table:
    """Active memories by number: one row for each in every column."""

    def __init__(self) -> None:
        self.slots: dict[int, int] = {}
        #: How many rows are filled; those of removed memories are.
        self._filled = 0
        #: no, space, tier, priority, created_at, previous, expires_at, length, where its words begin
        self._numbers = np.empty((_FIRST_ROWS, 9), np.int64)
        #: accessed_at, access_count
        self._uses = np.empty((_FIRST_ROWS, 2), np.float64)
        #: kind, author
        self._names = np.empty((_FIRST_ROWS, 2), np.object_)
        #: The numbers of the words of all rows.
        self._words = bytearray()
        #: The numbers of the fragments of those rows that have any.
        self._fragments: dict[int, bytes] = {}
        self._fragment_bytes = 0

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return self._filled * _ENTRY_SIZE + len(self._words) + self._fragment_bytes

    def add(self, rows: Sequence[Row]) -> None:
        """Add rows of the statement `candidates`."""
        if not rows:
            return
        columns: list[Sequence[Any]] = list(zip(*rows, strict=True))
        *numbers, kind, created_at, accessed_at, access_count, texts, author, previous, expires_at = columns
        words, lengths = joined_word_ids(texts)
        never = zip(expires_at, numbers[3], strict=True)
        ends = [_NEVER if moment is None or priority == 0 else moment for moment, priority in never]
        numbers += [created_at, [no or 0 for no in previous], ends, lengths, lengths]
        self._extend(
            np.array(numbers, np.int64).T,
            np.array((accessed_at, access_count), np.float64).T,
            np.array((list(map(intern, kind)), list(map(intern, author))), np.object_).T,
            words,
            {row: fragment_ids(text) for row, text in enumerate(texts) if not text.isascii()},
        )

    def move(self, nos: Sequence[int], other: _Table) -> None:
        """Add memories of another table."""
        slots = list(map(other.slots.__getitem__, nos))
        numbers = other._numbers[slots]
        fragments = {row: other._fragments[slot] for row, slot in enumerate(slots) if slot in other._fragments}
        self._extend(numbers, other._uses[slots], other._names[slots], b"".join(other._words_of(numbers)), fragments)

    def _extend(
        self,
        numbers: NDArray[np.int64],
        uses: NDArray[np.float64],
        names: NDArray[np.object_],
        words: bytes,
        fragments: Mapping[int, bytes],
    ) -> None:
        """Add rows, in whose numbers the last column is yet to be filled."""
        start, end = self._filled, self._filled + len(numbers)
        if end > len(self._numbers):
            spare = max(end, 2 * len(self._numbers)) - len(self._numbers)
            self._numbers = np.concatenate([self._numbers, np.empty((spare, self._numbers.shape[1]), np.int64)])
            self._uses = np.concatenate([self._uses, np.empty((spare, 2), np.float64)])
            self._names = np.concatenate([self._names, np.empty((spare, 2), np.object_)])
        lengths = numbers[:, _LENGTH] * ID_BYTES
        numbers[:, _BEGINNING] = len(self._words) + np.cumsum(lengths) - lengths
        self._numbers[start:end], self._uses[start:end], self._names[start:end] = numbers, uses, names
        self._words += words
        self._filled = end
        self.slots.update(zip(numbers[:, 0].tolist(), range(start, end), strict=True))
        for row, ids in fragments.items():
            self._fragments[start + row] = ids
            self._fragment_bytes += _FRAGMENTS_SIZE + len(ids)

    def _words_of(self, numbers: NDArray[np.int64]) -> list[bytes]:
        beginnings = numbers[:, _BEGINNING]
        ends = beginnings + numbers[:, _LENGTH] * ID_BYTES
        words = self._words
        return [bytes(words[start:end]) for start, end in zip(beginnings.tolist(), ends.tolist(), strict=True)]

    def use(self, uses: WaitingUses) -> None:
        """Count uses of the memories that are here."""
        used = [(slot, *uses.total(no)) for no in uses if (slot := self.slots.get(no)) is not None]
        if used:
            slots, times, moments = np.array(used, np.int64).T
            self._uses[slots, 0] = moments
            self._uses[slots, 1] += times

    def taken(self, nos: Sequence[int], read_texts: ReadTexts) -> _Taken:
        """Return the rows of those memories that are here, in their order."""
        slots = list(map(self.slots.__getitem__, filter(self.slots.__contains__, nos)))
        rows = np.array(slots, np.int64)
        numbers = self._numbers.take(rows, axis=0)
        no, space, tier, priority, created_at, previous, expires_at, length, _ = numbers.T
        accessed_at, access_count = self._uses.take(rows, axis=0).T
        kind, author = self._names.take(rows, axis=0).T.tolist()
        fragments = self._fragments
        candidates = Candidates(
            no=no,
            tier=tier,
            priority=priority,
            kind=kind,
            created_at=created_at,
            accessed_at=accessed_at,
            access_count=access_count,
            texts=lambda: read_texts(no.tolist()),
            words=self._words_of(numbers),
            length=length,
            fragments=[fragments.get(slot, b"") for slot in slots] if fragments else [b""] * len(slots),
            author=author,
            previous=previous,
        )
        return _Taken(candidates, space, expires_at)


class CandidateCache:
    """The fields of memories that ranking uses.

    Args:
        capacity: How many bytes they may take; those that were used last stay.
        read_texts: Returns the words of some active memories, as one text each; they are not kept.
    """

    def __init__(self, capacity: int, read_texts: ReadTexts) -> None:
        self._capacity = capacity
        self._read_texts = read_texts
        self._lock = threading.Lock()
        self._moment = Moment(0, 0)
        # Two generations: what is used of the older one joins the newer one, and the rest leaves when that is full.
        self._newer, self._older = _Table(), _Table()

    def __len__(self) -> int:
        """Return the number of memories in it."""
        return len(self._newer.slots | self._older.slots)

    @property
    def size(self) -> int:
        """About how many bytes they take."""
        return self._newer.size + self._older.size

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
                return self._newer.taken(nos, self._read_texts)
        read = statements.rows("candidates", nos=list(missing))
        with self._lock:
            if current and moment == self._moment and missing == self._missing(nos):
                self._newer.add(read)
                taken = self._newer.taken(nos, self._read_texts)
                self._limit()
                return taken
        table = _Table()
        table.add(read if missing is nos else statements.rows("candidates", nos=list(nos)))
        return table.taken(nos, self._read_texts)

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
        if self._newer.size > self._capacity // 2 or self.size > self._capacity:
            self._newer, self._older = _Table(), self._newer if self._newer.size <= self._capacity else _Table()
