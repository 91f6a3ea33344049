"""Copies of a store in a file: checkpoints, files with another encryption key, and tables of a transfer."""

from __future__ import annotations

import glob
import os
import sqlite3
import stat
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from memotherm.errors import InvalidInput, NotAStore, NotFound, StoreBusy, StoreDamaged, StoreUnavailable
from memotherm.settings.paths import create_file
from memotherm.storage.sqlite import driver
from memotherm.storage.sqlite.connections import mapped, require_unused
from memotherm.storage.sqlite.driver import require_openable
from memotherm.storage.sqlite.statements import MEMORY_MASK, PART_BITS, SQL, SqliteStatements, vector_range
from memotherm.storage.sqlite.tables import require_ours
from memotherm.storage.sqlite.transaction import rebuild
from memotherm.storage.statements import Row, marked
from memotherm.storage.transfer import VECTORS, StoreTables, Table

#: The metadata key under which a checkpoint records the store that it was made of.
ORIGIN_KEY = "origin"


def copy(
    source: sqlite3.Connection,
    target: Path,
    *,
    meta: Mapping[str, str],
    cipher: str | None = None,
    finish: Callable[[Path], None] | None = None,
) -> None:
    """Copy a store to a new file, whole or not at all.

    The copy has the cipher of its source, unless that is in memory. `finish` is called before the copy gets its name.
    """
    require_free(target)
    partial = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.partial")
    try:
        with suppress(OSError):
            create_file(partial)
        with mapped(str(target)), closing(driver.connect(partial, cipher)) as connection:
            in_memory = not source.execute("PRAGMA database_list").fetchone()[2]
            if cipher and in_memory:
                export(source, partial, cipher)
            else:
                source.backup(connection)
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.executemany(SQL["meta_set"], [{"key": key, "value": value} for key, value in meta.items()])
            connection.commit()
        if finish is not None:
            finish(partial)
        _publish(partial, target)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def restore(checkpoint: Path, into: Path, key: str = "", finish: Callable[[Path], None] | None = None) -> None:
    """Make a new store out of a checkpoint; it gets an identity of its own and keeps the key."""
    with _opened(checkpoint, key) as source:
        cipher = driver.cipher_of(key, checkpoint) if key else None
        # Caches beside the store carry its identity; a copy must not find the original's.
        copy(source, into, meta={"store": uuid.uuid4().hex}, cipher=cipher, finish=finish)


def origin_of(checkpoint: Path, key: str = "") -> tuple[str | None, str | None]:
    """Return the store that a checkpoint was made of, and the secret that both have."""
    with _opened(checkpoint, key) as source:
        rows = (source.execute(SQL["meta_get"], {"key": name}).fetchone() for name in (ORIGIN_KEY, "secret"))
        origin, secret = (None if row is None else str(row[0]) for row in rows)
    return origin, secret


@contextmanager
def _opened(checkpoint: Path, key: str) -> Iterator[sqlite3.Connection]:
    """Open a checkpoint for reading."""
    if not checkpoint.is_file():
        raise NotFound(f"there is no checkpoint {checkpoint}")
    if not checkpoint.stat().st_size:
        raise NotAStore(f"{checkpoint} is empty and no checkpoint: choose another one")
    require_openable(str(checkpoint), key)
    require_ours(str(checkpoint), key)
    cipher = driver.cipher_of(key, checkpoint) if key else None
    uri = f"{checkpoint.absolute().as_uri()}?mode=ro"
    with mapped(str(checkpoint)), closing(driver.connect(uri, cipher, uri=True)) as source:
        yield source


def require_free(target: Path) -> None:
    """Refuse a file that exists already, or that cannot be made."""
    if target.exists():
        raise InvalidInput(f"{target} already exists: choose a new file")
    if not target.parent.is_dir():
        raise StoreUnavailable(f"the folder {target.parent} does not exist: create it first")


def _publish(partial: Path, target: Path) -> None:
    """Rename the finished copy, unless the name was taken in the meantime."""
    with partial.open("rb") as handle:
        os.fsync(handle.fileno())
    try:
        os.link(partial, target)
    except FileExistsError:
        raise InvalidInput(f"{target} already exists: choose a new file") from None
    except OSError:  # a file system without hard links
        partial.replace(target)


#: What belongs to a database and is not copied with its tables.
_PRAGMAS = ("application_id", "user_version")


def recode(path: Path, key: str, new_key: str, busy_timeout_ms: int) -> None:
    """Replace the file of a store by one with another key; an empty key means that it is not encrypted.

    The old file stays as it is until the new one is complete and verified. No other process can use the store
    meanwhile.
    """
    require_openable(str(path), key)
    require_ours(str(path), key)
    require_unused(str(path))
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.partial")
    source = driver.connect(path, driver.cipher_of(key, path) if key else driver.UNKEYED, isolation_level=None)
    try:
        with mapped(str(path)), closing(source):
            _lock(source, path, busy_timeout_ms)
            # What a process left that was killed; the copies for a decryption are not encrypted.
            for file in path.parent.glob(f".{glob.escape(path.name)}.*.partial*"):
                file.unlink(missing_ok=True)
            try:
                cipher = driver.cipher_of(new_key, partial) if new_key else ""
                export(source, partial, cipher)
                _verify(source, partial, cipher)
                _replace(path, partial)
            finally:
                source.execute("PRAGMA locking_mode = NORMAL")
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
    # Made from vectors of the store, and not encrypted.
    # Imported here with the compression modules that it imports, because opening a store copies nothing.
    import shutil

    shutil.rmtree(f"{path}-vectors", ignore_errors=True)


