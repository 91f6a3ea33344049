"""Schema migrations: numbered steps in one transaction."""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from memotherm.errors import NotAStore, SchemaTooNew
from memotherm.storage.sqlite import driver
from memotherm.storage.sqlite.connections import Connections, mapped
from memotherm.storage.sqlite.driver import read_header
from memotherm.storage.sqlite.files import MEMORY, read_only_uri
from memotherm.storage.sqlite.statements import SqliteStatements
from memotherm.storage.statements import migrations
from memotherm.storage.writer import Writer

#: Marks the file as ours ("mthm").
_APPLICATION_ID = 0x6D74686D
#: How often a file that seems to be another program's is read, and the seconds in between.
_LOOKS = 6
_BETWEEN_LOOKS = 0.05
#: The schema this code reads and writes.
SCHEMA_VERSION = len(migrations("sqlite"))


def require_ours(path: str, key: str = "") -> None:
    """Look at an existing file without changing a byte of it; raise unless it is ours or empty.

    A file that another process is just making may look foreign for a moment, so the verdict is asked for again.
    """
    if path == MEMORY:
        return
    for last in (*(False,) * (_LOOKS - 1), True):
        try:
            _look(path, key)
        except NotAStore:
            if last:
                raise
            time.sleep(_BETWEEN_LOOKS)
        else:
            return


def _look(path: str, key: str) -> None:
    file, log = Path(path), Path(f"{path}-wal")
    if not file.exists() or not file.stat().st_size:
        return
    cipher = driver.cipher_of(key, path) if key else None
    # Reading a file that is not ours must not even leave a log beside it.
    marked = read_header(path, 100)[68:72] == _APPLICATION_ID.to_bytes(4, "big")
    ours = key or marked or (log.exists() and log.stat().st_size > 0)
    uri = read_only_uri(file) if ours else f"{file.absolute().as_uri()}?mode=ro&immutable=1"
    with mapped(path), closing(driver.connect(uri, cipher, uri=True)) as connection:
        try:
            _version(connection, path)
        except driver.errors() as exc:
            # A process was killed in a transaction; opening the file for writing takes it back.
            if getattr(exc, "sqlite_errorcode", 0) != sqlite3.SQLITE_READONLY_ROLLBACK:
                raise


def migrate(connections: Connections, writer: Writer) -> None:
    """Bring the store to the current schema; several processes may try at once."""

    def upgrade(statements: SqliteStatements) -> None:
        for version in range(_version(statements.connection, connections.name), SCHEMA_VERSION):
            _step(statements.connection, version)

    with connections.reading() as statements:
        current = _version(statements.connection, connections.name) == SCHEMA_VERSION
    if not current:
        writer.run(upgrade)


def _version(connection: sqlite3.Connection, name: str) -> int:
    """Return the schema version of the store, 0 for an empty file."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application != _APPLICATION_ID and (tables or application or version):
        raise NotAStore(f"{name} is a database of another program; it was left as it is: choose another path")
    if version > SCHEMA_VERSION:
        raise SchemaTooNew(
            f"{name} has schema {version} and this Memotherm knows {SCHEMA_VERSION}: "
            "upgrade with pip install --upgrade memotherm"
        )
    return int(version)


def _step(connection: sqlite3.Connection, version: int) -> None:
    for statement in _statements(migrations("sqlite")[version]):
        connection.execute(statement)
    if version == 0:
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        connection.execute("INSERT INTO meta (key, value) VALUES ('store', ?)", (uuid.uuid4().hex,))
    connection.execute(f"PRAGMA user_version = {version + 1}")


def _statements(script: str) -> Iterator[str]:
    """Split a script at the semicolons that end statements, not at those inside triggers."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
