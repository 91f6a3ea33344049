"""Does everything in the file agree with everything else?"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from memotherm.model.results import Problem
from memotherm.storage import checks
from memotherm.storage.checks import Indexed
from memotherm.storage.rows import TIERS
from memotherm.storage.sqlite import driver
from memotherm.storage.sqlite.connections import mapped
from memotherm.storage.sqlite.statements import MEMORY_MASK, SqliteStatements, text_band
from memotherm.storage.values import Identity


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
