"""The same memories on one server and on a cluster of three nodes, asked in turns."""

from __future__ import annotations

import argparse
import os
import random
import statistics
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.citus.plans import captured, explained
from tests.postgres import Cluster

import memotherm
from bench.cluster.fill import EMBEDDER, Servers, filled
from bench.load import sentence
from bench.report import Row
from memotherm import Memotherm

__all__ = ["measured"]

#: How many recalls of a small tenant, and of the large one.
_RECALLS = 150
_LARGE_RECALLS = 15
#: Those before them, in per cent, are not counted.
_FIRST = 10
_SECONDS = 10.0
_THREADS = 8


def measured(options: argparse.Namespace) -> list[Row]:
    """Fill both, ask them in turns, and return the rows."""
    with filled(options) as servers:
        return _measured(options, servers)


def _measured(options: argparse.Namespace, servers: Servers) -> list[Row]:
    of = {"plain": [servers.plain], "cluster": servers.cluster.nodes}
    stores = {name: memotherm.open(url, embedder=EMBEDDER) for name, url in servers.urls.items()}
    try:
        for mem in stores.values():
            mem.scoped(tenant="large").remember("one more")
        return [
            _shards(servers.urls["cluster"]),
            *_latency("recall", "one of the tenants", stores, [f"t{n}" for n in range(options.tenants)], of, _RECALLS),
            *_latency("recall_large", f"the tenant with {options.large:,}", stores, ["large"], of, _LARGE_RECALLS),
            *_throughput("recalls", stores, options.tenants, lambda mem, source: mem.recall(sentence(source, 6))),
            *_throughput("writes", stores, options.tenants, lambda mem, source: mem.remember(sentence(source))),
            *(_problems(name, mem) for name, mem in stores.items() if options.check),
        ]
    finally:
        for mem in stores.values():
            mem.close()


def _shards(url: str) -> Row:
    """Return how many statements of a recall need more than one shard, as the coordinator plans them."""
    found = explained(
        url, "t1", captured(url, "t1", lambda mem: mem.recall("otter of everybody", track=False), EMBEDDER)
    )
    notes = {"statements": len(found), "on_one_shard": sum(tasks == 1 for tasks, _ in found)}
    several = sum(tasks > 1 for tasks, _ in found)
    return Row(
        key="shards",
        what="statements of a recall on more than one shard",
        value=several,
        unit="",
        target=0,
        notes=notes,
    )


def _problems(name: str, mem: Memotherm) -> Row:
    return Row(
        key=f"problems_{name}", what=f"problems that `check` finds: {name}", value=len(mem.check()), unit="", target=0
    )


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
    key: str,
    whose: str,
    stores: dict[str, Memotherm],
    tenants: list[str],
    servers: dict[str, list[Cluster]],
    count: int,
) -> list[Row]:
    """Ask both stores the same in turns, so that the load of the machine is the same for both."""
    source, first = random.Random(2), max(1, count * _FIRST // 100)
    times: dict[str, list[float]] = {name: [] for name in stores}
    cpu = dict.fromkeys(stores, 0.0)
    for turn in range(count + first):
        tenant, query = source.choice(tenants), sentence(source, 6)
        for name, mem in stores.items():
            of_tenant = mem.scoped(tenant=tenant)
            before, started = _cpu_ms(servers[name]), time.perf_counter()
            of_tenant.recall(query, track=False)
            if turn >= first:
                times[name].append((time.perf_counter() - started) * 1000)
                cpu[name] += (_cpu_ms(servers[name]) - before) / count
    notes: dict[str, object] = {
        name: {"p50_ms": round(statistics.median(taken), 2), "p95_ms": round(statistics.quantiles(taken, n=20)[18], 2)}
        for name, taken in times.items()
    }
    notes["cpu_ms"] = {name: round(taken, 2) for name, taken in cpu.items()}
    ratio = statistics.median(times["cluster"]) / statistics.median(times["plain"])
    what = f"recall of {whose}, cluster against one server, median of {count}"
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
