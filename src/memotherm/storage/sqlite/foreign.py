"""Read tables of a SQLite file that belongs to another program, without changing the file."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from memotherm.errors import NotAStore
from memotherm.storage.sqlite.files import read_only_uri
from memotherm.storage.sqlite.headers import beginning_of

__all__ = ["is_sqlite", "read_tables"]

_HEADER = b"SQLite format 3\x00"


def is_sqlite(file: Path) -> bool:
    """Return whether a file is a SQLite database."""
    try:
        return beginning_of(file, len(_HEADER)) == _HEADER
    except OSError:
        return False


def read_tables(file: Path, tables: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of some tables, in the order in which they were inserted."""
    rows: dict[str, list[dict[str, Any]]] = {}
    try:
        with closing(sqlite3.connect(read_only_uri(file), uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            for table in tables:
                rows[table] = [dict(row) for row in connection.execute(f'SELECT * FROM "{table}" ORDER BY rowid')]  # noqa: S608
    except sqlite3.Error as exc:
        raise NotAStore(f"{file.name} does not have the tables {', '.join(tables)}: {exc}") from exc
    return rows
