"""Reading the SQLite databases of other programs, row by row, and without leaving a trace beside them."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from memotherm.history.lines import open_regular
from memotherm.history.listing import transcript
from memotherm.history.records import Transcript

_HEADER = b"SQLite format 3\0"
#: Where the header says how the file is written, and the value for a write-ahead log.
_WRITE_VERSION, _WITH_LOG = 18, 2
#: Longer values are not loaded.
_LONGEST_VALUE = 32 * 1024 * 1024
#: Longer texts are returned as bytes.
_SHORT_TEXT = 4096


def is_database(path: Path) -> bool:
    """Return whether a file is a SQLite database, and neither a link nor a device."""
    try:
        with open_regular(path) as file:
            return file.read(len(_HEADER)) == _HEADER
    except OSError:
        return False


class Data(str):
    """A column of texts or bytes for `Database.rows`; a value that is too long, or neither, is None.

    SQLite loads a text to tell its length, so such a value is opened by its row instead.
    """

    __slots__ = ()


def _text(data: bytes) -> str | bytes:
    """Return a short text decoded, and a long one, which is JSON, as it is."""
    return data.decode("utf-8", "replace") if len(data) <= _SHORT_TEXT else data


class Database:
    """A database that is open for reading. Errors of SQLite are OSError."""

    def __init__(self, path: Path) -> None:
        #: The columns of each table that was asked for.
        self._known: dict[str, frozenset[str]] = {}
        try:
            self._connection = sqlite3.connect(_uri(path), uri=True, timeout=5)
            self._connection.text_factory = _text
            self._connection.execute("PRAGMA query_only = ON").fetchall()
        except sqlite3.Error as exc:
            raise OSError(f"it is not a readable SQLite database: {exc}") from exc

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def has(self, table: str, *columns: str) -> bool:
        """Return whether there is a table with some columns."""
        found = self._columns(table)
        return bool(found) and found.issuperset(columns)

    def require(self, table: str, *columns: str) -> None:
        """Raise OSError unless there is a table with some columns."""
        if not self.has(table, *columns):
            raise OSError("it has none of the known tables")

    def rows(
        self,
        table: str,
        columns: Sequence[str],
        where: str = "",
        values: Sequence[object] = (),
        order: str = "",
        group: str = "",
    ) -> Iterator[tuple[Any, ...]]:
        """Yield rows.

        A column that the table does not have is NULL; a condition has a question mark for each of the values.
        """
        known = self._columns(table) | {"rowid"}
        opened = [place for place, name in enumerate(columns) if isinstance(name, Data) and name in known]
        names = ["rowid" if place in opened else name for place, name in enumerate(columns)]
        chosen = ", ".join(name if not name.isidentifier() or name in known else "NULL" for name in names)
        condition, sorting = f" WHERE {where}" if where else "", f" ORDER BY {order}" if order else ""
        grouping = f" GROUP BY {group}" if group else ""
        statement = f'SELECT {chosen} FROM "{table}"{condition}{grouping}{sorting}'  # noqa: S608 - names in the code
        try:
            for row in self._connection.execute(statement, values):
                found = list(row)
                for place in opened:
                    found[place] = self._data(table, columns[place], found[place])
                yield tuple(found)
        except sqlite3.Error as exc:
            raise OSError(f"SQLite cannot read {table}: {exc}") from exc

    def _data(self, table: str, column: str, row: int) -> str | bytes | None:
        try:
            with self._connection.blobopen(table, column, row, readonly=True) as value:
                return _text(value.read()) if len(value) <= _LONGEST_VALUE else None
        except sqlite3.OperationalError:
            # It is a number, or nothing.
            return None

    def _columns(self, table: str) -> frozenset[str]:
        if table not in self._known:
            try:
                rows = self._connection.execute("SELECT name FROM pragma_table_info(?)", [table])
                self._known[table] = frozenset(name for (name,) in rows)
            except sqlite3.Error as exc:
                raise OSError(f"it is not a readable SQLite database: {exc}") from exc
        return self._known[table]


def sessions_in(
    source: str, path: Path, states_of: Callable[[Database], Mapping[str, str] | None]
) -> Iterator[Transcript]:
    """Yield the sessions in a database, each with its state and an equal share of the size of the file.

    Without states, because the tables are not known, the file itself is a transcript: reading it says what is wrong. A
    file that is no database has none.
    """
    if not is_database(path):
        return
    whole, states = transcript(source, path), None
    with suppress(OSError), Database(path) as database:
        states = states_of(database)
    if states is None:
        yield whole
        return
    for session, changed in states.items():
        yield Transcript(source, path, session, whole.size // len(states), changed)


def _uri(path: Path) -> str:
    """Return the URI that opens a file for reading.

    SQLite creates a log beside a file that is written with one. If there is none, nobody has the file open, and it is
    read as a file that does not change.
    """
    with open_regular(path) as file:
        header = file.read(_WRITE_VERSION + 1)
    log = Path(f"{path}-wal")
    if log.is_symlink() or (log.exists() and not stat.S_ISREG(log.stat().st_mode)):
        raise OSError("its write-ahead log is not a regular file")
    with_log = len(header) > _WRITE_VERSION and header[_WRITE_VERSION] == _WITH_LOG
    alone = with_log and not log.exists()
    return f"{Path(os.path.abspath(path)).as_uri()}?mode=ro{'&immutable=1' if alone else ''}"  # noqa: PTH100
