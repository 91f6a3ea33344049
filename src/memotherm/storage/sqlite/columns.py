"""The fields of memories that ranking uses, in columns that can grow, and their projection of the ledger.

Uses are counted without an event, but each transaction that counts some has a number: those of this process are added
here, and after one of another process the uses are read again.
"""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import compress
from sys import intern
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memotherm.model.clock import to_micros
from memotherm.model.results import Problem
from memotherm.storage.candidates import Candidates, WordIds
from memotherm.storage.filters import passing_rows
from memotherm.storage.rows import UnwrittenUses, indexed_words
from memotherm.storage.sqlite import driver
from memotherm.storage.sqlite.statements import CountedUses, SqliteStatements
from memotherm.storage.statements import Row
from memotherm.storage.values import Search

#: How many steps a projection can take back for an older snapshot before it is read again.
_MOST_STEPS = 64


class Projection(ABC):
    """The state of one event, used by one thread at a time: whoever uses it holds its lock.

    It follows committed reads only. A store in memory has one connection, so a search in a unit of work reads what may
    be rolled back, under numbers of events that others will get: such a search reads the rows, and leaves it as it is.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        #: The newest event whose change it contains; -1 before it is read.
        self.seq = -1
        #: (the event before, the memories that were changed) of the last steps.
        self._steps: deque[tuple[int, Sequence[int]]] = deque(maxlen=_MOST_STEPS)

    def follow(self, statements: SqliteStatements) -> None:
        """Take the state that a snapshot sees."""
        seq = statements.moment().seq
        if seq == self.seq:
            return
        changed: Sequence[int] | None = None
        if seq > self.seq >= 0 and seq - self.seq <= self.most_changes:
            changed = statements.changed_since(self.seq)
            self._steps.append((self.seq, changed))
        elif seq < self.seq:
            changed = self._changed_after(seq)
        # Until all is applied, its state is that of no event: after an error or an interrupt, everything is read again.
        self.seq = -1
        if changed is None:
            self._steps.clear()
            self.load(statements)
        elif changed:
            self.apply(statements, changed)
        self.seq = seq

    def _changed_after(self, seq: int) -> list[int] | None:
        """Return the memories whose changes after an event it contains; None if that is not known."""
        changed: list[int] = []
        for before, nos in reversed(self._steps):
            changed += nos
            if before <= seq:
                return changed
        return None

    @property
    @abstractmethod
    def most_changes(self) -> int:
        """The number of events above which loading is cheaper than applying them."""

    @abstractmethod
    def load(self, statements: SqliteStatements) -> None:
        """Read everything as a snapshot sees it."""

    @abstractmethod
    def apply(self, statements: SqliteStatements, changed: Sequence[int]) -> None:
        """Replace what was changed by what a snapshot sees."""


#: Returns the words of some active memories, as one text each.
ReadTexts = Callable[[Sequence[int]], Sequence[str]]

#: What a memory takes beside its words, in bytes: numbers, references, dictionary slots.
_ENTRY_SIZE = 250
#: What the fragments of a memory take beside their numbers, in bytes.
_FRAGMENTS_SIZE = 200
#: What the number of a word takes, in bytes.
_ID_SIZE = 8
#: The columns of a table's numbers that are computed from the words.
_LENGTH, _BEGINNING = 7, 8
#: The time of expiry of a memory that never expires.
_NEVER = 1 << 62
#: How many rows a table has at first.
_FIRST_ROWS = 256
#: The fragments of a memory that has none.
_NO_WORDS: NDArray[np.int64] = np.empty(0, np.int64)


class _TakenRows(NamedTuple):
    """Rows of a table, and what decides about their visibility."""

    candidates: Candidates
    space: NDArray[np.int64]
    expires_at: NDArray[np.int64]

    def visible(self, statements: SqliteStatements, search: Search) -> Candidates:
        """Return those that a search lets through."""
        found, ranks = self.candidates, [tier.rank for tier in search.tiers]
        passing = self.expires_at > to_micros(search.now)
        passing &= _among(found.tier, ranks) & _among(self.space, search.spaces)
        if search.selective:
            columns = (found.no, self.space, found.tier, found.priority)
            rows = zip(*(column.tolist() for column in columns), found.kind, strict=True)
            allowed = passing_rows(statements, list(compress(rows, passing)), search)
            passing &= _among(found.no, [row[0] for row in allowed])
        return found if passing.all() else found.where(passing)


def _among(values: NDArray[np.int64], accepted: Collection[int]) -> NDArray[np.bool_]:
    """Return which of some values are accepted; for a few of them, faster than `isin`."""
    return np.asarray((values[:, np.newaxis] == np.array(accepted, np.int64)).any(axis=1))


class _Table:
    """Active memories by number: one row for each in every column."""

    def __init__(self) -> None:
        #: Number of a memory -> its row.
        self.slots: dict[int, int] = {}
        #: How many rows are filled; those of removed memories are.
        self._filled = 0
        #: no, space, tier, priority, created_at, previous, expires_at, length, where its words begin
        self._numbers = np.empty((_FIRST_ROWS, 9), np.int64)
        #: accessed_at, access_count
        self._uses = np.empty((_FIRST_ROWS, 2), np.float64)
        #: Whether its uses are to be read again.
        self._outdated = np.zeros(_FIRST_ROWS, np.bool_)
        #: kind, author
        self._names = np.empty((_FIRST_ROWS, 2), np.object_)
        #: The numbers of the words of all rows, and how many they are.
        self._words = np.empty(0, np.int64)
        self._word_count = 0
        #: The numbers of the fragments of those rows that have any.
        self._fragments: dict[int, NDArray[np.int64]] = {}
        self._fragment_bytes = 0
        #: Whether the uses of any memory may have to be read again.
        self.any_outdated = False

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return self._filled * _ENTRY_SIZE + self._word_count * _ID_SIZE + self._fragment_bytes

    def add(self, rows: Sequence[Row]) -> None:
        """Add rows of the statement `candidates`."""
        if not rows:
            return
        columns: list[Any] = list(zip(*rows, strict=True))
        *numbers, kind, created_at, accessed_at, access_count, texts, author, previous, expires_at = columns
        words, fragments = WordIds.of(texts), WordIds.of_fragments(texts)
        never = zip(expires_at, numbers[3], strict=True)
        ends = [_NEVER if moment is None or priority == 0 else moment for moment, priority in never]
        begin = self._word_count + np.cumsum(words.lengths) - words.lengths
        numbers += [created_at, [no or 0 for no in previous], ends, words.lengths, begin]
        start, end = self._filled, self._filled + len(rows)
        self._numbers, self._uses = _grown(self._numbers, end), _grown(self._uses, end)
        self._names, self._outdated = _grown(self._names, end), _grown(self._outdated, end)
        self._words = _grown(self._words, self._word_count + len(words.ids))
        self._numbers[start:end] = np.array(numbers, np.int64).T
        self._uses[start:end] = np.array((accessed_at, access_count), np.float64).T
        self._names[start:end] = np.array((list(map(intern, kind)), list(map(intern, author))), np.object_).T
        self._outdated[start:end] = False
        self._words[self._word_count : self._word_count + len(words.ids)] = words.ids
        self._word_count += len(words.ids)
        for row in np.flatnonzero(fragments.lengths).tolist():
            self._fragments[start + row] = fragments[row]
            self._fragment_bytes += _FRAGMENTS_SIZE + fragments[row].nbytes
        self._filled = end
        # Last: a memory is here when all its columns are.
        self.slots.update(zip(columns[0], range(start, end), strict=True))

    def _words_of(self, numbers: NDArray[np.int64]) -> WordIds:
        return WordIds.of_parts(self._words, numbers[:, _BEGINNING], numbers[:, _LENGTH])

    def _fragments_of(self, slots: Sequence[int]) -> WordIds:
        lengths, ids = np.zeros(len(slots), np.int64), [_NO_WORDS]
        for row, slot in enumerate(slots if self._fragments else ()):
            if slot in self._fragments:
                ids.append(self._fragments[slot])
                lengths[row] = len(ids[-1])
        return WordIds(np.concatenate(ids), lengths)

    def here(self, nos: Iterable[int]) -> list[int]:
        """Return the slots of those memories that are here, in their order."""
        return list(map(self.slots.__getitem__, filter(self.slots.__contains__, nos)))

    def mark_outdated(self) -> None:
        """Note that the uses of all memories are to be read again."""
        self._outdated[: self._filled] = self.any_outdated = self._filled > 0

    def outdated(self, nos: Sequence[int]) -> list[int]:
        """Return those of some memories whose uses are to be read again."""
        if not self.any_outdated:
            return []
        return [no for no in nos if no in self.slots and self._outdated[self.slots[no]]]

    def set_uses(self, rows: Sequence[Row]) -> None:
        """Set the uses of some memories, from rows of the statement `memory_uses`."""
        if not rows:
            return
        nos, accessed_at, access_count, *_ = zip(*rows, strict=True)
        slots = list(map(self.slots.__getitem__, nos))
        self._uses[slots] = np.array((accessed_at, access_count), np.float64).T
        self._outdated[slots] = False

    def use(self, uses: UnwrittenUses) -> None:
        """Count uses of the memories that are here."""
        nos = [no for no in uses.nos if no in self.slots]
        if nos:
            slots = [self.slots[no] for no in nos]
            _, times, moments = np.array(uses.totals(nos), np.int64).T
            self._uses[slots, 0] = moments
            self._uses[slots, 1] += times

    def fields(self, no: int) -> tuple[object, ...] | None:
        """Return all fields of a memory but its uses; None if it is not here."""
        slot = self.slots.get(no)
        if slot is None:
            return None
        numbers = self._numbers[[slot]]
        words, fragments = self._words_of(numbers), self._fragments_of([slot])
        return (*numbers[0, :_BEGINNING].tolist(), *self._names[slot], words.ids.tolist(), fragments.ids.tolist())

    def uses(self, no: int) -> list[float]:
        """Return when a memory was used last, 0 if never, and how often."""
        return [float(value) for value in np.nan_to_num(self._uses[self.slots[no]])]

    def taken(self, slots: Sequence[int], read_texts: ReadTexts) -> _TakenRows:
        """Return the rows in some slots, in their order."""
        rows = np.array(slots, np.int64)
        numbers = self._numbers.take(rows, axis=0)
        no, space, tier, priority, created_at, previous, expires_at, _, _ = numbers.T
        accessed_at, access_count = self._uses.take(rows, axis=0).T
        kind, author = self._names.take(rows, axis=0).T.tolist()
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
            fragments=self._fragments_of(slots),
            author=author,
            previous=previous,
        )
        return _TakenRows(candidates, space, expires_at)


def _grown(column: NDArray[Any], rows: int) -> NDArray[Any]:
    """Return a column with room for so many rows."""
    spare = max(rows, 2 * len(column)) - len(column) if rows > len(column) else 0
    return np.concatenate([column, np.empty((spare, *column.shape[1:]), column.dtype)]) if spare else column


def candidate_rows(statements: SqliteStatements, nos: Sequence[int]) -> list[Row]:
    """Return rows of the statement `candidates`; without a text index, the words are made from the contents."""
    try:
        return statements.rows("candidates", nos=nos)
    except driver.errors() as exc:
        if not driver.is_lost_index(exc):
            raise
    return [
        (*row[:8], indexed_words(row[8], json.loads(tags) if tags else ()), *row[9:])
        for *row, tags in statements.rows("candidates_unindexed", nos=nos)
    ]


class CandidateColumns(Projection):
    """The fields of memories that were candidates, up to a number of bytes, and then anew; their texts are not kept."""

    most_changes = 20_000

    def __init__(self, capacity: int, read_texts: ReadTexts) -> None:
        super().__init__()
        self._capacity = capacity
        self._read_texts = read_texts
        self._table = _Table()
        #: The number of the last transaction whose uses it contains.
        self._counted = 0

    def __len__(self) -> int:
        """Return the number of memories in it."""
        return len(self._table.slots)

    def __contains__(self, no: int) -> bool:
        """Return whether a memory is in it."""
        return no in self._table.slots

    @property
    def size(self) -> int:
        """About how many bytes they take."""
        return self._table.size

    def visible(self, statements: SqliteStatements, search: Search, nos: Sequence[int]) -> Candidates:
        """Return the active memories that a search lets through, in their order."""
        visible = self._taken(statements, nos).visible(statements, search)
        visible.add_uses(statements.unwritten)
        return visible

    def active(self, statements: SqliteStatements, nos: Sequence[int]) -> Candidates:
        """Return the memories that are active, in their order."""
        return self._taken(statements, nos).candidates

    def add_uses(self, counted: CountedUses) -> None:
        """Add the uses that this process has counted; after those of another process, all uses are read again."""
        with self.lock:
            if counted.number == self._counted + 1:
                # In this order: if it is interrupted, the number is missing and all uses are read again.
                self._table.use(counted.uses)
                self._counted = counted.number

    def clear(self) -> None:
        """Read everything again."""
        with self.lock:
            self._table = _Table()
            self.seq = -1

    def load(self, statements: SqliteStatements) -> None:  # noqa: ARG002
        """Forget all memories: each is read when it is needed."""
        self._table = _Table()

    def apply(self, statements: SqliteStatements, changed: Sequence[int]) -> None:  # noqa: ARG002
        """Forget what was changed."""
        for no in changed:
            self._table.slots.pop(no, None)

    def _follow(self, statements: SqliteStatements) -> bool:
        """Take the state that a snapshot sees; return False if that is not committed, or older in its uses."""
        counted = statements.moment().counted
        if not statements.committed or counted < self._counted:
            return False
        self.follow(statements)
        if counted > self._counted:
            self._table.mark_outdated()
            self._counted = counted
        return True

    def _taken(self, statements: SqliteStatements, nos: Sequence[int]) -> _TakenRows:
        """Return the rows of the active ones of some memories."""
        with self.lock:
            current = self._follow(statements)
            missing, outdated = self._unknown(nos) if current else (list(nos), [])
            if not missing and not outdated:
                return self._table.taken(self._table.here(nos), self._read_texts)
        read = candidate_rows(statements, missing) if missing else []
        uses = statements.rows("memory_uses", nos=outdated) if outdated else []
        with self.lock:
            if (
                current
                and (self.seq, self._counted) == statements.moment()
                and (missing, outdated) == self._unknown(nos)
            ):
                self._table.add(read)
                self._table.set_uses(uses)
                taken = self._table.taken(self._table.here(nos), self._read_texts)
                if self._table.size > self._capacity:
                    self._table = _Table()
                return taken
        # Another thread has followed a newer snapshot, or the rows are not committed.
        table = _Table()
        table.add(candidate_rows(statements, list(nos)) if current else read)
        return table.taken(table.here(nos), self._read_texts)

    def check(self, statements: SqliteStatements) -> Iterator[Problem]:
        """Compare the fields in memory with the store."""
        with self.lock:
            if not self._follow(statements):
                return
            nos = list(self._table.slots)
            stored = _Table()
            stored.add(candidate_rows(statements, nos))
            different = [
                no
                for no in nos
                if self._table.fields(no) != stored.fields(no)
                or (not self._table.outdated([no]) and self._table.uses(no) != stored.uses(no))
            ]
        for no in different:
            detail = f"the fields in memory of the memory with number {no} differ from the store: open it again"
            yield Problem(code="column_cache", detail=detail)

    def _unknown(self, nos: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return the memories that are not here, and those whose uses are to be read again."""
        return [no for no in nos if no not in self._table.slots], self._table.outdated(nos)
