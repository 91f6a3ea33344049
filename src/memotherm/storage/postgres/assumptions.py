"""What a read takes as known from earlier ones, so that it does not wait for it; its snapshot verifies it."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from memotherm.storage.postgres.statements import PostgresStatements
from memotherm.storage.statements import Row

__all__ = ["ASSUMED", "Assumptions"]

#: The statements whose rows are assumed: which spaces a scope sees, and which embedder serves.
ASSUMED = frozenset({"spaces_visible", "embedder_serving"})
#: How many results of statements are kept.
_MOST = 10_000

#: The name of a statement and its parameters.
_Statement = tuple[Any, ...]


class _Read(threading.local):
    """What the read of one thread relies on."""

    #: Whether the thread may still assume something.
    open = False

    def __init__(self) -> None:
        #: For each part of the store, the statements and the rows that they returned last.
        self.noted: dict[Hashable, dict[_Statement, list[Row]]] = {}


class Assumptions:
    """The last rows of statements, and which of them the read of each thread relies on."""

    def __init__(self) -> None:
        self._last: dict[tuple[Hashable, _Statement], list[Row]] = {}
        self._read = _Read()

    @property
    def active(self) -> bool:
        """Whether this thread is in a read that may assume something."""
        return self._read.open

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Let the statements of this thread return what they returned last, until a snapshot was verified."""
        self._read.open = True
        try:
            yield
        finally:
            self._read.open = False
            self._read.noted.clear()

    def keep(self, part: Hashable, name: str, values: Mapping[str, object], rows: list[Row]) -> None:
        """Keep the rows of a statement on a part of the store."""
        if len(self._last) >= _MOST:
            self._last.clear()
        self._last[part, _statement(name, values)] = rows

    def assumed(self, part: Hashable, name: str, values: Mapping[str, object]) -> list[Row] | None:
        """Return the rows that a statement returned last, if the thread may rely on them."""
        statement = _statement(name, values)
        rows = self._last.get((part, statement)) if self._read.open else None
        if rows:
            self._read.noted.setdefault(part, {})[statement] = rows
        return rows or None

    def expect(self, part: Hashable, statements: PostgresStatements) -> None:
        """Send the statements whose rows the thread has assumed on a part of the store."""
        for name, *values in self._read.noted.get(part, ()):
            statements.expect(name, **dict(values))

    def verify(self, part: Hashable, statements: PostgresStatements) -> bool:
        """Keep the rows of the statements that were sent, and return whether they are those that were assumed."""
        self._read.open = False
        current = True
        for (name, *pairs), rows in self._read.noted.pop(part, {}).items():
            values = dict(pairs)
            found = statements.rows(name, **values)
            self.keep(part, name, values, found)
            current = current and found == rows
        return current


def _statement(name: str, values: Mapping[str, object]) -> _Statement:
    return name, *values.items()
