"""Posting lists of the text index as arrays: the memories that contain a word; and other facts of one event.

FTS5 can order by BM25 itself, but reads the length of every match for that: 5.5 ms for 3,000 matches among
100,000 memories, where reading the lists takes 0.6 ms. `matches.py` scores the memories in the lists.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from memotherm.model import Tier
from memotherm.storage.sqlite.keys import text_ranges
from memotherm.storage.sqlite.statements import SQL
from memotherm.storage.sqlite.textindex import match_expression

__all__ = ["CACHE_SIZE", "Postings"]

Numbers = NDArray[np.int64]

#: The largest cache, in numbers of memories of 8 bytes each.
CACHE_SIZE = 2_000_000
#: What an entry takes beside its numbers (key, array header, dictionary slot), in numbers.
_ENTRY_SIZE = 64


class Postings:
    """A cache of the lists of the words that were used last, and of numbers such as that of all memories.

    It is valid until the next event: no memory is added, removed, changed or moved without one.
    """

    def __init__(self, capacity: int = CACHE_SIZE) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._seq = -1
        self._lists: OrderedDict[tuple[object, ...], Numbers] = OrderedDict()
        self._size = 0
        self._facts: OrderedDict[tuple[object, ...], int | None] = OrderedDict()

    def __len__(self) -> int:
        """Return the number of cached lists and facts."""
        return len(self._lists) + len(self._facts)

    def fact(self, seq: int, key: tuple[object, ...], read: Callable[[], int | None]) -> int | None:
        """Return a number that changes only with an event; `read` reads it from the store.

        Args:
            seq: The newest event in the transaction.
            key: What the number is about.
            read: Reads it in that transaction.
        """
        with self._lock:
            self._renew(seq)
            if key in self._facts:
                return self._facts[key]
        value = read()
        with self._lock:
            if seq == self._seq:
                self._facts[key] = value
                while len(self._facts) * _ENTRY_SIZE > self._capacity:
                    self._facts.popitem(last=False)
        return value

    def of(
        self, connection: sqlite3.Connection, seq: int, spaces: Sequence[int], tiers: Sequence[Tier], word: str
    ) -> Numbers:
        """Return the numbers of the memories in some spaces and tiers that have a word, in order.

        Args:
            connection: A connection inside a read transaction.
            seq: The newest event in that transaction.
            spaces: The spaces to search.
            tiers: The tiers to search.
            word: The word as the index stores it.
        """
        key = (tuple(spaces), tuple(tiers), word)
        with self._lock:
            self._renew(seq)
            numbers = self._lists.get(key)
            if numbers is not None:
                self._lists.move_to_end(key)
                return numbers
        numbers = _read(connection, spaces, tiers, word)
        with self._lock:
            if seq == self._seq and key not in self._lists:
                self._lists[key] = numbers
                self._size += len(numbers) + _ENTRY_SIZE
                while self._size > self._capacity:
                    self._size -= len(self._lists.popitem(last=False)[1]) + _ENTRY_SIZE
        return numbers

    def _renew(self, seq: int) -> None:
        """Clear the cache if there is a newer event."""
        if seq != self._seq:
            self._lists.clear()
            self._facts.clear()
            self._seq, self._size = seq, 0


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
