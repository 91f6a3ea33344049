"""Recalls from a replica: they say how old they are, and the primary steps in when it fails."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

import memotherm
from memotherm import Memotherm
from memotherm.storage.postgres import replica as replica_module
from memotherm.testing import HashEmbedder
from tests.postgres import ROLE, Cluster

DATABASE = "memories"


@pytest.fixture(scope="module")
def clusters() -> Iterator[tuple[Cluster, Cluster]]:
    """A server, and a replica that follows it."""
    with Cluster.started(fast=False) as primary, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        with psycopg.connect(primary.url("postgres", "postgres"), autocommit=True) as admin:
            admin.execute(f"CREATE ROLE {ROLE} LOGIN NOSUPERUSER NOBYPASSRLS")
            admin.execute(f"CREATE DATABASE {DATABASE} OWNER {ROLE}")
        with psycopg.connect(primary.url(DATABASE, "postgres"), autocommit=True) as admin:
            admin.execute("CREATE EXTENSION vector")
        replica = primary.replica(Path(home) / "data")
        replica.start()
        try:
            yield primary, replica
        finally:
            replica.stop("immediate")


@pytest.fixture
def mem(clusters: tuple[Cluster, Cluster], monkeypatch: pytest.MonkeyPatch) -> Iterator[Memotherm]:
    """A memory that recalls from the replica, and tries it again soon after it has failed."""
    monkeypatch.setattr(replica_module, "_PAUSE_SECONDS", 0.5)
    primary, replica = clusters
    settings = {"postgres_replica": replica.url(DATABASE)}
    with memotherm.open(primary.url(DATABASE), embedder=HashEmbedder(), settings=settings) as mem:
        yield mem


def replaying(replica: Cluster, wanted: str) -> None:
    """Let the replica stop or go on following its primary, and wait until it does."""
    state = "paused" if wanted == "pause" else "not paused"
    with psycopg.connect(replica.url("postgres", "postgres"), autocommit=True) as admin:
        admin.execute(f"SELECT pg_wal_replay_{wanted}()")
        eventually(lambda: admin.execute("SELECT pg_get_wal_replay_pause_state()").fetchone() == (state,))


def served(mem: Memotherm, query: str) -> list[str] | None:
    """The ids that a recall finds on the replica; None when the primary had to answer."""
    found = mem.recall(query)
    if not found.degraded[0].startswith("read from a replica"):
        return None
    return [hit.memory.id for hit in found]


def eventually(found: Callable[[], bool]) -> None:
    """Wait until something is so; the end is only there for what never comes."""
    for _ in range(1200):
        if found():
            return
        time.sleep(0.05)
    raise AssertionError("it never was so")


def test_a_recall_reads_the_replica_and_says_so(mem: Memotherm, clusters: tuple[Cluster, Cluster]) -> None:
    """What is written after the replica has stopped is not found before it goes on."""
    _, replica = clusters
    first = mem.remember("the otter swims")
    eventually(lambda: served(mem, "otter swims") == [first.id])
    replaying(replica, "pause")
    try:
        mem.remember("the otter sleeps")
        behind = mem.recall("otter sleeps")

        assert [hit.memory.id for hit in behind] == [first.id]
        assert behind.degraded[0].startswith("read from a replica whose newest change is ")
        assert len(mem.find()) == 2, "everything but recall reads what is written"
    finally:
        replaying(replica, "resume")
    eventually(lambda: len(mem.recall("otter")) == 2)


def test_the_primary_steps_in(mem: Memotherm, clusters: tuple[Cluster, Cluster]) -> None:
    """A replica that does not answer costs nobody an answer, and is used again when it is back."""
    _, replica = clusters
    memory = mem.scoped(tenant="t").remember("a heron flies")
    replica.kill()
    found = mem.scoped(tenant="t").recall("heron flies")

    assert memory.id in [hit.memory.id for hit in found]
    assert found.degraded[0].startswith("the replica failed and the primary was read: cannot reach ")
    replica.start()
    eventually(lambda: served(mem, "heron") is not None)


def test_uses_are_counted_on_the_primary(mem: Memotherm) -> None:
    """A replica only reads."""
    memory = mem.scoped(tenant="u").remember("a badger digs")
    eventually(lambda: memory.id in (served(mem.scoped(tenant="u"), "badger digs") or []))

    assert mem.scoped(tenant="u").get(memory.id).access_count >= 1


def test_without_one_nothing_is_said(clusters: tuple[Cluster, Cluster], tmp_path: Path) -> None:
    """Neither on a server nor in a file."""
    for place in (clusters[0].url(DATABASE), str(tmp_path / "a.db")):
        with memotherm.open(place, embedder=HashEmbedder()) as mem:
            mem.scoped(tenant="v").remember("an owl")
            assert mem.scoped(tenant="v").recall("owl").degraded == ()
