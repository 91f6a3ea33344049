"""A pool of one connection is enough: no call asks for a second one while it holds a transaction."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import memotherm
from memotherm import Memotherm, Tier
from memotherm.testing import HashEmbedder
from tests.helpers import together
from tests.interfaces.served import served
from tests.postgres import database


@pytest.fixture
def url(postgres: str) -> Iterator[str]:
    """A database with the schema in it."""
    with database(postgres) as found:
        yield found


@pytest.fixture
def mem(url: str) -> Iterator[Memotherm]:
    """A memory with one connection, which waits so long for a second one that a test would fail."""
    settings = {"postgres_pool_size": 1, "busy_timeout_ms": 20_000, "hot_token_limit": 60}
    with memotherm.open(url, embedder=HashEmbedder(), settings=settings) as found:
        yield found
        assert found.check() == []


def test_every_write_needs_one_connection(mem: Memotherm, tmp_path: Path) -> None:
    """Sessions, promotion, spill, notes, compaction and maintenance work with a pool of one."""
    session = mem.session("chat")
    added = [session.add(f"turn {number} about the otter in the river") for number in range(12)]
    session.spill(2)
    session.promote(added[0].id)
    assert session.recall("otter in the river", auto_promote=True)
    cold = mem.remember("the badger lives in the wood", tier="cold")
    assert mem.recall("badger wood", tiers=tuple(Tier), promote=True)
    mem.update(cold.id, tags=["wood"])
    mem.undo(mem.history(cold.id)[-1].seq)
    (tmp_path / "MEMORY.md").write_text("# Facts\n\n- The heron stands still\n")
    notes = mem.notes(tmp_path)
    notes.sync()
    assert notes.search("heron", min_score=0)
    notes.append("The kite circles")
    mem.compact()
    mem.maintain()
    session.before_turn("otter")
    session.clear()
    session.end()
    mem.purge(cold.id)


def test_sessions_of_many_threads_share_one_connection(mem: Memotherm) -> None:
    """Thirty additions at once all succeed, and those of another tenant do."""
    chat, other = mem.session("chat"), mem.scoped(tenant="acme")
    calls = [lambda number=number: chat.add(f"turn {number} of thirty") for number in range(30)]
    together(*calls, lambda: other.remember("of another tenant"))
    assert len({memory.content for memory in mem.scoped(session="chat").find(limit=100).memories}) == 30


@pytest.mark.slow
def test_requests_that_may_be_repeated_need_one_connection(url: str, tmp_path: Path) -> None:
    """A server with one connection answers thirty writes at once, with and without Idempotency-Key."""
    path = tmp_path / "server"
    with served(path, store=url, MEMOTHERM_POSTGRES_POOL_SIZE="1", MEMOTHERM_BUSY_TIMEOUT_MS="20000") as server:

        def add(number: int) -> int:
            headers = {"Idempotency-Key": f"key-{number}"} if number % 2 else {}
            return server.ask("POST", "/sessions/chat/memories", {"content": f"turn {number}"}, headers)[0]

        assert set(together(*(lambda number=number: add(number) for number in range(30)))) == {201}
        assert add(1) == 201
        status, hot = server.ask("GET", "/sessions/chat/hot")
        assert (status, len(hot["memories"])) == (200, 30)
