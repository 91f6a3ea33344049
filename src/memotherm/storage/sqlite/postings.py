"""Which memories have a word: the lists behind the text index, read as arrays.

FTS5 can order by BM25 itself, but looks up the length of every match for it: 5.5 ms of 3,000 matches
among 100,000 memories, where reading the lists takes 0.6 ms. So we read them, and count for each memory
the words that it has, the rare ones most: BM25 with k1 = 0, which neither length nor repetition moves.
"""

from __future__ import annotations

import math
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

__all__ = ["MOST_KEPT", "Postings", "strengths"]

Numbers = NDArray[np.int64]

#: How many numbers of memories are kept for the next question: 4 MB.
MOST_KEPT = 500_000


class Postings:
    """The lists of words that were last asked for, and how many memories there are in all.

    True as long as the ledger has not grown: nothing enters, leaves or moves without an event.
    """

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._seq = -1
        self._lists: OrderedDict[tuple[object, ...], Numbers] = OrderedDict()
        self._kept = 0
        self._totals: dict[tuple[object, ...], int] = {}

    def total(self, seq: int, spaces: Sequence[int], tiers: Sequence[Tier], count: Callable[[], int]) -> int:
        """Return how many memories some spaces and tiers have at an event; `count` looks, if nobody has."""
        key = (tuple(spaces), tuple(tiers))
        with self._lock:
            self._renew(seq)
            total = self._totals.get(key)
        if total is None:
            total = count()
            with self._lock:
                if seq == self._seq and len(self._totals) < self._most:
                    self._totals[key] = total
        return total

    def of(
        self, connection: sqlite3.Connection, seq: int, spaces: Sequence[int], tiers: Sequence[Tier], word: str
    ) -> Numbers:
        """Return the numbers of the memories in some spaces and tiers that have a word.

        Args:
            connection: Reads one state of the store.
            seq: The newest event of that state.
            spaces: Where to look.
            tiers: Where to look.
            word: As the index has it.
        """
        key = (tuple(spaces), tuple(tiers), word)
        with self._lock:
            self._renew(seq)
            found = self._lists.get(key)
            if found is not None:
                self._lists.move_to_end(key)
                return found
        found = _read(connection, spaces, tiers, word)
        with self._lock:
            if seq == self._seq and key not in self._lists:
                self._lists[key] = found
                self._kept += len(found)
                while self._kept > self._most:
                    self._kept -= len(self._lists.popitem(last=False)[1])
        return found

    def _renew(self, seq: int) -> None:
        """Forget what was true at another event."""
        if seq != self._seq:
            self._lists.clear()
            self._totals.clear()
            self._seq, self._kept = seq, 0


def strengths(lists: Sequence[Numbers], total: int) -> tuple[Numbers, NDArray[np.float64]]:
    """Return the memories of some lists, and for each the worth of the words it has.

    Args:
        lists: The memories that have each word.
        total: How many memories there are.
    """
    told = [each for each in lists if len(each)]
    if not told:
        return np.empty(0, np.int64), np.empty(0)
    worth = [math.log(1 + max(total - len(each) + 0.5, 0.0) / (len(each) + 0.5)) for each in told]
    nos, worths = np.concatenate(told), np.repeat(worth, [len(each) for each in told])
    order = nos.argsort(kind="stable")
    nos, worths = nos[order], worths[order]
    first = np.concatenate(([0], np.flatnonzero(nos[1:] != nos[:-1]) + 1))
    return nos[first], np.add.reduceat(worths, first)


def _read(connection: sqlite3.Connection, spaces: Sequence[int], tiers: Sequence[Tier], word: str) -> Numbers:
    lists = []
    match = match_expression(word)
    for table, span in text_ranges(spaces, tiers):
        # One text of numbers comes out of SQLite three times as fast as a row for each.
        (text,) = connection.execute(SQL[f"{table}_postings"], {"match": match, **span._asdict()}).fetchone()
        if text:
            lists.append(np.fromstring(text, np.int64, sep=","))
    return np.concatenate(lists) if lists else np.empty(0, np.int64)
