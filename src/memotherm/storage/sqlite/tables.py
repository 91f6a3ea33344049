"""The tables of a store in a file: migrated in numbered steps of one transaction, and checked against each other."""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from memotherm.errors import NotAStore, SchemaTooNew
from memotherm.model.results import Problem
from memotherm.storage import checks
from memotherm.storage.checks import Indexed
from memotherm.storage.rows import TIERS
from memotherm.storage.sqlite import driver
from memotherm.storage.sqlite.connections import Connections, mapped
from memotherm.storage.sqlite.driver import MEMORY, read_header, read_only_uri
from memotherm.storage.sqlite.statements import MEMORY_MASK, SqliteStatements, text_band
from memotherm.storage.statements import migrations
from memotherm.storage.values import Identity
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


# Consistency


def check(statements: SqliteStatements, identity: Identity | None) -> list[Problem]:
    """Return every disagreement that can be found by reading."""
    if faults := _unauthentic_pages(statements.connection):
        return faults
    lost = _lost_indexes(statements)
    return [
        *_structure(statements.connection),
        *(lost or checks.memories(statements, _indexed(statements))),
        *checks.vectors(statements, identity),
        *checks.counters(statements),
        *_gaps(statements),
        *checks.ledger(statements),
        *checks.chunks(statements),
    ]


def _lost_indexes(statements: SqliteStatements) -> list[Problem]:
    """Return the text indexes that cannot be searched."""
    problems = []
    for table in ("text_live", "text_cold"):
        try:
            statements.rows(f"{table}_postings", match='"a"', low=0, high=0)
        except driver.errors() as exc:
            if not driver.is_lost_index(exc):
                raise
            problems.append(
                Problem(code="text_lost", detail=f"the index {table} cannot be searched ({exc}): {driver.REPAIR}")
            )
    return problems


def check_text_structure(statements: SqliteStatements) -> list[Problem]:
    """Let FTS5 compare its own structures; it does so only where it might also write."""
    problems = []
    for table in ("text_live", "text_cold"):
        try:
            statements.run(f"{table}_verify")
        except driver.errors() as exc:
            problems.append(Problem(code="text_structure", detail=f"the index {table} is damaged: {exc}"))
    return problems


def _unauthentic_pages(connection: sqlite3.Connection) -> list[Problem]:
    """Return the pages of an encrypted file whose HMAC is wrong; nothing on them can be read."""
    with mapped("the store"):
        faults = {line for (line,) in connection.execute("PRAGMA cipher_integrity_check")}
        if faults:
            # A page that another process is just writing may look damaged once.
            faults &= {line for (line,) in connection.execute("PRAGMA cipher_integrity_check")}
    return [Problem(code="file", detail=line) for line in sorted(faults)]


def _structure(connection: sqlite3.Connection) -> Iterator[Problem]:
    with mapped("the store"):
        for (line,) in connection.execute("PRAGMA integrity_check(20)"):
            if line != "ok":
                yield Problem(code="file", detail=line)
        for table, row, parent, _ in connection.execute("PRAGMA foreign_key_check"):
            yield Problem(code="reference", detail=f"row {row} of {table} points to nothing in {parent}")


def _indexed(statements: SqliteStatements) -> Iterator[tuple[Indexed, str]]:
    for table in ("text_live", "text_cold"):
        for rowid, words in statements.each(f"{table}_rows"):
            space, rank = text_band(rowid)
            yield Indexed(table, space, TIERS[rank], rowid & MEMORY_MASK), words


def _gaps(statements: SqliteStatements) -> Iterator[Problem]:
    """Look for events that are gone: one writer numbers them without leaving any out."""
    ((count, first, last),) = statements.rows("check_seqs")
    if count != last - first + 1:
        detail = f"{last - first + 1 - count} events between {first} and {last} are gone"
        yield Problem(code="ledger_gap", detail=detail)
