"""A Citus cluster on this machine: a coordinator and workers, each a PostgreSQL server in a folder of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from tests.postgres import Cluster

__all__ = ["OPTIONS", "PROGRAMS", "CitusCluster"]

#: The PostgreSQL into which `build.sh` installs Citus and pgvector.
PROGRAMS = Path("/usr/lib/postgresql/15/bin")
OPTIONS = {
    "shared_preload_libraries": "citus",
    "max_prepared_transactions": "400",
    "max_connections": "400",
    "wal_level": "logical",
    "max_wal_senders": "40",
    "max_replication_slots": "40",
    "max_worker_processes": "40",
    "max_locks_per_transaction": "512",
    "citus.node_conninfo": "sslmode=prefer",
    # A worker that is gone is noticed soon.
    "citus.node_connection_timeout": "3000",
}


class CitusCluster:
    """The nodes of a cluster; the coordinator is the first."""

    def __init__(self, folder: Path, *, fast: bool = True) -> None:
        self._folder = folder
        self._fast = fast
        self.nodes: list[Cluster] = []

    @classmethod
    @contextmanager
    def started(cls, workers: int = 2, *, fast: bool = True) -> Iterator[CitusCluster]:
        """Start a coordinator and some workers, and throw them away at the end."""
        with tempfile.TemporaryDirectory(prefix="memotherm-citus-", ignore_cleanup_errors=True) as home:
            cluster = cls(Path(home), fast=fast)
            try:
                for _ in range(1 + workers):
                    cluster.add()
                yield cluster
            finally:
                cluster.stop()

    def add(self) -> Cluster:
        """Start one more server; it has no database yet and does not belong to the coordinator."""
        node = Cluster(self.add_folder(), fast=self._fast, options=OPTIONS, programs=PROGRAMS)
        node.create()
        node.start()
        self.nodes.append(node)
        return node

    def add_folder(self) -> Path:
        """Return a folder for one more server."""
        home = self._folder / f"node{len(list(self._folder.iterdir()))}"
        home.mkdir(mode=0o755)
        return home / "data"

    @property
    def urls(self) -> list[str]:
        """The superuser's URLs of the nodes, the coordinator's first."""
        return [node.url("postgres", "postgres") for node in self.nodes]

    def admin(self, database: str, node: int = 0) -> psycopg.Connection[tuple[object, ...]]:
        """Connect to a database on a node as the superuser."""
        return psycopg.connect(self.nodes[node].url(database, "postgres"), autocommit=True)

    def stop(self) -> None:
        """Stop all servers."""
        for node in self.nodes:
            node.stop("immediate")
