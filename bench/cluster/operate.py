"""Clients write and recall while a worker is added, a tenant moves, and nodes die and come back."""

from __future__ import annotations

import argparse
import logging
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.citus.cluster import CitusCluster
from tests.postgres import distributed_database, equipped_database

import memotherm
from bench.load import sentence
from bench.report import Row
from memotherm import Memotherm
from memotherm.errors import MemothermError
from memotherm.testing import HashEmbedder

__all__ = ["operated"]

_log = logging.getLogger(__name__)
_NAME = "operated"
_SHARDS_ON = "SELECT count(*) FROM citus_shards WHERE nodeport = %s AND table_name = 'memotherm.memories'::regclass"
_NODE_OF = """
    SELECT nodeport FROM pg_dist_placement JOIN pg_dist_node USING (groupid)
    WHERE shardid = get_shard_id_for_distribution_column('memotherm.memories', CAST(%s AS TEXT))
"""


@dataclass
class _Client:
    """What one client has done: a tenant of its own, one request after the other."""

    tenant: str
    #: id -> content of every write that was acknowledged.
    written: dict[str, str] = field(default_factory=dict)
    #: When a request failed, and how.
    errors: list[tuple[float, str]] = field(default_factory=list)
    #: The longest request, in seconds.
    longest: float = 0.0
    done: int = 0

    def run(self, mem: Memotherm, ended: threading.Event) -> None:
        """Write and recall until the end."""
        source, of_tenant = random.Random(self.tenant), mem.scoped(tenant=self.tenant)
        while not ended.is_set():
            started = time.monotonic()
            try:
                content = sentence(source)
                memory = of_tenant.remember(content)
                self.written[memory.id] = content
                of_tenant.recall(sentence(source, 5), track=False)
                self.done += 2
            except MemothermError as exc:
                self.errors.append((time.monotonic(), str(exc)))
                time.sleep(0.2)
            self.longest = max(self.longest, time.monotonic() - started)


def operated(options: argparse.Namespace) -> list[Row]:
    """Run the phases and return the rows."""
    with CitusCluster.started(fast=False) as cluster:
        distributed_database(cluster.urls, _NAME)
        url = cluster.nodes[0].url(_NAME)
        embedder = HashEmbedder(64)
        memotherm.open(url, embedder=embedder).close()
        memotherm.distribute(url, options.shards)
        tenants = [f"client{number}" for number in range(options.clients)]
        settings = {"postgres_pool_size": 16}
        with memotherm.open(url, embedder=embedder, settings=settings) as mem:
            mem.remember("everybody's memory")
            run = _Run(cluster, mem, tenants, options.seconds)
            return [
                *run.phase("kill_worker", "a worker is killed and comes back", run.kill_worker, dead=1),
                *run.phase("add_worker", "a worker is added and shards move to it", run.add_worker),
                *run.phase("restart", "the coordinator restarts", run.restart, dead=0),
                *run.phase("isolate", "one tenant moves to a shard and a node of its own", run.isolate),
                run.problems(),
            ]


