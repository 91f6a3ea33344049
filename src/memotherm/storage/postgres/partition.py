"""Partition the tables of a store by tenant.

A table cannot be partitioned in place, so each one is created again with the rows, keys, indexes and policies of
the old one. All of it is one transaction: other users wait, and if anything fails, nothing has changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from psycopg import sql

from memotherm.errors import InvalidInput
from memotherm.storage.postgres.connect import Connection
from memotherm.storage.postgres.statements import SCHEMA, PostgresStatements
from memotherm.storage.statements import Row

__all__ = ["MOST", "TableParts", "described", "partition", "policy", "secured"]

#: More parts than this make planning dearer than they make searching cheaper.
MOST = 256

Statement = sql.SQL | sql.Composed


class TableParts(NamedTuple):
    """What a table is made of, beside its columns."""

    name: str
    keys: list[tuple[str, str]]
    links: list[tuple[str, str]]
    indexes: list[str]
    policies: list[Row]


def partition(connection: Connection, parts: int) -> list[str]:
    """Cut the tables into that many parts by tenant, inside the connection's transaction; return their names."""
    if not 2 <= parts <= MOST:
        raise InvalidInput(f"cannot cut into {parts} parts: choose between 2 and {MOST}")
    statements = PostgresStatements(connection, None)
    rows = statements.rows("catalogue_tables", schema=SCHEMA)
    if any(already for _, already in rows):
        raise InvalidInput("the tables are partitioned already: to have other parts, migrate into a new database")
    tables = [described(statements, name) for name, _ in rows]
    for statement in _statements(tables, parts):
        connection.execute(statement)
    return [table.name for table in tables]


def described(statements: PostgresStatements, name: str) -> TableParts:
    """Return what a table is made of."""
    qualified = f"{SCHEMA}.{name}"
    constraints = statements.rows("catalogue_constraints", table=qualified)
    return TableParts(
        name,
        keys=[(key, text) for key, kind, text in constraints if kind != "f"],
        links=[(key, text) for key, kind, text in constraints if kind == "f"],
        indexes=[text for (text,) in statements.rows("catalogue_indexes", table=qualified)],
        policies=statements.rows("catalogue_policies", schema=SCHEMA, table=name),
    )


def _statements(tables: list[TableParts], parts: int) -> Iterator[Statement]:
    """Yield what has to be done, in an order in which nothing points to what is not there."""
    for table in tables:
        for key, _ in table.links:
            yield sql.SQL("ALTER TABLE {} DROP CONSTRAINT {}").format(_named(table.name), sql.Identifier(key))
    for table in tables:
        yield from _made_anew(table, parts)
    for table in tables:
        for key, text in table.links:
            yield _added(table.name, key, text)


def _made_anew(table: TableParts, parts: int) -> Iterator[Statement]:
    name, new = _named(table.name), _named(f"{table.name}_new")
    yield sql.SQL(
        "CREATE TABLE {} (LIKE {} INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMMENTS) "
        "PARTITION BY HASH (tenant)"
    ).format(new, name)
    for part in range(parts):
        partition = _named(f"{table.name}_{part}")
        yield sql.SQL("CREATE TABLE {} PARTITION OF {} FOR VALUES WITH (MODULUS {}, REMAINDER {})").format(
            partition, new, sql.Literal(parts), sql.Literal(part)
        )
        # Policies exist on the partitioned table only, so a partition itself cannot be read.
        yield from secured(partition)
    yield sql.SQL("INSERT INTO {} SELECT * FROM {}").format(new, name)
    yield sql.SQL("DROP TABLE {}").format(name)
    yield sql.SQL("ALTER TABLE {} RENAME TO {}").format(new, sql.Identifier(table.name))
    for key, text in table.keys:
        yield _added(table.name, key, text)
    for text in table.indexes:
        yield sql.SQL(text)  # as the server returned it
    yield from secured(name)
    for row in table.policies:
        yield policy(name, row)


def policy(table: sql.Identifier, row: Row) -> Statement:
    """Return the statement that gives a table a policy, as the catalogue describes it."""
    named, command, seen, written = row
    return sql.SQL("CREATE POLICY {} ON {} FOR {} {} {}").format(
        sql.Identifier(named),
        table,
        sql.SQL(command),
        sql.SQL(f"USING ({seen})" if seen else ""),
        sql.SQL(f"WITH CHECK ({written})" if written else ""),
    )


def secured(table: sql.Identifier) -> Iterator[Statement]:
    """Yield the statements that turn row-level security on, for the owner of the table too."""
    yield sql.SQL("ALTER TABLE {} ENABLE ROW LEVEL SECURITY").format(table)
    yield sql.SQL("ALTER TABLE {} FORCE ROW LEVEL SECURITY").format(table)


def _added(table: str, key: str, text: str) -> Statement:
    return sql.SQL("ALTER TABLE {} ADD CONSTRAINT {} {}").format(
        _named(table),
        sql.Identifier(key),
        sql.SQL(text),
    )


def _named(name: str) -> sql.Identifier:
    return sql.Identifier(SCHEMA, name)
