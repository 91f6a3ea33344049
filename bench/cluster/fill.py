"""The same memories on one server and on a cluster of three nodes: one tenant's, cloned by the servers.

Contents repeat from tenant to tenant, and in the large tenant; every vector has a noise of its own, so that an index
of vectors meets no duplicates. The rows are copied before their indexes are made.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from pgvector.psycopg import register_vector
from tests.citus.cluster import OPTIONS, PROGRAMS, CitusCluster
from tests.postgres import Cluster, distributed_database, equipped_database

import memotherm
from bench.load import sentence
from memotherm import Settings
from memotherm.storage.open import open_store
from memotherm.storage.rows import COLUMNS
from memotherm.testing import HashEmbedder

__all__ = ["EMBEDDER", "NAME", "Servers", "filled"]

_log = logging.getLogger(__name__)
NAME = "measured"
EMBEDDER = HashEmbedder(64)
#: How far a clone's vector is from the original one.
_NOISE = 0.3
_TABLES = ("spaces", "memories", "vectors", "texts", "events", "counters")
#: The clones: a tenant, how far its numbers and its space are from those of the first one.
_CLONES = """
    SELECT CASE WHEN n <= %(tenants)s THEN 't' || n - 1 ELSE 'large' END AS tenant, 2 * %(memories)s * n AS by,
        10 * least(n, %(tenants)s + 1) AS further, n FROM generate_series(1, CAST(%(clones)s AS BIGINT)) AS n
"""
#: What differs between a memory and its clone.
_OTHER = {
    "tenant": "c.tenant",
    "no": "no + by",
    "id": "'mem_' || lpad(CAST(no + by AS TEXT), 26, '0')",
    "space": "space + further",
    "version": "version + by",
}
_CLONED = {
    "spaces": f"""
        SELECT DISTINCT ON (c.tenant) c.tenant, space + further, project, environment, user_, agent, session, collection
        FROM memotherm.spaces s, ({_CLONES}) AS c WHERE s.tenant = 'base' ORDER BY c.tenant""",
    "memories": f"""
        ({", ".join(("tenant", *COLUMNS))})
        SELECT {", ".join(_OTHER.get(column, column) for column in ("tenant", *COLUMNS))}
        FROM memotherm.memories m, ({_CLONES}) AS c WHERE m.tenant = 'base' ORDER BY n, no""",
    "texts": f"""
        SELECT c.tenant, no + by, part, space + further, tier, words,
            CAST(replace(CAST(lexemes AS TEXT), '#' || space, '#' || space + further) AS TSVECTOR)
        FROM memotherm.texts t, ({_CLONES}) AS c WHERE t.tenant = 'base' ORDER BY n, no""",
    "events": f"""
        SELECT c.tenant, seq + by, at, no + by, action, actor, rule, why, changes, policy
        FROM memotherm.events e, ({_CLONES}) AS c WHERE e.tenant = 'base' ORDER BY n, seq""",
}
_COUNT = """
    INSERT INTO memotherm.counters SELECT tenant, space, tier, retention, count(*), sum(tokens)
    FROM memotherm.memories WHERE tenant <> 'base' GROUP BY tenant, space, tier, retention
"""
#: The indexes that no key has made.
_INDEXES = """
    SELECT i.indexname, i.indexdef FROM pg_indexes i WHERE i.schemaname = 'memotherm' AND i.tablename = ANY(%s)
        AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = to_regclass('memotherm.' || i.indexname))
