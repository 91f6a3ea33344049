"""A distributed store is the same store, each statement of a tenant needs one shard, and row-level security holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest

import memotherm
from memotherm import Memotherm
from memotherm.cli.app import run
from memotherm.errors import InvalidInput
from memotherm.testing import HashEmbedder
from tests.citus.conftest import on_node
from tests.citus.plans import captured, explained
from tests.postgres import ROLE, database, nodes

TENANTS = [f"tenant{number}" for number in range(6)]
#: The shards of tables with a tenant on a node.
_SHARDS = """
    SELECT c.oid::regclass::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant'
    WHERE c.relnamespace = 'memotherm'::regnamespace AND c.relname ~ '_[0-9]{5,}$' AND c.relkind = 'r'
"""
#: The URL of the store, and what the command printed.
Distributed = tuple[str, dict[str, Any]]


def _filled(mem: Memotherm) -> None:
    mem.remember("everybody's otter", tags=["zoo"])
    for tenant in TENANTS:
        of_tenant = mem.scoped(tenant=tenant)
        made = of_tenant.remember_many([{"content": f"otter {n} of {tenant}", "tags": ["zoo"]} for n in range(4)])
        of_tenant.move(made[0].id, "cold")
        of_tenant.purge(made[1].id)
        of_tenant.session("s").add("a turn", metadata={"speaker": "ann"})


def _told(mem: Memotherm) -> list[object]:
    hits = mem.recall("otter 3", tiers=("hot", "warm", "cold"), limit=30, track=False)
    return [mem.find(limit=100), [(hit.memory.id, hit.score) for hit in hits], mem.status().tiers]


@pytest.fixture(scope="module")
def distributed(cluster_url: str, tmp_path_factory: pytest.TempPathFactory) -> Distributed:
    """A store that was filled and distributed, and what the command printed."""
    with memotherm.open(cluster_url, embedder=HashEmbedder()) as mem:
        _filled(mem)
        before = {tenant: _told(mem.scoped(tenant=tenant)) for tenant in TENANTS}
    output = tmp_path_factory.mktemp("out") / "distribution.json"
    with pytest.MonkeyPatch.context() as patch, output.open("w") as stream:
        patch.setattr("sys.stdout", stream)
        assert run(["store", "distribute", cluster_url, "--shards", "8", "--json"]) == 0
    return cluster_url, {"before": before, **json.loads(output.read_text())}


def test_a_distributed_store_is_the_same_store(distributed: Distributed) -> None:
    """Every tenant sees what it saw, new memories of everybody reach all tenants, and it cannot be done twice."""
    url, printed = distributed
    assert printed["shards"] == 8
    assert len(printed["nodes"]) == 2
    assert printed["rows"]["memories"] == 1 + 5 * len(TENANTS)
    with memotherm.open(url, embedder=HashEmbedder()) as mem:
        assert {tenant: _told(mem.scoped(tenant=tenant)) for tenant in TENANTS} == printed["before"]
        shared = mem.remember("a sea lion of everybody")
        own = mem.scoped(tenant="tenant3").remember("a sea lion of tenant3")
        assert {hit.memory.id for hit in mem.scoped(tenant="tenant3").recall("sea lion", limit=2)} == {
            shared.id,
            own.id,
        }
        assert own.id not in {hit.memory.id for hit in mem.scoped(tenant="tenant4").recall("sea lion")}
        mem.update(shared.id, content="a walrus of everybody")
        assert mem.scoped(tenant="tenant5").get(shared.id).content == "a walrus of everybody"
        assert mem.get(shared.id).access_count >= 1, "the use by a tenant is counted"
        assert mem.maintain().degraded == ()
        assert mem.check() == []
    with pytest.raises(InvalidInput, match="already"):
        memotherm.distribute(url)


def test_every_statement_of_a_tenant_needs_one_shard(distributed: Distributed) -> None:
    """The statements of a recall, a context, a write and a session turn are captured and explained one by one."""
    url, _ = distributed
    explained = _plans(url)
    assert len(explained) > 60
    assert [(tasks, query) for tasks, query in explained if tasks > 1] == []


def test_without_memories_of_everybody_every_statement_needs_one_shard() -> None:
    """The same holds for the shorter statements of a store in which every memory has a tenant."""
    if not nodes():
        pytest.skip("there is no cluster: run `make citus`")
    with database(nodes()[0]) as url:
        explained = _plans(url)
    assert len(explained) > 60
    assert [(tasks, query) for tasks, query in explained if tasks > 1] == []


def _worked(mem: Memotherm) -> None:
    """Do as a tenant what is done most: recall, context, write, session turn."""
    turns = mem.session("s")
    memory = mem.remember("an otter that swims", tags=["river"])
    mem.recall("otter of everybody")
    mem.context("otter", budget=300)
    mem.update(memory.id, content="an otter that dives")
    turns.add("where is the otter?")
    turns.recall("otter")
    mem.forget(memory.id)


def _plans(url: str) -> list[tuple[int, str]]:
    return explained(url, "tenant1", captured(url, "tenant1", _worked, HashEmbedder()))


@pytest.mark.parametrize("node", [1, 2])
def test_row_level_security_holds_on_a_worker(distributed: Distributed, node: int) -> None:
    """The application's role sees nothing of another tenant in any shard, and the settings of a transaction arrive."""
    url, _ = distributed
    with psycopg.connect(on_node(url, node), autocommit=True) as admin:
        admin.execute("SET citus.show_shards_for_app_name_prefixes TO '*'")
        shards = [name for (name,) in admin.execute(_SHARDS).fetchall()]
        held = {tenant for shard in shards for tenant in _tenants(admin, shard)}
    assert len(shards) >= 4 * 20
    assert held
    with psycopg.connect(on_node(url, node, ROLE)) as connection:
        for tenant in ("", "nobody"):
            connection.execute("SELECT set_config('memotherm.tenant', %s, false)", (tenant,))
            assert {shard for shard in shards if _tenants(connection, shard)} == set()
        other = min(held)
        connection.execute("SELECT set_config('memotherm.tenant', %s, false)", (other,))
        assert {tenant for shard in shards for tenant in _tenants(connection, shard)} == {other}


def _tenants(connection: psycopg.Connection[Any], shard: str) -> set[str]:
    rows = connection.execute(f"SELECT DISTINCT tenant FROM {shard} WHERE tenant <> ''").fetchall()
    return {tenant for (tenant,) in rows}


def test_another_store_is_copied_into_a_distributed_one(distributed: Distributed, tmp_path: Path) -> None:
    """A distributed store is copied to a file and the file back into a new distributed store, with the same rows."""
    url, _ = distributed
    out = memotherm.migrate(url, tmp_path / "copy.db")
    with database(nodes()[0]) as target:
        back = memotherm.migrate(tmp_path / "copy.db", target)
        assert (back.rows, back.digest) == (out.rows, out.digest)
        with memotherm.open(target, embedder=HashEmbedder()) as mem:
            assert mem.check() == []
            assert mem.scoped(tenant="tenant2").recall("everybody otter", limit=20)
