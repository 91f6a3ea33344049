"""Schema migrations; several servers may start at the same time."""

from __future__ import annotations

from psycopg import sql

from memotherm.errors import NotAStore, SchemaTooNew, StoreUnavailable
from memotherm.storage.postgres.connections import Connection, Connections
from memotherm.storage.postgres.statements import SCHEMA, statement
from memotherm.storage.statements import migrations

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
                _step(connection, version, connections.name)
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


def _step(connection: Connection, version: int, name: str) -> None:
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
