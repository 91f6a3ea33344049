"""The tables of a store on PostgreSQL: migrated, copied, checked, or distributed over the nodes of a cluster.

Several servers may start at the same time: one of them migrates, and the others wait.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field

import numpy as np
from psycopg import sql

from memotherm.errors import InvalidInput, NotAStore, SchemaTooNew, StoreDamaged, StoreUnavailable
from memotherm.model import Tier
from memotherm.model.results import Problem
from memotherm.storage import checks
from memotherm.storage.checks import Indexed
from memotherm.storage.postgres.connections import Connection, Connections
from memotherm.storage.postgres.routing import COPIED, DISTRIBUTED, SCHEMA, SHARED_SCHEMA
from memotherm.storage.postgres.statements import PostgresStatements, statement
from memotherm.storage.postgres.transaction import rebuild
from memotherm.storage.rows import TIERS
from memotherm.storage.statements import Row, migrations
from memotherm.storage.store import Distribution
from memotherm.storage.transfer import TABLES, VECTORS, StoreTables, Table, summarize
from memotherm.storage.values import Identity

Statement = sql.SQL | sql.Composed
#: A key that refers to another table: its name, its column beside the tenant, and the table.
_Link = tuple[str, str, str]


class PostgresTables(StoreTables):
    """The tables inside one transaction; the statements must be those for all tenants."""

    def __init__(self, statements: PostgresStatements) -> None:
        super().__init__(statements)
        self._sql = statements

    def rows(self, table: Table) -> Iterator[Row]:
        """Yield (tenant, *columns) of all rows, in the order of the key."""
        marks = {
            "tenant": "t.tenant" if table.owner else "''",
            "columns": ", ".join(table.columns),
            "table": table.name,
            "owner": "",
            "keys": ", ".join(table.key),
        }
        rows = self._sql.each_of("table_rows", marks)
        if table is not VECTORS:
            return rows
        # The vector as every database can have it.
        return ((*row[:-1], np.asarray(row[-1].to_numpy(), "<f4").tobytes()) for row in rows)

    def put(self, table: Table, rows: Sequence[Row]) -> None:
        """Insert rows as `rows` yields them."""
        columns = ("tenant", *table.columns) if table.owner else table.columns
        marks = {"table": table.name, "columns": ", ".join(columns), "values": ", ".join(["%s"] * len(columns))}
        inserted = rows if table.owner else [row[1:] for row in rows]
        values = [(*row[:-1], np.frombuffer(row[-1], "<f4")) for row in inserted] if table is VECTORS else inserted
        self._sql.run_many_of("table_put", marks, values)
        if self._sql.distributed and table.name in COPIED:
            copied = [row for row in values if not row[0]]
            self._sql.run_many_of("table_put", {**marks, "table": f"{SHARED_SCHEMA}.{table.name}"}, copied)

    def complete(self) -> None:
        """Build counters and text index, and set the sequences."""
        self._sql.run("counters_clear")
        self._sql.run("counters_make")
        rebuild(self._sql)
        self._sql.rows("numbers_follow")
        self._sql.run("statistics")


def _secured(table: sql.Identifier, policies: Sequence[Row] = ()) -> Iterator[Statement]:
    """Yield the statements that turn row-level security on, for the owner of the table too, and add policies."""
    yield sql.SQL("ALTER TABLE {} ENABLE ROW LEVEL SECURITY").format(table)
    yield sql.SQL("ALTER TABLE {} FORCE ROW LEVEL SECURITY").format(table)
    for named, command, seen, written in policies:
        yield sql.SQL("CREATE POLICY {} ON {} FOR {} {} {}").format(
            sql.Identifier(named),
            table,
            sql.SQL(command),
            sql.SQL(f"USING ({seen})" if seen else ""),
            sql.SQL(f"WITH CHECK ({written})" if written else ""),
        )


def _linked(schema: str, table: str, links: Sequence[_Link]) -> Iterator[Statement]:
    """Yield the statements that let the rows of a table refer to other tables of its schema."""
    for key, column, other in links:
        yield sql.SQL("ALTER TABLE {} ADD CONSTRAINT {} FOREIGN KEY (tenant, {}) REFERENCES {} (tenant, {})").format(
            sql.Identifier(schema, table),
            sql.Identifier(key),
            sql.Identifier(column),
            sql.Identifier(schema, other),
            sql.Identifier(column),
        )


def _table(name: str) -> sql.Identifier:
    return sql.Identifier(SCHEMA, name)


#: More shards than this make opening a connection to a node dearer than they help.
_MOST_SHARDS = 1024
#: The tables that all tenants share; every node has a copy.
_REFERENCE = ("meta", "embedders", "adoptions", "key_values")
#: Those of them that have row-level security.
_SECURED = ("adoptions", "key_values")
#: The metadata key under which the progress is noted.
_PROGRESS_KEY = "distribution"
_REFERENCED = sql.SQL("SELECT create_reference_table({})")
_FIRST_SHARDED = sql.SQL("SELECT create_distributed_table({}, 'tenant', shard_count => {}, colocate_with => 'none')")
_SHARDED = sql.SQL("SELECT create_distributed_table({}, 'tenant', colocate_with => {})")
#: How long a statement waits for other users; the server notices soon that a command was killed.
_WAITING = "SET lock_timeout TO '60s'; SET client_connection_check_interval TO '1s'"
#: The workers apply row-level security as well, to these transactions too.
_LOCAL = (
    "SET LOCAL citus.multi_shard_modify_mode TO 'sequential'; SET LOCAL citus.shard_replication_factor TO 1; "
    "SET LOCAL citus.propagate_set_commands TO 'local'; SET LOCAL memotherm.operator TO 'on'"
)


@dataclass
class _Progress:
    """What was done so far."""

    shards: int
    #: The keys of each table that refer to other tables.
    links: dict[str, list[_Link]]
    #: The number of rows and their digest of each table that was distributed.
    verified: dict[str, tuple[int, str]] = field(default_factory=dict)
    #: The tables that have their keys again.
    linked: list[str] = field(default_factory=list)


def require_coordinator(statements: PostgresStatements, name: str) -> None:
    """Refuse to use a store through a worker of a cluster."""
    if statements.value("citus") and not statements.value("citus_coordinator"):
        raise StoreUnavailable(f"{name} is a worker of a Citus cluster: use the URL of the coordinator")


def distribute(statements: PostgresStatements, shards: int, name: str) -> Distribution:
    """Distribute the tables by tenant and verify the rows; resume where an earlier call was interrupted."""
    nodes = _nodes(statements, name)
    statements.connection.execute(_WAITING)
    statements.rows("lock_connection", store=LOCK)
    ((distributed, _),) = statements.rows("distribution")
    if distributed:
        raise InvalidInput(f"{name} is distributed already: rebalance_table_shards() moves shards to new nodes")
    progress = _begun(statements, shards, name)
    statements.rows("others_end")
    for table in (*_REFERENCE, *DISTRIBUTED):
        if table not in progress.verified:
            _distribute_table(statements, table, progress, name)
    for table, links in progress.links.items():
        if table not in progress.linked:
            with _step(statements):
                _execute(statements, _linked(SCHEMA, table, links))
                progress.linked.append(table)
                _save(statements, progress)
    with _step(statements):
        _copy(statements, progress)
        statements.run("meta_drop", key=_PROGRESS_KEY)
    statements.rows("others_end")
    summaries = [progress.verified[table.name] for table in TABLES]
    return Distribution(
        store=name,
        nodes=nodes,
        shards=progress.shards,
        rows={table.name: count for table, (count, _) in zip(TABLES, summaries, strict=True)},
        digest=hashlib.sha256("".join(digest for _, digest in summaries).encode()).hexdigest(),
    )


@contextmanager
def _step(statements: PostgresStatements) -> Iterator[None]:
    with statements.connection.transaction():
        statements.connection.execute(_LOCAL)
        yield


def _begun(statements: PostgresStatements, shards: int, name: str) -> _Progress:
    """Return the progress of an interrupted distribution, or begin a new one."""
    noted = statements.value("meta_get", key=_PROGRESS_KEY)
    if noted is not None:
        progress = _Progress(**json.loads(noted))
        if progress.shards != shards:
            raise InvalidInput(
                f"{name} is half distributed over {progress.shards} shards: go on with the same number of shards"
            )
        return progress
    if not 1 <= shards <= _MOST_SHARDS:
        raise InvalidInput(f"cannot distribute over {shards} shards: choose between 1 and {_MOST_SHARDS}")
    with _step(statements):
        progress = _Progress(shards, _links(statements))
        statements.connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(SHARED_SCHEMA)))
        for table, links in progress.links.items():
            for key, _, _ in links:
                drop = sql.SQL("ALTER TABLE {} DROP CONSTRAINT {}").format(_table(table), sql.Identifier(key))
                statements.connection.execute(drop)
        _save(statements, progress)
    return progress


def _save(statements: PostgresStatements, progress: _Progress) -> None:
    statements.run("meta_set", key=_PROGRESS_KEY, value=json.dumps(asdict(progress)))


def _distribute_table(statements: PostgresStatements, table: str, progress: _Progress, name: str) -> None:
    """Distribute one table, verify its rows, and note that, in one transaction."""
    with _step(statements):
        before = _summary(statements, table)
        protected = table in _SECURED or table in DISTRIBUTED
        if protected:
            # Rows are copied into the shards by COPY, which row-level security does not allow.
            statements.connection.execute(sql.SQL("ALTER TABLE {} NO FORCE ROW LEVEL SECURITY").format(_table(table)))
        if table in _REFERENCE:
            statements.connection.execute(_REFERENCED.format(f"{SCHEMA}.{table}"))
        elif table == DISTRIBUTED[0]:
            statements.connection.execute(_FIRST_SHARDED.format(f"{SCHEMA}.{table}", progress.shards))
        else:
            statements.connection.execute(_SHARDED.format(f"{SCHEMA}.{table}", f"{SCHEMA}.{DISTRIBUTED[0]}"))
        if protected:
            _execute(statements, _secured(_table(table)))
        after = _summary(statements, table)
        if before != after:
            raise StoreDamaged(f"the distributed table {table} of {name} differs from the original one: it was kept")
        progress.verified[table] = after
        _save(statements, progress)


def _copy(statements: PostgresStatements, progress: _Progress) -> None:
    """Make the copies of rows without a tenant."""
    for name in COPIED:
        table, copy = _table(name), sql.Identifier(SHARED_SCHEMA, name)
        statements.connection.execute(
            sql.SQL("CREATE TABLE {} (LIKE {} INCLUDING ALL EXCLUDING DEFAULTS)").format(copy, table)
        )
        statements.connection.execute(sql.SQL("ALTER TABLE {} ALTER tenant SET DEFAULT ''").format(copy))
        statements.connection.execute(sql.SQL("INSERT INTO {} SELECT * FROM {} WHERE tenant = ''").format(copy, table))
        statements.connection.execute(_REFERENCED.format(f"{SHARED_SCHEMA}.{name}"))
        _execute(statements, _secured(copy, statements.rows("catalogue_policies", schema=SCHEMA, table=name)))
    for name in COPIED:
        _execute(statements, _linked(SHARED_SCHEMA, name, progress.links.get(name, [])))


def _execute(statements: PostgresStatements, changes: Iterable[Statement]) -> None:
    for change in changes:
        statements.connection.execute(change)


def _summary(statements: PostgresStatements, name: str) -> tuple[int, str]:
    """Return the number of rows of a table and their digest; what is derived from other tables is only counted."""
    tables = PostgresTables(statements)
    for table in TABLES:
        if table.name == name:
            return summarize(tables, table)
    return tables.count(name), ""


def _nodes(statements: PostgresStatements, name: str) -> tuple[str, ...]:
    """Return the workers of the cluster; refuse a database that is no coordinator of one."""
    if not statements.value("citus"):
        raise StoreUnavailable(
            f"{name} has no Citus: let a superuser run CREATE EXTENSION citus in the database on every node, "
            "and citus_add_node() on the coordinator"
        )
    found = statements.rows("citus_workers")
    if not found:
        raise StoreUnavailable(f"{name} is a coordinator without workers: add one with citus_add_node() first")
    return tuple(node for (node,) in found)


def _links(statements: PostgresStatements) -> dict[str, list[_Link]]:
    """Return the keys of each table that refer to other tables; refuse tables that cannot be distributed."""
    if {table for (table,) in statements.rows("catalogue_tables", schema=SCHEMA)} != {*DISTRIBUTED}:
        raise InvalidInput(f"the schema {SCHEMA} has other tables with a tenant than ours: use a database of its own")
    links = {table: statements.rows("catalogue_links", table=f"{SCHEMA}.{table}") for table in DISTRIBUTED}
    return {table: keys for table, keys in links.items() if keys}


# Migrations


#: The number of the store's advisory lock ("mthm"); each tenant's is made of it and the tenant's name.
LOCK = 0x6D74686D
#: The schema this code reads and writes.
SCHEMA_VERSION = len(migrations("postgres"))


def migrate(connections: Connections) -> None:
    """Bring the database to the current schema; of several processes, one does it and the others wait."""
    with connections.alone() as connection:
        if schema_of(connection, connections.name) == SCHEMA_VERSION and _has_texts(connection):
            return
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
            for version in range(schema_of(connection, connections.name), SCHEMA_VERSION):
                _migration_step(connection, version, connections.name)
            if not _has_texts(connection):
                _add_texts(connection)


def schema_of(connection: Connection, name: str) -> int:
    """Return the version of the schema, 0 where there is none."""
    row = connection.execute("SELECT obj_description(to_regnamespace(%s), 'pg_namespace')", (SCHEMA,)).fetchone()
    comment = row[0] if row else None
    if comment is None:
        (exists,) = connection.execute("SELECT to_regclass(%s) IS NOT NULL", (f"{SCHEMA}.memories",)).fetchone() or (0,)
        if exists:
            raise NotAStore(f"the schema {SCHEMA} of {name} is not ours; it was left as it is: use another database")
        return 0
    version = int(comment.rpartition(" ")[2])
    if version > SCHEMA_VERSION:
        raise SchemaTooNew(
            f"{name} has schema {version} and this Memotherm knows {SCHEMA_VERSION}: "
            "upgrade with pip install --upgrade memotherm"
        )
    return version


def _migration_step(connection: Connection, version: int, name: str) -> None:
    if version == 0:
        _require_vectors(connection, name)
        connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(SCHEMA)))
    connection.execute(migrations("postgres")[version])
    remark = sql.SQL("COMMENT ON SCHEMA {} IS {}")
    comment = f"Memotherm, version {version + 1}"
    connection.execute(remark.format(sql.Identifier(SCHEMA), sql.Literal(comment)))


def _has_texts(connection: Connection) -> bool:
    return bool(connection.execute("SELECT to_regclass(%s)", (f"{SCHEMA}.texts",)).fetchone() != (None,))


def _add_texts(connection: Connection) -> None:
    """Create the text index again, empty, if it was dropped: recalls say so, and a repair fills it."""
    schema = migrations("postgres")[0]
    begin = schema.index("CREATE TABLE texts")
    connection.execute(schema[begin : schema.index("\n\n", begin)])
    connection.execute(statement("texts_secure"))


def _require_vectors(connection: Connection, name: str) -> None:
    """Install pgvector if it is missing and the role may do so."""
    installed, offered, allowed = connection.execute(statement("pgvector")).fetchone() or (False, False, False)
    if installed:
        return
    if not offered:
        raise StoreUnavailable(f"{name} has no pgvector: install the extension on the server first")
    if not allowed:
        raise StoreUnavailable(f"{name} needs pgvector: a superuser must run CREATE EXTENSION vector in it")
    connection.execute("CREATE EXTENSION vector")


# Consistency


def check(statements: PostgresStatements, identity: Identity | None) -> list[Problem]:
    """Return every disagreement; numbers of events may have gaps, where a transaction was taken back."""
    return [
        *checks.memories(statements, _indexed(statements)),
        *checks.vectors(statements, identity),
        *_vector_tiers(statements),
        *checks.counters(statements),
        *checks.ledger(statements),
        *checks.chunks(statements),
        *(_copies(statements) if statements.distributed else ()),
    ]


def _indexed(statements: PostgresStatements) -> Iterator[tuple[Indexed, str]]:
    for no, space, tier, words in statements.each("check_texts"):
        current = TIERS[tier]
        yield Indexed("text_cold" if current is Tier.COLD else "text_live", space, current, no), words


def _copies(statements: PostgresStatements) -> Iterator[Problem]:
    for table in COPIED:
        ((different,),) = statements.rows_of("check_copies", {"table": table})
        if different:
            detail = f"{different} rows without a tenant differ between {table} and its copies on the nodes"
            yield Problem(code="copies", detail=detail)


def _vector_tiers(statements: PostgresStatements) -> Iterator[Problem]:
    for (memory_id,) in statements.rows("check_vector_tiers"):
        yield Problem(
            code="vector_place", detail=f"the vectors of {memory_id} have another space or tier than the memory"
        )
