"""The files of a store: what they are, before SQLite opens them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from memotherm.errors import NotAStore, StoreDamaged, StoreUnavailable, WrongKey
from memotherm.storage.sqlite import driver
from memotherm.storage.sqlite.driver import read_header

#: The path of a store that lives only as long as its process.
MEMORY = ":memory:"

_HEADER_SIZE = 100
#: The byte of the header that tells how the file is written, and its value for a file without a write-ahead log.
_WRITE_VERSION, _WITHOUT_LOG = 18, 1


def require_openable(path: str, key: str = "") -> None:
    """Raise a clear error for a missing folder, a folder, or a file that is not a store with or without encryption."""
    if path == MEMORY:
        return
    file = Path(path)
    try:
        if file.is_dir():
            raise StoreUnavailable(f"{path} is a folder: name a file in it, such as {file / 'agent.db'}")
        if not file.parent.is_dir():
            raise StoreUnavailable(f"the folder {file.parent} does not exist: create it first")
        if file.exists() and file.stat().st_size:
            _require_kind(path, read_header(file, _HEADER_SIZE), key)
    except OSError as exc:
        raise StoreUnavailable(f"cannot open {path}: {exc.strerror or exc}") from exc


def _require_kind(path: str, header: bytes, key: str) -> None:
    plain = header.startswith(driver.HEADER)
    if plain and key:
        raise WrongKey(
            f"{path} is not encrypted, and a key is set: run `memotherm store encrypt {path}`, or unset the key"
        )
    if not plain and not key:
        raise NotAStore(
            f"{path} is not a Memotherm store, or it is encrypted; it was left as it is: "
            "choose another path, or set MEMOTHERM_KEY or MEMOTHERM_KEY_FILE"
        )
    log = Path(f"{path}-wal")
    if log.exists() and log.stat().st_size:
        # A file that uses a write-ahead log says so in its header before the log exists. SQLite would mix the log with
        # a file that has none, such as a checkpoint.
        readable = header if plain else driver.header_of(path, driver.cipher_of(key, path))
        if readable[_WRITE_VERSION] == _WITHOUT_LOG:
            raise StoreDamaged(
                f"{path}-wal belongs to another file than {path}, which was copied over it: "
                f"move {path}-wal away, and {path}-shm if there is one, and open the store again"
            )


def read_only_uri(file: Path) -> str:
    """Return the URI that opens a file for reading.

    SQLite needs a log beside a file that others may write. Where there is none and none can be created, nobody is
    writing, and the file is read without one.
    """
    alone = not Path(f"{file}-wal").exists() and not os.access(file.parent, os.W_OK)
    return f"{file.absolute().as_uri()}?mode=ro{'&immutable=1' if alone else ''}"


def is_read_only(file: Path) -> bool:
    """Return whether an existing file, or the folder that its log is created in, cannot be written."""
    return file.exists() and not (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK))


# Files of other programs


def is_sqlite(file: Path) -> bool:
    """Return whether a file is a SQLite database."""
    try:
        return read_header(file, len(driver.HEADER)) == driver.HEADER
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
