"""The same memories on one server and on a cluster of three nodes, asked in turns."""

from __future__ import annotations

import argparse
import os
import random
import statistics
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import psycopg
from tests.citus.cluster import OPTIONS, PROGRAMS, CitusCluster
from tests.postgres import ROLE, Cluster, distributed_database, equipped_database

import memotherm
from bench.load import sentence
from bench.report import Row
from memotherm import Memotherm, Settings
from memotherm.storage.open import open_store
from memotherm.testing import HashEmbedder

__all__ = ["measured"]

_NAME = "measured"
_RECALLS = 150
_SECONDS = 10.0
_THREADS = 8
_EMBEDDER = HashEmbedder(64)
#: The memories of one tenant become those of another: with other numbers, and the lexeme of another space.
_CLONE = """
INSERT INTO memotherm.spaces SELECT %(to)s, space + %(space)s, project, environment, user_, agent, session, collection
    FROM memotherm.spaces WHERE tenant = 'base' ON CONFLICT DO NOTHING;
INSERT INTO memotherm.memories SELECT (jsonb_populate_record(m, jsonb_build_object('tenant', %(to)s, 'no', no + %(by)s,
        'id', 'mem_' || lpad(CAST(no + %(by)s AS TEXT), 26, '0'), 'space', space + %(space)s))).*
    FROM memotherm.memories m WHERE tenant = 'base';
INSERT INTO memotherm.vectors SELECT %(to)s, embedder, no + %(by)s, part, space + %(space)s, tier, vector
    FROM memotherm.vectors WHERE tenant = 'base';
INSERT INTO memotherm.texts SELECT %(to)s, no + %(by)s, part, space + %(space)s, tier, words,
        CAST(replace(CAST(lexemes AS TEXT), '#' || space, '#' || space + %(space)s) AS TSVECTOR)
    FROM memotherm.texts WHERE tenant = 'base';
INSERT INTO memotherm.events SELECT %(to)s, seq + %(by)s, at, no + %(by)s, action, actor, rule, why, changes, policy
    FROM memotherm.events WHERE tenant = 'base'
"""
_COUNT = """
INSERT INTO memotherm.counters SELECT tenant, space, tier, retention, count(*), sum(tokens)
    FROM memotherm.memories WHERE tenant <> 'base' GROUP BY tenant, space, tier, retention
"""


def measured(options: argparse.Namespace) -> list[Row]:
    """Fill both, ask them in turns, and return the rows."""
    with CitusCluster.started(fast=False) as cluster:
        plain = Cluster(Path(cluster.add_folder()), fast=False, options=OPTIONS, programs=PROGRAMS)
        plain.create()
        plain.start()
        try:
            return _measured(options, cluster, plain)
        finally:
            plain.stop("immediate")


def _measured(options: argparse.Namespace, cluster: CitusCluster, plain: Cluster) -> list[Row]:
    distributed_database(cluster.urls, _NAME)
    equipped_database(plain.url("postgres", "postgres"), _NAME)
    urls = {"plain": plain.url(_NAME), "cluster": cluster.nodes[0].url(_NAME)}
    for url in urls.values():
        _fill(url, options)
    started = time.monotonic()
    distribution = memotherm.distribute(urls["cluster"], options.shards)
    distributing = time.monotonic() - started
    for url in urls.values():
        with psycopg.connect(url.replace(ROLE, "postgres"), autocommit=True) as connection:
            for table in ("spaces", "memories", "vectors", "texts", "events", "counters"):
                connection.execute(f"ANALYZE memotherm.{table}")
    servers = {"plain": [plain], "cluster": cluster.nodes}
    stores = {name: memotherm.open(url, embedder=_EMBEDDER) for name, url in urls.items()}
    try:
        for mem in stores.values():
            mem.scoped(tenant="large").remember("one more")
        rows = [
            *_latency("recall", "one of the tenants", stores, [f"t{n}" for n in range(options.tenants)], servers),
            *_latency("recall_large", f"the tenant with {options.large:,}", stores, ["large"], servers),
            *_throughput("recalls", stores, options.tenants, lambda mem, source: mem.recall(sentence(source, 6))),
            *_throughput("writes", stores, options.tenants, lambda mem, source: mem.remember(sentence(source))),
        ]
    finally:
        for mem in stores.values():
            mem.close()
    notes = {"memories": distribution.rows["memories"], "rows": sum(distribution.rows.values())}
    what = f"distribute {notes['memories']:,} memories over {options.shards} shards on 2 workers, and verify"
    return [*rows, Row(key="distribute", what=what, value=distributing, unit="s", target=3600, notes=notes)]


