"""Inside a transaction, only the transaction is read: a store with one connection would wait for itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memotherm import Memotherm, Settings
from memotherm.storage.open import open_store
from memotherm.testing import FakeClock, HashEmbedder, guarded
from tests.stores import located

pytestmark = pytest.mark.parametrize("store_kind", ["sqlite", "postgres"], indirect=True)


@pytest.fixture
def mem(tmp_path: Path, clock: FakeClock) -> Iterator[Memotherm]:
    """A memory whose store is guarded."""
    store = guarded(open_store(str(located(tmp_path / "memory.db")), Settings()))
    with Memotherm(store, HashEmbedder(), clock=clock) as memory:
        yield memory


def change(mem: Memotherm) -> None:
    memory = mem.remember("an otter swims", tags=["river"])
    mem.update(memory.id, content="the otter swims")
    mem.move(memory.id, "cold")
    mem.undo(mem.history(memory.id)[-1].seq)
    mem.pin(memory.id)
    mem.unpin(memory.id)
    mem.forget(memory.id)
    mem.restore(memory.id)
    mem.purge(memory.id)


def maintain(mem: Memotherm) -> None:
    mem.remember_many([{"content": f"fact {number}", "ttl": 60} for number in range(5)])
    mem.recall("fact", promote=True)
    mem.context("fact")
    mem.compact()
    mem.maintain()
    assert mem.store.maintenance().run_once()
    assert mem.check() == []


def take_notes(mem: Memotherm) -> None:
    Path("notes").mkdir()
    Path("notes/MEMORY.md").write_text("# Facts\n\n- the otter swims\n", "utf-8")
    notes = mem.notes("notes")
    notes.sync()
    notes.search("otter")
    notes.append("the badger digs")


def work_in_a_session(mem: Memotherm) -> None:
    session = mem.session("s1")
    memory = session.add("hello")
    session.spill()
    session.promote(memory.id)
    session.recall("hello")
    session.clear()
    session.end()


@pytest.mark.parametrize("work", [change, maintain, take_notes, pytest.param(work_in_a_session)])
def test_no_verb_reads_the_store_inside_a_transaction(
    mem: Memotherm, work: Callable[[Memotherm], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a read would not see what the transaction has written."""
    monkeypatch.chdir(tmp_path)

    work(mem)


def test_a_read_inside_a_transaction_is_refused(mem: Memotherm) -> None:
    """On the store itself and on the same store as another tenant uses it."""
    store = mem._services.all_tenants
    with pytest.raises(AssertionError, match="seq of the store was used inside a transaction"):
        store.transact(lambda _: store.seq())
    with pytest.raises(AssertionError, match="use the transaction"):
        store.transact(lambda _: store.for_tenant("a").seq())

    assert store.seq() == 0
