"""A distribution that is killed resumes where it stopped, and until its end nobody can use half of it."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import psycopg
import pytest

import memotherm
from memotherm.errors import InvalidInput, StoreUnavailable
from memotherm.testing import HashEmbedder
from tests.citus.conftest import on_node

_SHARDS = 2
_COMMAND = (sys.executable, "-m", "memotherm", "store", "distribute")
#: The processes that wait for a lock of another one.
_WAITING = """
    SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()
        AND application_name = 'memotherm'
"""


def _killed_at(url: str, lock: str) -> None:
    """Kill the command with SIGKILL when it waits for a table that somebody has locked."""
    with psycopg.connect(on_node(url, 0)) as holder, psycopg.connect(on_node(url, 0), autocommit=True) as watcher:
        holder.execute(f"LOCK TABLE {lock}")
        with subprocess.Popen([*_COMMAND, url, "--shards", str(_SHARDS)]) as command:
            while watcher.execute(_WAITING).fetchone() == (0,):
                assert command.poll() is None, "it ended without waiting for the lock"
                time.sleep(0.05)
            command.kill()


def _told(url: str) -> list[Any]:
    with memotherm.open(url, embedder=HashEmbedder()) as mem:
        seen = []
        for tenant in ("ann", "bob"):
            of_tenant = mem.scoped(tenant=tenant)
            hits = of_tenant.recall("otter", limit=9, track=False)
            seen.append([of_tenant.find(limit=9), [(hit.memory.id, hit.score) for hit in hits]])
        assert mem.check() == []
    return seen


def test_a_killed_distribution_resumes_and_ends_verified(cluster_url: str) -> None:
    """It is killed at six points; meanwhile nobody uses half of it, and at the end a running server uses all of it."""
    url = cluster_url
    with memotherm.open(url, embedder=HashEmbedder()) as running:
        running.remember("everybody's otter")
        for tenant in ("ann", "bob"):
            running.scoped(tenant=tenant).remember_many([{"content": f"otter {n} of {tenant}"} for n in range(3)])
        before = _told(url)

        _killed_at(url, "memotherm.spaces")
        assert _told(url) == before, "nothing was changed yet"
        for lock in (
            "memotherm.adoptions IN ACCESS SHARE MODE",
            "memotherm.recalls IN ACCESS SHARE MODE",
            "memotherm.jobs IN ACCESS SHARE MODE",
            "memotherm.chunks IN ROW EXCLUSIVE MODE",
            "memotherm.counters",
        ):
            _killed_at(url, lock)
            with pytest.raises(StoreUnavailable, match="run it again"):
                memotherm.open(url, embedder=HashEmbedder())
            with pytest.raises(StoreUnavailable, match="run it again"):
                running.scoped(tenant="ann").recall("otter")
            assert "bob" not in _seen_by_ann(url), "row-level security holds at every moment"
        with pytest.raises(InvalidInput, match="over 2 shards"):
            memotherm.distribute(url, 3)

        assert memotherm.distribute(url, _SHARDS).rows["memories"] == 7
        assert _told(url) == before
        with pytest.raises(InvalidInput, match="already"):
            memotherm.distribute(url, _SHARDS)
        walrus = running.remember("a walrus of everybody")
        assert running.scoped(tenant="ann").recall("walrus")[0].memory.id == walrus.id
        assert running.check() == []


def _seen_by_ann(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        connection.execute("SET memotherm.tenant TO 'ann'")
        return {tenant for (tenant,) in connection.execute("SELECT DISTINCT tenant FROM memotherm.memories").fetchall()}
