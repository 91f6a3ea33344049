"""Snowball's stemmers with a faster search in their tables of endings.

Snowball compares a word with an ending letter by letter, in Python: most of the time of storing a text with new
words. A dictionary for each table finds the same ending, the longest first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import snowballstemmer

__all__ = ["stem_function"]

#: The entries of a table by their text, and the lengths of those texts, longest first.
_Index = tuple[dict[str, Any], tuple[int, ...]]


def stem_function(language: str) -> Callable[[str], str] | None:
    """Return the function that stems words of a language, or None if Snowball does not know it; not thread-safe."""
    if language not in snowballstemmer.algorithms():
        return None
    stemmer = snowballstemmer.stemmer(language)
    if hasattr(stemmer, "find_among_b"):  # not the stemmer of another package, which is written in C
        stemmer = type("IndexedStemmer", (_IndexedTables, type(stemmer)), {})()
    stem: Callable[[str], str] = stemmer.stemWord
    return stem


class _IndexedTables:
    """Finds entries of tables by dictionaries."""

    current: str
    cursor: int
    limit: int
    limit_backward: int

    def __init__(self) -> None:
        super().__init__()
        self._indexes: dict[int, _Index] = {}

    def find_among(self, table: Sequence[Any]) -> int:
        """Return the result of the longest entry at the cursor and move behind it; 0 if there is none."""
        entries, lengths = self._indexes.get(id(table)) or self._index(table)
        start = self.cursor
        for length in lengths:
            end = start + length
            entry = entries.get(self.current[start:end]) if end <= self.limit else None
            if entry is not None:
                self.cursor = end
                if entry.method is None or entry.method(self):
                    self.cursor = end
                    return int(entry.result)
        return 0

    def find_among_b(self, table: Sequence[Any]) -> int:
        """Return the result of the longest entry before the cursor and move before it; 0 if there is none."""
        entries, lengths = self._indexes.get(id(table)) or self._index(table)
        end = self.cursor
        for length in lengths:
            start = end - length
            entry = entries.get(self.current[start:end]) if start >= self.limit_backward else None
            if entry is not None:
                self.cursor = start
                if entry.method is None or entry.method(self):
                    self.cursor = start
                    return int(entry.result)
        return 0

    def _index(self, table: Sequence[Any]) -> _Index:
        entries = {entry.s: entry for entry in table}
        index = entries, tuple(sorted(set(map(len, entries)), reverse=True))
        self._indexes[id(table)] = index
        return index
