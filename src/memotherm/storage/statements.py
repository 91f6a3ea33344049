"""Named SQL statements: how they are read from files, and how the shared code runs them on one connection."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from memotherm.storage.rows import COLUMNS, NO_USES, UnwrittenUses

Row = tuple[Any, ...]


def marked(statement: str, marks: Mapping[str, object]) -> str:
    """Return a statement with its `$` placeholders replaced by names or numbers."""
    for mark, value in marks.items():
        statement = statement.replace(f"${mark}", str(value))
    return statement


#: The folder of the statements.
_FOLDER = Path(__file__).parent / "sql"
_HEADER = re.compile(r"^-- (\w+): .+$", re.MULTILINE)
_REMARK = re.compile(r"^--.*\n", re.MULTILINE)
_MARK = re.compile(r"\{(\w+)((?: \w+)*)\}")
_COLUMNS = {
    "columns": ", ".join(COLUMNS),
    "chunk_columns": ", ".join(f"m.{column}" for column in COLUMNS),
    "values": ", ".join(f":{column}" for column in COLUMNS),
    "assignments": ", ".join(f"{column} = :{column}" for column in COLUMNS if column != "no"),
}


def load_statements(dialect: str, marks: Mapping[str, Callable[..., str]], *extensions: str) -> dict[str, str]:
    """Return the shared statements and those of a database; `marks` returns the text of each placeholder."""

    def filled(mark: re.Match[str]) -> str:
        name, arguments = mark[1], mark[2].split()
        return _COLUMNS[name] if name in _COLUMNS else marks[name](*arguments)

    statements: dict[str, str] = {}
    for name in ("queries", dialect, *extensions):
        pieces = _HEADER.split((_FOLDER / f"{name}.sql").read_text("utf-8"))[1:]
        statements |= {key: _REMARK.sub("", text).strip() for key, text in zip(pieces[::2], pieces[1::2], strict=True)}
    return {name: _MARK.sub(filled, statement) for name, statement in statements.items()}


def migrations(dialect: str) -> list[str]:
    """Return the schema's steps in order; step n leads to schema version n."""
    return [file.read_text("utf-8") for file in sorted((_FOLDER / dialect).glob("*.sql"))]


class Statements(ABC):
    """Runs statements by name, inside one transaction; a list may be a parameter."""

    #: The uses that this transaction does not see, because they are not written yet.
    unwritten: UnwrittenUses = NO_USES
    #: Whether it reads committed rows only. What a writing transaction reads may be rolled back, so it is not cached.
    committed = False

    @abstractmethod
    def rows(self, name: str, /, **values: object) -> list[Row]:
        """Return all rows of a statement."""

    @abstractmethod
    def rows_of(self, name: str, marks: Mapping[str, object], /, **values: object) -> list[Row]:
        """Return all rows of a statement whose text depends on names or conditions of ours."""

    @abstractmethod
    def fragment(self, name: str, suffix: str) -> str:
        """Return the text of a condition, with a suffix behind the names of its parameters."""

    @abstractmethod
    def each(self, name: str, /, **values: object) -> Iterator[Row]:
        """Iterate over the rows of a statement."""

    @abstractmethod
    def run(self, name: str, /, **values: object) -> None:
        """Run a statement and discard its rows."""

    @abstractmethod
    def run_many(self, name: str, rows: Sequence[Mapping[str, object]]) -> None:
        """Run a statement once for every row of parameters."""

    def note_uses(self, uses: UnwrittenUses) -> None:  # noqa: B027
        """Let the projections of all processes notice uses that were counted; there may be none."""

    def row(self, name: str, /, **values: object) -> Row | None:
        """Return the first row of a statement, or None."""
        rows = self.rows(name, **values)
        return rows[0] if rows else None

    def value(self, name: str, /, **values: object) -> Any:  # noqa: ANN401
        """Return the first field of the first row, or None."""
        row = self.row(name, **values)
        return None if row is None else row[0]
