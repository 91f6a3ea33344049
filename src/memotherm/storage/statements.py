"""The interface by which the shared code runs named statements on one connection."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memotherm.storage.waiting import NOTHING_WAITS, TimedUse, WaitingUses

__all__ = ["Row", "Statements", "marked"]

Row = tuple[Any, ...]


def marked(statement: str, marks: Mapping[str, object]) -> str:
    """Return a statement with its `$` placeholders replaced by names or numbers."""
    for mark, value in marks.items():
        statement = statement.replace(f"${mark}", str(value))
    return statement


class Statements(ABC):
    """Runs statements by name, inside one transaction; a list may be a parameter."""

    #: The uses that this transaction does not see, because they are not written yet.
    waiting: WaitingUses = NOTHING_WAITS

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

    def note_uses(self, uses: Sequence[TimedUse]) -> None:  # noqa: B027
        """Let the caches of all processes notice uses that were counted; there may be no such caches."""

    def row(self, name: str, /, **values: object) -> Row | None:
        """Return the first row of a statement, or None."""
        rows = self.rows(name, **values)
        return rows[0] if rows else None

    def value(self, name: str, /, **values: object) -> Any:  # noqa: ANN401
        """Return the first field of the first row, or None."""
        row = self.row(name, **values)
        return None if row is None else row[0]