class _Run:
    """The phases on one cluster."""

    def __init__(self, cluster: CitusCluster, mem: Memotherm, tenants: list[str], seconds: float) -> None:
        self._cluster = cluster
        self._mem = mem
        self._tenants = tenants
        self._seconds = seconds

    def phase(self, key: str, what: str, act: Callable[[], dict[str, Any]], dead: int | None = None) -> list[Row]:
        """Let the clients work while something happens; count what was lost, and whose requests failed."""
        ended, clients = threading.Event(), [_Client(tenant) for tenant in self._tenants]
        threads = [threading.Thread(target=client.run, args=(self._mem, ended)) for client in clients]
        began = time.monotonic()
        for thread in threads:
            thread.start()
        time.sleep(5)
        notes = act()
        time.sleep(max(5.0, self._seconds - (time.monotonic() - began)))
        ended.set()
        for thread in threads:
            thread.join()
        stored = self._stored()
        lost = sum(
            stored.get((client.tenant, memory_id)) != content
            for client in clients
            for memory_id, content in client.written.items()
        )
        concerned = self._tenants_on(dead) if dead else ({*self._tenants} if dead == 0 else set())
        others = [client for client in clients if client.tenant not in concerned]
        failures = [moment for client in clients for moment, _ in client.errors]
        notes |= {
            "errors_of_others": sum(len(client.errors) for client in others),
            "clients": len(clients),
            "seconds": round(time.monotonic() - began, 1),
            "requests": sum(client.done for client in clients),
            "acknowledged": sum(len(client.written) for client in clients),
            "errors": len(failures),
            "tenants_concerned": len(concerned),
            "errors_for_s": round(max(failures) - min(failures), 1) if failures else 0.0,
            "longest_request_s": round(max(client.longest for client in clients), 1),
            "longest_request_of_others_s": round(max((client.longest for client in others), default=0.0), 1),
            "messages": sorted({message[:160] for client in clients for _, message in client.errors})[:5],
        }
        elsewhere = sum(len(client.errors) for client in others)
        _log.info("%s: %s lost, %s", key, lost, notes)
        return [
            Row(
                key=f"{key}_lost",
                what=f"acknowledged writes lost while {what}",
                value=lost,
                unit="",
                target=0,
                notes=notes,
            ),
            Row(key=f"{key}_errors", what=f"errors of other tenants while {what}", value=elsewhere, unit="", target=0),
        ]

    def problems(self) -> Row:
        """Return how many problems the check of the store finds at the end."""
        found = len(self._mem.check())
        return Row(key="problems", what="problems that `check` finds at the end", value=found, unit="", target=0)

    def add_worker(self) -> dict[str, Any]:
        """Add a node and rebalance."""
        node = self._cluster.add()
        equipped_database(node.url("postgres", "postgres"), _NAME, "citus")
        with self._cluster.admin(_NAME) as connection:
            connection.execute("SELECT citus_add_node('127.0.0.1', %s)", (node.port,))
            began = time.monotonic()
            connection.execute("SELECT rebalance_table_shards(shard_transfer_mode => 'block_writes')")
            moved = connection.execute(
                "SELECT count(*) FROM citus_shards WHERE nodeport = %s AND citus_table_type = 'distributed'",
                (node.port,),
            ).fetchone()
        return {"rebalanced_in_s": round(time.monotonic() - began, 1), "shards_on_new_node": moved[0] if moved else 0}

    def isolate(self) -> dict[str, Any]:
        """Give a tenant a shard of its own, and move that to the newest node."""
        tenant, began = self._tenants[0], time.monotonic()
        with self._cluster.admin(_NAME) as connection:
            row = connection.execute(
                "SELECT isolate_tenant_to_new_shard('memotherm.spaces', CAST(%s AS TEXT), 'CASCADE', "
                "shard_transfer_mode => 'block_writes')",
                (tenant,),
            ).fetchone()
            place = connection.execute(_NODE_OF, (tenant,)).fetchone()
            newest = self._cluster.nodes[-1].port
            if row and place and place[0] != newest:
                connection.execute(
                    "SELECT citus_move_shard_placement(%s, '127.0.0.1', %s, '127.0.0.1', %s, 'block_writes')",
                    (row[0], place[0], newest),
                )
            after = connection.execute(_NODE_OF, (tenant,)).fetchone()
        return {"moved_in_s": round(time.monotonic() - began, 1), "on_its_node": after == (newest,)}

    def kill_worker(self) -> dict[str, Any]:
        """Kill a worker, ask which nodes are missing, and start it again."""
        began = time.monotonic()
        self._cluster.nodes[1].kill()
        time.sleep(5)
        missing = self._mem.store.missing_nodes()
        time.sleep(10)
        self._cluster.nodes[1].start()
        return {"dead_for_s": round(time.monotonic() - began, 1), "missing": len(missing)}

    def restart(self) -> dict[str, Any]:
        """Restart the coordinator."""
        began = time.monotonic()
        self._cluster.nodes[0].stop()
        self._cluster.nodes[0].start()
        return {"restarted_in_s": round(time.monotonic() - began, 1)}

    def _stored(self) -> dict[tuple[str, str], str]:
        """Return the contents in the store by tenant and id."""
        with self._cluster.admin(_NAME) as connection:
            rows = connection.execute("SELECT tenant, id, content FROM memotherm.memories").fetchall()
        return {(str(tenant), str(memory_id)): str(content) for tenant, memory_id, content in rows}

    def _tenants_on(self, node: int) -> set[str]:
        port = self._cluster.nodes[node].port
        with self._cluster.admin(_NAME) as connection:
            return {tenant for tenant in self._tenants if connection.execute(_NODE_OF, (tenant,)).fetchone() == (port,)}
