"""Posting lists of the text index as arrays: the memories that contain a word; and other facts of one event.

FTS5 can order by BM25 itself, but reads the length of every match for that: 5.5 ms for 3,000 matches among
100,000 memories, where reading the lists takes 0.6 ms. `matches.py` scores the memories in the lists.

To read the list of a word that most of 100,000 memories have takes 20 ms. So an event does not let a list be read
again: the words of the memory that it has changed are read, and the lists are corrected when they are used next.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memotherm.model import Tier
from memotherm.storage.sqlite.keys import text_key, text_ranges
from memotherm.storage.sqlite.statements import SQL, SqliteStatements
from memotherm.storage.sqlite.textindex import match_expression
from memotherm.text.words import is_fragment

__all__ = ["CACHE_SIZE", "Postings"]

Numbers = NDArray[np.int64]

#: The largest cache, in numbers of memories of 8 bytes each.
CACHE_SIZE = 600_000
#: But so many lists stay, however long they are: those of the words of a question that is asked again.
_LEAST_LISTS = 16
#: What an entry takes beside its numbers (key, array header, dictionary slot), in numbers.
_ENTRY_SIZE = 64
#: How many changed memories the lists may differ by, and how many words these may have in all; with more of them, all
#: lists are read again.
_MOST_CHANGES = 500
_MOST_WORDS = 50_000
_TIERS = tuple(Tier)
_ACTIVE = 0

Key = tuple[tuple[int, ...], tuple[Tier, ...], str]


class _Listed(NamedTuple):
    """A list, and the newest event when it was read or corrected."""

    numbers: Numbers
    seq: int


class _Changed(NamedTuple):
    """A memory that was changed, as the text index has it: without words if it is not there."""

    no: int
    #: The newest event when it was read.
    seq: int
    space: int
    tier: Tier
    words: frozenset[str]

    def is_in(self, key: Key) -> bool:
        """Return whether it belongs to a list."""
        spaces, tiers, word = key
        if self.space not in spaces or self.tier not in tiers:
            return False
        return any(each.startswith(word) for each in self.words) if is_fragment(word) else word in self.words


class Postings:
    """A cache of the lists of the words that were used last, and of numbers such as that of all memories.

    No memory is added, removed, changed or moved without an event.
    """

    def __init__(self, capacity: int = CACHE_SIZE) -> None:
        self._capacity = capacity
        self._least_lists = _LEAST_LISTS if capacity else 0
        self._lock = threading.Lock()
        self._seq = -1
        self._lists: OrderedDict[Key, _Listed] = OrderedDict()
        self._size = 0
        #: The memories by number that were changed after lists were read, in the order of `_Changed.seq`.
        self._changed: OrderedDict[int, _Changed] = OrderedDict()
        self._changed_words = 0
        self._facts: OrderedDict[tuple[object, ...], int | None] = OrderedDict()

    def __len__(self) -> int:
        """Return the number of cached lists and facts."""
        return len(self._lists) + len(self._facts)

    def fact(self, statements: SqliteStatements, key: tuple[object, ...], read: Callable[[], int | None]) -> int | None:
        """Return a number that changes only with an event; `read` reads it from the store.

        Args:
            statements: Those of a read transaction.
            key: What the number is about.
            read: Reads it in that transaction.
        """
        seq = statements.moment().seq
        with self._lock:
            self._catch_up(statements, seq)
            if seq == self._seq and key in self._facts:
                return self._facts[key]
        value = read()
        with self._lock:
            if seq == self._seq:
                self._facts[key] = value
                while len(self._facts) * _ENTRY_SIZE > self._capacity:
                    self._facts.popitem(last=False)
        return value

    def of(
        self, statements: SqliteStatements, spaces: Sequence[int], tiers: Sequence[Tier], words: Sequence[str]
    ) -> list[Numbers]:
        """Return for each word the numbers of the memories in some spaces and tiers that have it, in order.

        Args:
            statements: Those of a read transaction.
            spaces: The spaces to search.
            tiers: The tiers to search.
            words: The words as the index stores them.
        """
        place, seq = (tuple(spaces), tuple(tiers)), statements.moment().seq
        with self._lock:
            self._catch_up(statements, seq)
            # Another thread may have seen more than this transaction.
            known = [self._corrected((*place, word)) if seq == self._seq else None for word in words]
        return [
            self._read(statements, seq, (*place, word)) if numbers is None else numbers
            for word, numbers in zip(words, known, strict=True)
        ]

    def _read(self, statements: SqliteStatements, seq: int, key: Key) -> Numbers:
        """Read a list, and keep it if it is still that of the newest event."""
        numbers = _read(statements.connection, *key)
        with self._lock:
            if seq == self._seq:
                self._keep(key, numbers)
        return numbers

    def _corrected(self, key: Key) -> Numbers | None:
        """Return a list with the changes since it was last used; None if it is not here."""
        listed = self._lists.get(key)
        if listed is None:
            return None
        numbers, seq = listed
        if seq != self._seq:
            numbers = _with_changes(numbers, self._changed_since(seq), key)
            self._keep(key, numbers)
        self._lists.move_to_end(key)
        return numbers

    def _changed_since(self, seq: int) -> list[_Changed]:
        changed = []
        for memory in reversed(self._changed.values()):
            if memory.seq <= seq:
                break
            changed.append(memory)
        return changed

    def _keep(self, key: Key, numbers: Numbers) -> None:
        former = self._lists.get(key)
        self._size += len(numbers) + _ENTRY_SIZE if former is None else len(numbers) - len(former.numbers)
        self._lists[key] = _Listed(numbers, self._seq)
        while self._size > self._capacity and len(self._lists) > self._least_lists:
            self._size -= len(self._lists.popitem(last=False)[1].numbers) + _ENTRY_SIZE

    def _catch_up(self, statements: SqliteStatements, seq: int) -> None:
        """Read what was changed up to an event."""
        if seq <= self._seq:
            return
        nos = statements.changed_since(self._seq) if self._lists else []
        if len(nos) + len(self._changed) > _MOST_CHANGES or not self._add_changed(statements.connection, nos, seq):
            self._lists.clear()
            self._changed.clear()
            self._size = self._changed_words = 0
        self._facts.clear()
        self._seq = seq

    def _add_changed(self, connection: sqlite3.Connection, nos: Sequence[int], seq: int) -> bool:
        """Note memories that were changed; return whether all of them have few enough words."""
        for memory in _read_changed(connection, nos, seq) if nos else ():
            former = self._changed.pop(memory.no, None)
            self._changed_words += len(memory.words) - (0 if former is None else len(former.words))
            if self._changed_words > _MOST_WORDS:
                return False
            self._changed[memory.no] = memory
        return True


def _with_changes(numbers: Numbers, changed: Iterable[_Changed], key: Key) -> Numbers:
    """Return a list after some memories were changed."""
    here = {memory.no: memory.is_in(key) for memory in changed}
    nos = np.array(sorted(here), np.int64)
    places = numbers.searchsorted(nos)
    listed = numbers[np.minimum(places, len(numbers) - 1)] == nos if len(numbers) else np.zeros(len(nos), np.bool_)
    wanted = np.array([here[no] for no in nos.tolist()], np.bool_)
    if (listed == wanted).all():
        return numbers
    numbers = np.delete(numbers, places[listed & ~wanted])
    added = nos[wanted & ~listed]
    return np.insert(numbers, numbers.searchsorted(added), added)


def _read_changed(connection: sqlite3.Connection, nos: Sequence[int], seq: int) -> Iterator[_Changed]:
    """Yield memories as the text index has them now."""
    for no, space, rank, retention in connection.execute(SQL["places"], {"nos": json.dumps(nos)}).fetchall():
        tier, words = _TIERS[rank], ""
        if retention == _ACTIVE:
            table = "text_cold" if tier is Tier.COLD else "text_live"
            row = connection.execute(SQL[f"{table}_words"], {"rowid": text_key(space, tier, no)}).fetchone()
            words = row[0] if row is not None else ""
        yield _Changed(no, seq, space, tier, frozenset(words.split()))


def _read(connection: sqlite3.Connection, spaces: Sequence[int], tiers: Sequence[Tier], word: str) -> Numbers:
    lists = []
    match = match_expression(word)
    for table, span in text_ranges(spaces, tiers):
        # One text of numbers comes out of SQLite three times as fast as a row for each.
        (text,) = connection.execute(SQL[f"{table}_postings"], {"match": match, **span._asdict()}).fetchone()
        if text:
            lists.append(np.fromstring(text, np.int64, sep=","))
    # Each tier of a space is in order already.
    return np.sort(np.concatenate(lists), kind="stable") if lists else np.empty(0, np.int64)
