"""Named SQL statements, read from files, with the placeholders of a database filled in."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from memotherm.storage.rows import COLUMNS

__all__ = ["load", "migrations"]

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


def load(dialect: str, marks: Mapping[str, Callable[..., str]], *extensions: str) -> dict[str, str]:
    """Return the shared statements and those of a database; `marks` returns the text of each placeholder."""

    def filled(mark: re.Match[str]) -> str:
        name, arguments = mark[1], mark[2].split()
        return _COLUMNS[name] if name in _COLUMNS else marks[name](*arguments)

    statements: dict[str, str] = {}
    for name in ("queries", dialect, *extensions):
        statements |= _parse((_FOLDER / f"{name}.sql").read_text("utf-8"))
    return {name: _MARK.sub(filled, statement) for name, statement in statements.items()}


def migrations(dialect: str) -> list[str]:
    """Return the schema's steps in order; step n leads to schema version n."""
    return [file.read_text("utf-8") for file in sorted((_FOLDER / dialect).glob("*.sql"))]


def _parse(text: str) -> dict[str, str]:
    pieces = _HEADER.split(text)[1:]
    return {name: _REMARK.sub("", body).strip() for name, body in zip(pieces[::2], pieces[1::2], strict=True)}