def export(source: sqlite3.Connection, target: Path, cipher: str) -> None:
    """Copy all tables from a connection of SQLCipher into a new file; an empty cipher does not encrypt it."""
    with suppress(OSError):
        create_file(target)
    key = f"x'{cipher}'" if cipher else ""
    source.execute("ATTACH DATABASE ? AS target KEY ?", (str(target), key))
    try:
        if cipher:
            driver.configure(source, "target")
        else:
            source.execute(f"PRAGMA target.page_size = {driver.PAGE_SIZE}")
        source.execute("SELECT sqlcipher_export('target')")
        for pragma in _PRAGMAS:
            (value,) = source.execute(f"PRAGMA main.{pragma}").fetchone()
            source.execute(f"PRAGMA target.{pragma} = {value}")
    finally:
        source.execute("DETACH DATABASE target")


def _lock(connection: sqlite3.Connection, path: Path, busy_timeout_ms: int) -> None:
    """Empty the write-ahead log and keep everybody else from the file until the connection is closed."""
    connection.execute(f"PRAGMA busy_timeout = {busy_timeout_ms}")
    busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    try:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("COMMIT")  # the lock stays
        (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    except driver.errors() as exc:
        if getattr(exc, "sqlite_errorcode", 0) & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise
        busy, mode = True, "wal"
    if busy or mode != "delete":
        raise StoreBusy(f"{path} is in use: close it in all processes (servers, agents, hooks) and try again")


def _verify(source: sqlite3.Connection, partial: Path, cipher: str) -> None:
    with closing(driver.connect(partial, cipher or None)) as copy:
        faults = [line for (line,) in copy.execute("PRAGMA integrity_check(1)") if line != "ok"]
        if faults or _counts(copy) != _counts(source):
            raise StoreDamaged(f"the new file is not a true copy; the store was left as it is: {faults}")


def _counts(connection: sqlite3.Connection) -> dict[str, int]:
    """Return the number of rows of each table."""
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    count = SQL["table_count"]
    return {name: connection.execute(marked(count, {"table": name})).fetchone()[0] for name in names}


def _replace(path: Path, partial: Path) -> None:
    try:
        partial.chmod(stat.S_IMODE(path.stat().st_mode))
        with partial.open("rb") as handle:
            os.fsync(handle.fileno())
        partial.replace(path)
        if os.name == "posix":
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    except OSError as exc:
        raise StoreUnavailable(f"cannot replace {path}: {exc.strerror or exc}") from exc


#: The join that finds the tenant of a row.
_OWNERS = {
    "": "",
    "space": "LEFT JOIN spaces s ON s.space = t.space",
    "no": "JOIN memories m ON m.no = t.no JOIN spaces s ON s.space = m.space",
    "note": "JOIN notes n ON n.note = t.note JOIN spaces s ON s.space = n.space",
}


class SqliteTables(StoreTables):
    """The tables on one connection, inside one transaction."""

    def __init__(self, statements: SqliteStatements) -> None:
        super().__init__(statements)
        self._sql = statements
        self._connection = statements.connection

    def rows(self, table: Table) -> Iterator[Row]:
        """Yield (tenant, *columns) of all rows, in the order of the key."""
        if table is VECTORS:
            return self._sql.each("vectors_all", parts=1 << PART_BITS, numbers=MEMORY_MASK)
        marks = {
            "tenant": "coalesce(s.tenant, '')" if table.owner else "''",
            "columns": ", ".join(f"t.{column}" for column in table.columns),
            "table": table.name,
            "owner": _OWNERS[table.owner],
            "keys": ", ".join(f"t.{column}" for column in table.key),
        }
        return self._connection.cursor().execute(marked(SQL["table_rows"], marks))

    def put(self, table: Table, rows: Sequence[Row]) -> None:
        """Insert rows as `rows` yields them."""
        if table is VECTORS:
            vectors = [
                {"key": vector_range(embedder, no).low + part, "vector": vector}
                for _, embedder, no, part, _, _, vector in rows
            ]
            self._sql.run_many("vector_add", vectors)
            return
        owned = table.name == "spaces"
        columns = ("tenant", *table.columns) if owned else table.columns
        marks = {"table": table.name, "columns": ", ".join(columns), "values": ", ".join("?" * len(columns))}
        self._connection.executemany(marked(SQL["table_put"], marks), rows if owned else [row[1:] for row in rows])

    def complete(self) -> None:
        """Build counters and text index."""
        self._sql.run("counters_clear")
        self._sql.run("counters_make")
        rebuild(self._sql)
