"""Named SQL statements: how they are read from files, and how the shared code runs them on one connection."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from memotherm.storage.rows import COLUMNS, NO_USES, UnwrittenUses
from memotherm.storage.values import Identity

Row = tuple[Any, ...]


def identity_in(rows: Sequence[Row]) -> Identity | None:
    """Return the embedder of a row of the statement `embedder_serving`."""
    return Identity(number=rows[0][0], name=rows[0][1], dimensions=rows[0][2]) if rows else None


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
#: What fills the marks of a statement: a function of each mark's arguments, by the mark's name.
Marks = Mapping[str, Callable[..., str]]
#: The columns of which a reader has a newer value.
_USED = ("accessed_at", "access_count", "recent_uses", "use_weight")
_COLUMNS: Marks = {
    "columns": lambda: ", ".join(COLUMNS),
    "chunk_columns": lambda: ", ".join(f"m.{column}" for column in COLUMNS),
    "read_columns": lambda: ", ".join(f"{'r' if column in _USED else 'm'}.{column}" for column in COLUMNS),
    "values": lambda: ", ".join(f":{column}" for column in COLUMNS),
    "assignments": lambda: ", ".join(f"{column} = :{column}" for column in COLUMNS if column != "no"),
}


class Mark(NamedTuple):
    """A place in a statement that each database fills in: a table, a condition, columns."""

    name: str
    arguments: tuple[str, ...]


class Template(NamedTuple):
    """A statement as it is in a file: texts, and marks between them."""

    texts: tuple[str, ...]
    marks: tuple[Mark, ...]

    @classmethod
    def of(cls, text: str) -> Self:
        """Return the template of a text."""
        parts = _MARK.split(text)
        marks = zip(parts[1::3], parts[2::3], strict=True)
        return cls(tuple(parts[::3]), tuple(Mark(name, tuple(words.split())) for name, words in marks))

    @property
    def changes(self) -> bool:
        """Whether it changes rows."""
        return self.texts[0].startswith(("INSERT", "UPDATE", "DELETE"))

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that it names by marks, in order."""
        return tuple(mark.arguments[0] for mark in self.marks if mark.name == "table")

    def count(self, *names: str) -> int:
        """Return how many marks have one of some names."""
        return sum(mark.name in names for mark in self.marks)

    def filled(self, marks: Marks) -> str:
        """Return the statement of a database."""
        found = [(_COLUMNS.get(name) or marks[name])(*arguments) for name, arguments in self.marks]
        return "".join(text + filling for text, filling in zip(self.texts, (*found, ""), strict=True))


def load_templates(dialect: str, *extensions: str) -> dict[str, Template]:
    """Return the shared statements and those of a database, by name; an extension replaces some of them."""
    templates: dict[str, Template] = {}
    for name in ("queries", dialect, *extensions):
        pieces = _HEADER.split((_FOLDER / f"{name}.sql").read_text("utf-8"))[1:]
        for key, text in zip(pieces[::2], pieces[1::2], strict=True):
            templates[key] = Template.of(_REMARK.sub("", text).strip())
    return templates


def migrations(dialect: str) -> list[str]:
    """Return the schema's steps in order; step n leads to schema version n."""
    return [file.read_text("utf-8") for file in sorted((_FOLDER / dialect).glob("*.sql"))]


class Statements(ABC):
    """Runs statements by name, inside one transaction; a list may be a parameter."""

    #: The uses that this transaction does not see, because they are not written yet.
    unwritten: UnwrittenUses = NO_USES
    #: Whether it reads committed rows only. What a writing transaction reads may be rolled back, so it is not cached.
    committed = False
    #: The last search for hidden memories in this transaction, and what it has found.
    hidden: tuple[Any, Any] = (None, None)

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

    def embedder(self) -> Identity | None:
        """Return the embedder that serves searches, if there is one."""
        return identity_in(self.rows("embedder_serving"))

    def row(self, name: str, /, **values: object) -> Row | None:
        """Return the first row of a statement, or None."""
        rows = self.rows(name, **values)
        return rows[0] if rows else None

    def value(self, name: str, /, **values: object) -> Any:  # noqa: ANN401
        """Return the first field of the first row, or None."""
        row = self.row(name, **values)
        return None if row is None else row[0]