"""


@dataclass
class Servers:
    """One server and a cluster that have the same memories."""

    plain: Cluster
    cluster: CitusCluster
    #: What took how many seconds.
    seconds: dict[str, float]

    @property
    def urls(self) -> dict[str, str]:
        """The URLs of the stores."""
        return {"plain": self.plain.url(NAME), "cluster": self.cluster.nodes[0].url(NAME)}


@contextmanager
def filled(options: argparse.Namespace) -> Iterator[Servers]:
    """Start the servers and fill them; those in the folder `options.home` are kept, and used again."""
    with ExitStack() as stack:
        home = options.home or stack.enter_context(
            tempfile.TemporaryDirectory(prefix="memotherm-citus-", ignore_cleanup_errors=True)
        )
        cluster, note = CitusCluster(Path(home), fast=False), Path(home) / "servers.json"
        stack.callback(_stop, cluster)
        if note.exists():
            kept = json.loads(note.read_text())
            for folder, port in kept["nodes"]:
                node = Cluster(Path(folder), fast=False, port=port, options=OPTIONS, programs=PROGRAMS)
                node.start()
                cluster.nodes.append(node)
            plain = cluster.nodes.pop()
            stack.callback(plain.stop)
            yield Servers(plain, cluster, kept["seconds"])
            return
        Path(home).mkdir(mode=0o755, exist_ok=True)
        for _ in range(3):
            cluster.add()
        plain = Cluster(cluster.add_folder(), fast=False, options=OPTIONS, programs=PROGRAMS)
        plain.create()
        plain.start()
        stack.callback(plain.stop)
        servers = Servers(plain, cluster, {})
        _fill(servers, options)
        nodes = [(str(node.folder), node.port) for node in (*cluster.nodes, plain)]
        note.write_text(json.dumps({"nodes": nodes, "seconds": servers.seconds}))
        yield servers


def _stop(cluster: CitusCluster) -> None:
    """Stop the nodes so that they start again without recovery."""
    for node in cluster.nodes:
        node.stop()


def _fill(servers: Servers, options: argparse.Namespace) -> None:
    """Store the memories of one tenant with the API, clone them, copy all rows to the cluster, and make indexes."""
    for node in (*servers.cluster.nodes, servers.plain):
        with psycopg.connect(node.url("postgres", "postgres"), autocommit=True) as connection:
            for setting in ("max_wal_size = '6GB'", "maintenance_work_mem = '1GB'", "checkpoint_timeout = '20min'"):
                connection.execute(f"ALTER SYSTEM SET {setting}")
            connection.execute("SELECT pg_reload_conf()")
    distributed_database(servers.cluster.urls, NAME)
    equipped_database(servers.plain.url("postgres", "postgres"), NAME)
    source = random.Random(1)
    with memotherm.open(servers.urls["plain"], embedder=EMBEDDER) as mem:
        mem.scoped(tenant="base").remember_many([{"content": sentence(source)} for _ in range(options.memories)])
    with closing(open_store(servers.urls["cluster"], Settings())) as store:
        store.register_embedder(EMBEDDER.name, EMBEDDER.dimensions)
    memotherm.distribute(servers.urls["cluster"], options.shards)
    with _timed(servers, "clone"), _loading(servers.plain) as plain:
        _clone(plain, options)
    with _timed(servers, "copy"), _loading(*servers.cluster.nodes) as target:
        with psycopg.connect(servers.plain.url(NAME, "postgres")) as plain:
            for table in _TABLES:
                _log.info("copy %s", table)
                _copy(plain, target, table)
        _number(target, options)
    for name, url in servers.urls.items():
        with _timed(servers, f"hnsw_{name}"), closing(open_store(url, Settings())) as store:
            store.build_indexes()
        with psycopg.connect(url.replace("memotherm_tests", "postgres"), autocommit=True) as connection:
            for table in _TABLES:
                connection.execute(f"ANALYZE memotherm.{table}")


@contextmanager
def _timed(servers: Servers, name: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    servers.seconds[name] = round(time.monotonic() - began, 1)
    _log.info("%s: %s s", name, servers.seconds[name])


@contextmanager
def _loading(*nodes: Cluster) -> Iterator[psycopg.Connection[Any]]:
    """Connect to the first node; meanwhile keys are not checked, and indexes are made at the end."""
    for node in nodes:
        with psycopg.connect(node.url("postgres", "postgres"), autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE {NAME} SET session_replication_role TO replica")
            connection.execute(f"ALTER DATABASE {NAME} SET synchronous_commit TO off")
    with psycopg.connect(nodes[0].url(NAME, "postgres"), autocommit=True) as connection:
        indexes = connection.execute(_INDEXES, (list(_TABLES),)).fetchall()
        for name, _ in indexes:
            connection.execute(f"DROP INDEX memotherm.{name}")
        yield connection
        for name, text in indexes:
            _log.info("make %s", name)
            connection.execute(text)
    for node in nodes:
        with psycopg.connect(node.url("postgres", "postgres"), autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE {NAME} RESET ALL")


def _clone(connection: psycopg.Connection[Any], options: argparse.Namespace) -> None:
    clones = options.tenants + options.large // options.memories
    values = {"tenants": options.tenants, "memories": options.memories, "clones": clones}
    cursor = psycopg.ClientCursor(connection)
    for table, text in _CLONED.items():
        _log.info("clone %s", table)
        cursor.execute(f"INSERT INTO memotherm.{table} {text}", values)
    register_vector(connection)
    query = "SELECT embedder, no, part, space, tier, vector FROM memotherm.vectors WHERE tenant = 'base' ORDER BY no"
    rows = connection.execute(query).fetchall()
    vectors = np.stack([row[-1].to_numpy() for row in rows]).astype(np.float32)
    noises = np.random.default_rng(1)
    each = cursor.execute(_CLONES, values).fetchall()
    _log.info("clone vectors")
    with connection.cursor().copy("COPY memotherm.vectors FROM STDIN") as copy:
        for tenant, by, further, _ in each:
            noise = noises.standard_normal(vectors.shape, np.float32) * (_NOISE / vectors.shape[1] ** 0.5)
            moved = vectors + noise
            moved /= np.linalg.norm(moved, axis=1, keepdims=True)
            for (embedder, no, part, space, tier, _), vector in zip(rows, moved.tolist(), strict=True):
                text = ",".join([f"{value:.6g}" for value in vector])
                copy.write(f"{tenant}\t{embedder}\t{no + by}\t{part}\t{space + further}\t{tier}\t[{text}]\n")
    connection.execute(_COUNT)
    _number(connection, options)


def _number(connection: psycopg.Connection[Any], options: argparse.Namespace) -> None:
    """Let new rows have higher numbers than the clones."""
    clones = options.tenants + options.large // options.memories
    for sequence in ("space", "memory", "event"):
        connection.execute(f"SELECT setval('memotherm.{sequence}_numbers', {2 * options.memories * (clones + 2)})")


def _copy(source: psycopg.Connection[Any], target: psycopg.Connection[Any], table: str) -> None:
    with (
        source.cursor().copy(f"COPY memotherm.{table} TO STDOUT") as rows,
        target.cursor().copy(f"COPY memotherm.{table} FROM STDIN") as copied,
    ):
        for block in rows:
            copied.write(block)
