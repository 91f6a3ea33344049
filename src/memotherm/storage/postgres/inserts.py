"""The rows that a transaction adds: they wait, so that one statement inserts many."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import psycopg

__all__ = ["ADDED", "Inserts"]

#: The statements whose rows wait; one that refers to another comes after it.
ADDED = ("memory_add", "tag_add", "turn_add", "text_add", "vector_add", "event_add")
#: How many rows of a statement wait at most.
_MOST = 100
_PARAMETER = re.compile(r"%\(([a-z_]+)\)s")


class Inserts:
    """Rows by the name of their statement.

    Args:
        connection: Where they are inserted.
    """

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self._waiting: dict[str, tuple[str, list[Mapping[str, object]]]] = {}

    def add(self, name: str, text: str, rows: Sequence[Mapping[str, object]]) -> None:
        """Let rows wait; if there are many, insert all that wait."""
        waiting = self._waiting.setdefault(name, (text, []))[1]
        waiting += rows
        if len(waiting) >= _MOST:
            self.flush()

    def flush(self) -> None:
        """Insert what waits, before anything else is read or changed."""
        waiting, self._waiting = self._waiting, {}
        for name in ADDED:
            if name in waiting:
                text, rows = waiting[name]
                statement, names = _of_rows(text, len(rows))
                # The driver would look for its own placeholders in a long text each time.
                with psycopg.RawCursor(self._connection) as cursor:
                    cursor.execute(statement, [row[parameter] for row in rows for parameter in names])


@lru_cache
def _of_rows(text: str, count: int) -> tuple[bytes, list[str]]:
    """Return a statement that inserts so many rows instead of one, and the parameters of each row in order."""
    head, values, rest = text.partition("VALUES ")
    row, conflict, action = rest.partition("\nON CONFLICT")
    names, numbers = _PARAMETER.findall(row), itertools.count(1)
    rows = ", ".join(_PARAMETER.sub(lambda _: f"${next(numbers)}", row) for _ in range(count))
    return (head + values + rows + conflict + action).encode(), names
