"""Tables cut by tenant hold the same, find the same, and keep the wall."""

from __future__ import annotations

import json
from collections.abc import Iterator

import psycopg
import pytest

import memotherm
from memotherm import Memotherm
from memotherm.cli.app import run
from memotherm.errors import InvalidInput
from memotherm.testing import HashEmbedder
from tests.postgres import empty_database
from tests.stores import limits

TENANTS = [f"tenant{number}" for number in range(12)]


@pytest.fixture
def url(postgres: str) -> Iterator[str]:
    """A database with a dozen tenants."""
    with empty_database(postgres) as found:
        with memotherm.open(found, embedder=HashEmbedder()) as mem:
            mem.remember("everybody's otter")
            for tenant in TENANTS:
                _filled(mem.scoped(tenant=tenant))
        yield found


def _filled(mem: Memotherm) -> None:
    made = mem.remember_many([{"content": f"otter {n} of {mem.scope.tenant}", "tags": ["zoo"]} for n in range(8)])
    mem.move(made[0].id, "cold")
    mem.purge(made[1].id)
    mem.session("s").add("a turn", metadata={"speaker": "ann"})


def told(mem: Memotherm) -> list[object]:
    """Return what a tenant sees."""
    hits = mem.recall("otter 3", tiers=("hot", "warm", "cold"), limit=30, track=False)
    return [mem.find(limit=100), [(hit.memory.id, hit.score) for hit in hits], mem.status().tiers]


def test_a_partitioned_store_is_the_same_store(url: str) -> None:
    """Everything is there, everything goes on, and it cannot be done twice."""
    with memotherm.open(url, embedder=HashEmbedder()) as mem:
        before = [told(mem.scoped(tenant=tenant)) for tenant in TENANTS]
        tables = memotherm.partition(url, 4)

        assert {"memories", "vectors", "texts", "events"} <= set(tables)
        assert [told(mem.scoped(tenant=tenant)) for tenant in TENANTS] == before, "without opening it anew"
        new = mem.scoped(tenant="tenant3").remember("a new otter")
        assert mem.scoped(tenant="tenant3").recall("a new otter")[0].memory.id == new.id
        assert mem.scoped(tenant="tenant4").recall("a new otter")[0].memory.id != new.id
        assert mem.maintain().degraded == ()
        assert mem.check() == []
    with pytest.raises(InvalidInput, match="already"):
        memotherm.partition(url, 8)


def test_keys_indexes_and_links_are_all_there_again(url: str) -> None:
    """Compared with what they were, name by name."""
    described = """
        SELECT 'index', indexname, regexp_replace(indexdef, ' ON (ONLY )?', ' ON ') FROM pg_indexes
        WHERE schemaname = 'memotherm' AND tablename NOT SIMILAR TO '%\\_[0-9]+'
        UNION ALL SELECT 'policy', tablename || policyname, concat(cmd, qual, with_check) FROM pg_policies
        WHERE schemaname = 'memotherm'
        UNION ALL SELECT 'key', conrelid::regclass || conname, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = 'memotherm'::regnamespace AND conparentid = 0 AND contype IN ('p', 'u', 'f', 'c')
          AND conrelid IN (SELECT oid FROM pg_class WHERE NOT relispartition) AND (confrelid = 0 OR confrelid IN
            (SELECT oid FROM pg_class WHERE NOT relispartition))
        UNION ALL SELECT 'wall', relname, concat(relrowsecurity, relforcerowsecurity) FROM pg_class
        WHERE relnamespace = 'memotherm'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
        ORDER BY 1, 2, 3"""
    with psycopg.connect(url) as connection:
        before = connection.execute(described).fetchall()
    memotherm.partition(url, 3)
    with psycopg.connect(url) as connection:
        assert connection.execute(described).fetchall() == before


def test_many_live_vectors_of_a_partitioned_store_are_indexed(url: str) -> None:
    """And searched by that index."""
    memotherm.partition(url, 3)
    with limits(exact=5), memotherm.open(url, embedder=HashEmbedder()) as mem:
        mem.maintain()
        with psycopg.connect(url) as connection:
            (made,) = connection.execute("SELECT to_regclass('memotherm.vectors_live_1') IS NOT NULL").fetchone() or (
                0,
            )

        assert made
        assert len(mem.scoped(tenant="tenant5").recall("otter 3 of tenant5", limit=5)) == 5
        assert mem.check() == []


def test_a_part_by_itself_shows_nothing(url: str) -> None:
    """Rows are reached through the whole table and its wall alone."""
    memotherm.partition(url, 2)
    with psycopg.connect(url) as connection:
        connection.execute("SELECT set_config('memotherm.tenant', 'tenant1', false)")
        seen = connection.execute("SELECT DISTINCT tenant FROM memotherm.memories ORDER BY 1").fetchall()
        parts = [connection.execute(f"SELECT count(*) FROM memotherm.memories_{part}").fetchone() for part in (0, 1)]

    assert seen == [("",), ("tenant1",)]
    assert parts == [(0,), (0,)]


def test_the_command(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One command; a file has no partitions."""
    assert run(["store", "partition", url, "--parts", "2", "--json"]) == 0
    assert "memories" in json.loads(capsys.readouterr().out)["tables"]
    assert run(["store", "partition", "agent.db"]) != 0
    assert "there is no store agent.db" in capsys.readouterr().err
    with pytest.raises(InvalidInput, match="between"):
        memotherm.partition(url, 1)
