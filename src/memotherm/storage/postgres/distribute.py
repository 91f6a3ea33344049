"""Distribute the tables of a store over the nodes of a Citus cluster.

All of it is one transaction, in which every row is read before and afterwards and compared: other users wait, and if
anything fails, nothing has changed and the command can be repeated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from psycopg import sql

from memotherm.errors import InvalidInput, StoreDamaged, StoreUnavailable
from memotherm.storage.contract.optional import Distribution
from memotherm.storage.postgres.connect import Connection
from memotherm.storage.postgres.partition import TableParts, described, policy, secured
from memotherm.storage.postgres.routing import COPIED, DISTRIBUTED, SCHEMA, SHARED_SCHEMA
from memotherm.storage.postgres.statements import PostgresStatements
from memotherm.storage.postgres.transfer import PostgresTables
from memotherm.storage.transfer import Digests, digests

__all__ = ["MOST_SHARDS", "distribute", "require_coordinator"]

#: More shards than this make opening a connection to a node dearer than they help.
MOST_SHARDS = 1024
#: The tables that all tenants share; every node has a copy.
_REFERENCE = ("meta", "embedders", "adoptions", "leases", "key_values")

#: Those of them that have row-level security.
_SECURED = ("adoptions", "leases", "key_values")
#: The table that a key refers to, as the server names it.
_REFERS = re.compile(rf"REFERENCES (?:{SCHEMA}\.)?(\w+)")

Statement = sql.SQL | sql.Composed


def require_coordinator(connection: Connection, name: str) -> None:
    """Refuse to use a store through a worker of a cluster."""
    statements = PostgresStatements(connection, None)
    if statements.value("citus") and not statements.value("citus_coordinator"):
        raise StoreUnavailable(f"{name} is a worker of a Citus cluster: use the URL of the coordinator")


def distribute(connection: Connection, shards: int, name: str) -> Distribution:
    """Distribute the tables by tenant, inside the connection's transaction, and verify the rows."""
    if not 1 <= shards <= MOST_SHARDS:
        raise InvalidInput(f"cannot distribute over {shards} shards: choose between 1 and {MOST_SHARDS}")
    nodes = _nodes(connection, name)
    before = _digests(connection)
    tables = _described(connection)
    for statement in _statements(tables, shards):
        connection.execute(statement)
    after = _digests(connection)
    if before != after:
        raise StoreDamaged(f"the distributed tables of {name} differ from the original ones: nothing was changed")
    return Distribution(store=name, nodes=nodes, shards=shards, rows=after.rows, digest=after.digest)


def _nodes(connection: Connection, name: str) -> tuple[str, ...]:
    """Return the workers of the cluster; refuse a database that is no coordinator of one."""
    statements = PostgresStatements(connection, None)
    if not statements.value("citus"):
        raise StoreUnavailable(
            f"{name} has no Citus: let a superuser run CREATE EXTENSION citus in the database on every node, "
            "and citus_add_node() on the coordinator"
        )
    found = statements.rows("citus_workers")
    if not found:
        raise StoreUnavailable(f"{name} is a coordinator without workers: add one with citus_add_node() first")
    return tuple(node for (node,) in found)


def _digests(connection: Connection) -> Digests:
    return digests(PostgresTables(PostgresStatements(connection, None)))


def _described(connection: Connection) -> list[TableParts]:
    statements = PostgresStatements(connection, None)
    partitioned: dict[str, bool] = dict(statements.rows("catalogue_tables", schema=SCHEMA))
    if any(partitioned.values()):
        raise InvalidInput("the tables are partitioned: migrate into a new database, and distribute that")
    if {*partitioned} != {*DISTRIBUTED}:
        raise InvalidInput(f"the schema {SCHEMA} has other tables with a tenant than ours: use a database of its own")
    return [described(statements, table) for table in DISTRIBUTED]


def _statements(tables: list[TableParts], shards: int) -> Iterator[Statement]:
    """Yield what has to be done, in an order in which no key refers to a table that is not distributed yet."""
    yield sql.SQL("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    yield sql.SQL("SET LOCAL citus.shard_replication_factor TO 1")
    # The workers apply row-level security as well, to this transaction too.
    yield sql.SQL("SET LOCAL citus.propagate_set_commands TO 'local'")
    yield sql.SQL("SET LOCAL memotherm.operator TO 'on'")
    yield sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(SHARED_SCHEMA))
    for table in tables:
        for key, _ in table.links:
            yield sql.SQL("ALTER TABLE {} DROP CONSTRAINT {}").format(_table(table.name), sql.Identifier(key))
    for table in tables:
        if table.name in COPIED:
            yield from _copied(table)
    # Rows are copied into the shards by COPY, which row-level security does not allow.
    every = [*(name for name in _REFERENCE if name in _SECURED), *DISTRIBUTED]
    for name in every:
        yield sql.SQL("ALTER TABLE {} NO FORCE ROW LEVEL SECURITY").format(_table(name))
    for name in _REFERENCE:
        yield _reference(f"{SCHEMA}.{name}")
    for table in tables:
        yield _distributed(table.name, shards)
    for name in every:
        yield from secured(_table(name))
    for table in tables:
        yield from _linked(table)


def _copied(table: TableParts) -> Iterator[Statement]:
    """Yield what makes the copies of a table's rows without a tenant."""
    copy, name = sql.Identifier(SHARED_SCHEMA, table.name), _table(table.name)
    yield sql.SQL("CREATE TABLE {} (LIKE {} INCLUDING ALL EXCLUDING DEFAULTS)").format(copy, name)
    yield sql.SQL("ALTER TABLE {} ALTER tenant SET DEFAULT ''").format(copy)
    yield sql.SQL("INSERT INTO {} SELECT * FROM {} WHERE tenant = ''").format(copy, name)
    yield _reference(f"{SHARED_SCHEMA}.{table.name}")
    yield from secured(copy)
    for row in table.policies:
        yield policy(copy, row)


def _reference(name: str) -> Statement:
    return sql.SQL("SELECT create_reference_table({})").format(sql.Literal(name))


def _distributed(name: str, shards: int) -> Statement:
    first = name == DISTRIBUTED[0]
    how = (
        sql.SQL("shard_count => {}, colocate_with => 'none'").format(sql.Literal(shards))
        if first
        else sql.SQL("colocate_with => {}").format(sql.Literal(f"{SCHEMA}.{DISTRIBUTED[0]}"))
    )
    return sql.SQL("SELECT create_distributed_table({}, 'tenant', {})").format(sql.Literal(f"{SCHEMA}.{name}"), how)


def _linked(table: TableParts) -> Iterator[Statement]:
    """Yield the keys of a table, and of its copy, that refer to other tables."""
    for schema in (SCHEMA, SHARED_SCHEMA):
        if schema == SHARED_SCHEMA and table.name not in COPIED:
            continue
        for key, text in table.links:
            yield sql.SQL("ALTER TABLE {} ADD CONSTRAINT {} {}").format(
                sql.Identifier(schema, table.name),
                sql.Identifier(key),
                sql.SQL(_within(schema, text)),
            )


def _within(schema: str, link: str) -> str:
    """Return the text of a key with the schema of the table that it refers to."""
    return _REFERS.sub(rf"REFERENCES {schema}.\1", link)


def _table(name: str) -> sql.Identifier:
    return sql.Identifier(SCHEMA, name)
