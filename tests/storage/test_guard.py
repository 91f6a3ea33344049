"""Inside a transaction, only the transaction is read: a store with one connection would wait for itself."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from memotherm import Memotherm, Settings
from memotherm.storage.open import open_store
from memotherm.storage.store import Store, Transaction
from memotherm.testing import FakeClock, HashEmbedder
from tests.stores import located

pytestmark = pytest.mark.parametrize("store_kind", ["sqlite", "postgres"], indirect=True)


def guarded(store: Store) -> Store:
    """Return a store that raises AssertionError when a thread calls a method of it inside a transaction.

    Inside a transaction, the transaction itself must be read: a read of the store takes a second connection,
    which does not see what the transaction has written, and never comes where the pool has only one.
    """
    return cast("Store", _GuardedStore(store, threading.local()))


class _GuardedStore:
    def __init__(self, store: Store, state: threading.local) -> None:
        self._store = store
        self._state = state

    def __getattr__(self, name: str) -> Any:
        self._require_outside(name)
        return getattr(self._store, name)

    def transact(self, change: Callable[[Transaction], Any], **arguments: Any) -> Any:
        self._require_outside("transact")

        def guarded_change(transaction: Transaction) -> Any:
            with self._inside():
                return change(transaction)

        return self._store.transact(guarded_change, **arguments)

    def for_tenant(self, tenant: str | None) -> Store:
        return self._guarded(self._store.for_tenant(tenant))

    def parts(self, *arguments: Any) -> Sequence[Store]:
        return [self._guarded(part) for part in self._store.parts(*arguments)]

    def claims(self, *arguments: Any) -> Generator[_GuardedClaim, None, None]:
        for claim in self._store.claims(*arguments):
            yield _GuardedClaim(claim, self._guarded(claim.store))

    def _guarded(self, store: Store) -> Store:
        return cast("Store", _GuardedStore(store, self._state))

    @contextmanager
    def _inside(self) -> Iterator[None]:
        self._state.inside = True
        try:
            yield
        finally:
            self._state.inside = False

    def _require_outside(self, name: str) -> None:
        if getattr(self._state, "inside", False):
            raise AssertionError(f"{name} of the store was used inside a transaction: use the transaction")


class _GuardedClaim:
    def __init__(self, claim: Any, store: Store) -> None:
        self.store = store
        self.renew = claim.renew


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
