"""The named statements of SQLite, and how they are run."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import NamedTuple

from memotherm.storage import queries
from memotherm.storage.sqlite.assumptions import Basis
from memotherm.storage.statements import Row, Statements, marked
from memotherm.storage.waiting import TimedUse, WaitingUses

__all__ = ["SQL", "CountedUses", "Lending", "Moment", "SqliteStatements"]

#: The statements by name. Keys have no tenant column, and some statements name their index for the planner.
SQL = queries.load(
    "sqlite",
    {
        "in": lambda name: f"IN (SELECT value FROM json_each(:{name}))",  # noqa: S608 - a name of ours
        "own": lambda _="": "",
        "same": lambda *_: "",
        "key": lambda: "",
        "index": lambda name: f"INDEXED BY {name}",
        "cross": lambda: "CROSS JOIN",
    },
)

_LISTS = frozenset({list, tuple})
_PARAMETER = re.compile(r":([a-z_]+)")


class CountedUses(NamedTuple):
    """The uses that a transaction has counted."""

    #: How many transactions of all processes have counted uses, with this one.
    number: int
    #: In order of time for each memory.
    uses: WaitingUses


class Moment(NamedTuple):
    """A state of the store: the newest event, and how often uses were counted. Neither ever decreases."""

    seq: int
    counted: int


class Lending:
    """The statements on a connection of the pool, as a context manager."""

    __slots__ = ("_connection",)

    def __init__(self, connection: AbstractContextManager[sqlite3.Connection]) -> None:
        self._connection = connection

    def __enter__(self) -> SqliteStatements:
        return SqliteStatements(self._connection.__enter__())

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.__exit__(kind, exc, trace)


class SqliteStatements(Statements):
    """The statements on one SQLite connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        #: What was counted on this connection.
        self.counted: list[CountedUses] = []
        #: The memories whose running relevance was written on it.
        self.averaged: set[int] = set()
        self._moment: Moment | None = None
        #: The memories that were changed since some events, up to that moment.
        self._changed: dict[int, list[int]] = {}
        #: Whether any memory waits for its vectors at that moment.
        self.any_pending = False
        self.basis: Basis

    def rows(self, name: str, /, **values: object) -> list[Row]:
        """Return all rows of a statement."""
        return self.connection.execute(SQL[name], _adapted(values)).fetchall()

    def rows_of(self, name: str, marks: Mapping[str, object], /, **values: object) -> list[Row]:
        """Return all rows of a statement whose text depends on names or conditions of ours."""
        return self.connection.execute(marked(SQL[name], marks), _adapted(values)).fetchall()

    def fragment(self, name: str, suffix: str) -> str:
        """Return the text of a condition, with a suffix behind the names of its parameters."""
        return _PARAMETER.sub(rf":\1{suffix}", SQL[name])

    def each(self, name: str, /, **values: object) -> Iterator[Row]:
        """Iterate over the rows of a statement."""
        return self.connection.cursor().execute(SQL[name], _adapted(values))

    def run(self, name: str, /, **values: object) -> None:
        """Run a statement and discard its rows."""
        self.connection.execute(SQL[name], _adapted(values))

    def run_many(self, name: str, rows: Sequence[Mapping[str, object]]) -> None:
        """Run a statement once for every row of parameters."""
        if rows:
            self.connection.executemany(SQL[name], rows)

    def moment(self) -> Moment:
        """Return what a read transaction sees; it is read once."""
        if self._moment is None:
            ((seq, counted, pending, *basis),) = self.rows("moment")
            self._moment, self.any_pending, self.basis = Moment(seq, counted), bool(pending), Basis(*basis)
        return self._moment

    def changed_since(self, seq: int) -> list[int]:
        """Return the memories that were changed after an event, as a read transaction sees them; they are read once."""
        changed = self._changed.get(seq)
        if changed is None:
            changed = self._changed[seq] = [no for (no,) in self.rows("events_changed_since", seq=seq)]
        return changed

    def note_uses(self, uses: Sequence[TimedUse]) -> None:
        """Number the uses that were counted, so that the caches of all processes notice them."""
        self.counted.append(CountedUses(self.value("uses_counted"), WaitingUses(uses)))


def _adapted(values: dict[str, object]) -> dict[str, object]:
    """Return the parameters with lists as JSON."""
    if not _LISTS.isdisjoint(map(type, values.values())):
        values |= {name: json.dumps(value) for name, value in values.items() if type(value) in _LISTS}
    return values
