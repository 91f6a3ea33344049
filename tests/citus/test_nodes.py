"""A cluster without one of its nodes serves the tenants of the others, and tells how many nodes are missing."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import memotherm
from memotherm.errors import StoreError, StoreUnavailable
from memotherm.testing import HashEmbedder
from tests.citus.cluster import CitusCluster
from tests.interfaces.served import serving
from tests.postgres import distributed_database, nodes

_NAME = "nodes"
_NODE_OF = """
    SELECT nodeport FROM pg_dist_placement JOIN pg_dist_node USING (groupid)
    WHERE shardid = get_shard_id_for_distribution_column('memotherm.memories', CAST(%s AS TEXT))
"""


@pytest.fixture
def cluster() -> Iterator[CitusCluster]:
    """A cluster of its own that waits for the disk, because a node of it is killed."""
    if not nodes():
        pytest.skip("there is no cluster: run `make citus`")
    with CitusCluster.started(fast=False) as started:
        distributed_database(started.urls, _NAME)
        yield started


def _health(address: str) -> Any:
    with urllib.request.urlopen(f"{address}/health", timeout=60) as response:
        return json.load(response)


def _tenant_on(cluster: CitusCluster, node: int) -> str:
    """Return a tenant whose shard is on a node."""
    with cluster.admin(_NAME) as connection:
        return next(
            tenant
            for tenant in (f"tenant{number}" for number in range(1000))
            if connection.execute(_NODE_OF, (tenant,)).fetchone() == (cluster.nodes[node].port,)
        )


def test_without_a_node_the_tenants_of_the_others_are_served(cluster: CitusCluster, tmp_path: Path) -> None:
    """Requests of the dead node's tenants fail, those of others succeed; nothing is lost when the node comes back.

    The store is opened by its coordinator only.
    """
    url = cluster.nodes[0].url(_NAME)
    memotherm.open(url, embedder=HashEmbedder()).close()
    memotherm.distribute(url, 4)
    with pytest.raises(StoreUnavailable, match="is a worker of a Citus cluster"):
        memotherm.open(cluster.nodes[1].url(_NAME), embedder=HashEmbedder())
    dead, alive = _tenant_on(cluster, 1), _tenant_on(cluster, 2)
    with memotherm.open(url, embedder=HashEmbedder()) as mem, serving(mem) as address:
        kept = {tenant: mem.scoped(tenant=tenant).remember(f"an otter of {tenant}") for tenant in (dead, alive)}
        assert _health(address) == {"status": "ok", "version": memotherm.__version__, "missing_nodes": 0}

        cluster.nodes[1].kill()
        assert _health(address) == {"status": "degraded", "version": memotherm.__version__, "missing_nodes": 1}
        with pytest.raises(StoreError):
            mem.scoped(tenant=dead).recall("otter")
        assert mem.scoped(tenant=alive).recall("otter")[0].memory.id == kept[alive].id
        mem.scoped(tenant=alive).remember("another otter")

        cluster.nodes[1].start()
        assert mem.scoped(tenant=dead).recall("otter")[0].memory.id == kept[dead].id
        assert _health(address)["status"] == "ok"
        assert mem.check() == []