def _fill(url: str, options: argparse.Namespace) -> None:
    """Store the memories of one tenant with the API, and clone them on the server."""
    source, base = random.Random(1), options.memories
    with memotherm.open(url, embedder=_EMBEDDER) as mem:
        mem.scoped(tenant="base").remember_many([{"content": sentence(source)} for _ in range(base)])
    admin = psycopg.connect(url.replace(ROLE, "postgres"), autocommit=True, cursor_factory=psycopg.ClientCursor)
    with admin as connection:
        connection.execute("SET synchronous_commit TO off")
        large = ["large"] * (options.large // base)
        for number, tenant in enumerate([*(f"t{number}" for number in range(options.tenants)), *large], 1):
            space = 10 * (number if tenant != "large" else options.tenants + 1)
            for statement in _CLONE.split(";"):
                connection.execute(statement, {"to": tenant, "by": 2 * base * number, "space": space})
        connection.execute(_COUNT)
        for sequence in ("space", "memory", "event"):
            connection.execute(f"SELECT setval('memotherm.{sequence}_numbers', {2 * base * (number + 2)})")
    with closing(open_store(url, Settings())) as store:
        store.build_indexes()


def _cpu_ms(servers: list[Cluster]) -> float:
    """Return the CPU time that some servers have taken, with that of this process."""
    ticks = 0
    postmasters = {int((server.folder / "postmaster.pid").read_text().splitlines()[0]) for server in servers}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = file.read_text().rpartition(")")[2].split()
            if int(file.parent.name) in postmasters:
                ticks += sum(map(int, fields[11:15]))  # with the children that have ended
            elif int(fields[1]) in postmasters:
                ticks += sum(map(int, fields[11:13]))
    return 1000 * (ticks / os.sysconf("SC_CLK_TCK") + time.process_time())


def _latency(
    key: str, whose: str, stores: dict[str, Memotherm], tenants: list[str], servers: dict[str, list[Cluster]]
) -> list[Row]:
    """Ask both stores the same in turns, so that the load of the machine is the same for both."""
    source = random.Random(2)
    times: dict[str, list[float]] = {name: [] for name in stores}
    cpu = dict.fromkeys(stores, 0.0)
    for turn in range(_RECALLS + 20):
        tenant, query = source.choice(tenants), sentence(source, 6)
        for name, mem in stores.items():
            of_tenant = mem.scoped(tenant=tenant)
            before, started = _cpu_ms(servers[name]), time.perf_counter()
            of_tenant.recall(query, track=False)
            if turn >= 20:
                times[name].append((time.perf_counter() - started) * 1000)
                cpu[name] += (_cpu_ms(servers[name]) - before) / _RECALLS
    notes: dict[str, object] = {
        name: {"p50_ms": round(statistics.median(taken), 2), "p95_ms": round(statistics.quantiles(taken, n=20)[18], 2)}
        for name, taken in times.items()
    }
    notes["cpu_ms"] = {name: round(taken, 2) for name, taken in cpu.items()}
    ratio = statistics.median(times["cluster"]) / statistics.median(times["plain"])
    what = f"recall of {whose}, cluster against one server, median of {_RECALLS}"
    compared = round(cpu["cluster"] / cpu["plain"], 2)
    return [
        Row(key=f"{key}_ratio", what=what, value=round(ratio, 2), unit="x", target=1.5, notes=notes),
        Row(key=f"{key}_cpu_ratio", what=f"CPU time of a {what}", value=compared, unit="x", target=1.5),
    ]


def _throughput(
    key: str, stores: dict[str, Memotherm], tenants: int, act: Callable[[Memotherm, random.Random], object]
) -> list[Row]:
    """Let some threads work on each store for some seconds, twice in turns."""
    done = dict.fromkeys(stores, 0)
    for turn in range(2):
        for name, mem in stores.items():
            done[name] += _worked(mem, tenants, act, seed=turn)
    rates = {name: round(count / (2 * _SECONDS), 1) for name, count in done.items()}
    what = f"{key} per second, {_THREADS} threads, cluster against one server"
    ratio = round(rates["cluster"] / rates["plain"], 2)
    return [Row(key=f"{key}_rate", what=what, value=ratio, unit="x", target=0.66, rising=True, notes=rates)]


def _worked(mem: Memotherm, tenants: int, act: Callable[[Memotherm, random.Random], object], seed: int) -> int:
    until, counts = time.monotonic() + _SECONDS, [0] * _THREADS

    def run(number: int) -> None:
        source = random.Random(100 * seed + number)
        while time.monotonic() < until:
            act(mem.scoped(tenant=f"t{source.randrange(tenants)}"), source)
            counts[number] += 1

    threads = [threading.Thread(target=run, args=(number,)) for number in range(_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts)
