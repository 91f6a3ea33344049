"""Hits are read in the snapshot in which they were ranked, whatever others write meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from memotherm import Memotherm
from memotherm.settings import Settings
from memotherm.storage.open import open_store
from memotherm.storage.store import Store
from memotherm.testing import HashEmbedder
from tests.helpers import contents, opened
from tests.stores import located

_PATIENCE = 60


class Pause:
    """Where the first call of a method of a store stops until it may go on."""

    def __init__(self, method: str) -> None:
        self.method = method
        self.reached, self.go_on = threading.Event(), threading.Event()

    def __call__(self) -> None:
        if not self.reached.is_set():
            self.reached.set()
            assert self.go_on.wait(_PATIENCE)


class PausedStore:
    """A store that pauses before one of its methods."""

    def __init__(self, store: Store, pause: Pause) -> None:
        self._store = store
        self._pause = pause

    def __getattr__(self, name: str) -> Any:
        if name == self._pause.method:
            self._pause()
        return getattr(self._store, name)

    def for_tenant(self, tenant: str | None) -> PausedStore:
        return PausedStore(self._store.for_tenant(tenant), self._pause)


class Pair:
    """Two memories on one store: the first `reader` that gets to a method stops before it, `writer` does not."""

    def __init__(self, path: Path, method: str = "records") -> None:
        self.pause = Pause(method)
        # A purge on SQLite waits this long for readers.
        settings = Settings(busy_timeout_ms=100)
        store: Any = PausedStore(open_store(str(located(path)), settings), self.pause)
        self.reader = Memotherm(store, HashEmbedder(), settings=settings)
        self.writer = opened(path, settings={"busy_timeout_ms": 100})
        self.pool = ThreadPoolExecutor(1)

    def interrupted(self, read: Callable[[], Any], write: Callable[[], Any]) -> Any:
        """Return what `read` returns if `write` happens while it pauses."""
        answer: Future[Any] = self.pool.submit(read)
        assert self.pause.reached.wait(_PATIENCE)
        try:
            write()
        finally:
            self.pause.go_on.set()
        return answer.result(_PATIENCE)

    def close(self) -> None:
        self.pool.shutdown()
        self.reader.close()
        self.writer.close()


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    """Two memories on one store."""
    found = Pair(tmp_path / "a.db")
    yield found
    found.close()


def test_a_purge_between_ranking_and_reading_leaves_no_empty_hit(pair: Pair) -> None:
    """The recall answers from before the purge; the next one from after it."""
    memory = pair.writer.remember("the otter swims")
    pair.writer.remember("the heron wades and swims")

    during = pair.interrupted(lambda: pair.reader.recall("otter swims"), lambda: pair.writer.purge(memory.id))
    after = pair.reader.recall("otter swims")

    assert contents(during) == ["the otter swims", "the heron wades and swims"]
    assert {str(hit.memory.retention) for hit in during} == {"active"}
    assert contents(after) == ["the heron wades and swims"]


@pytest.mark.parametrize("verb", ["forget", "archive"])
def test_what_is_hidden_between_ranking_and_reading_is_returned_as_it_was_ranked(pair: Pair, verb: str) -> None:
    """No hit is deleted or archived."""
    memory = pair.writer.remember("the otter swims")

    during = pair.interrupted(lambda: pair.reader.recall("otter"), lambda: getattr(pair.writer, verb)(memory.id))

    assert [str(hit.memory.retention) for hit in during] == ["active"]


def test_a_change_and_its_undo_between_ranking_and_reading_are_not_seen(pair: Pair) -> None:
    """The content of a hit is the one that was ranked."""
    memory = pair.writer.remember("the otter swims")

    def change() -> None:
        changed = pair.writer.update(memory.id, content="the badger digs")
        pair.writer.undo(changed.version)
        pair.writer.update(memory.id, content="the crane flies")

    assert contents(pair.interrupted(lambda: pair.reader.recall("otter"), change)) == ["the otter swims"]


def test_a_purge_while_a_context_is_assembled_leaves_no_empty_entry(pair: Pair) -> None:
    """What a context quotes was there when it was ranked."""
    memory = pair.writer.remember("the otter swims")

    context = pair.interrupted(lambda: pair.reader.context("otter swims"), lambda: pair.writer.purge(memory.id))

    assert [entry.memory.content for entry in context.included] == ["the otter swims"]


def test_a_purge_while_notes_are_searched_leaves_no_empty_result(pair: Pair, tmp_path: Path) -> None:
    """A result has its lines and its path although the note is removed meanwhile."""
    folder = tmp_path / "notes"
    (folder / "memory").mkdir(parents=True)
    (folder / "memory" / "otters.md").write_text("The otter swims.\n", encoding="utf-8")
    pair.writer.notes(folder).sync()

    results = pair.interrupted(
        lambda: pair.reader.notes(folder).search("otter swims", min_score=0),
        lambda: pair.writer.notes(folder).clear(),
    )

    assert [(hit.path, hit.snippet.strip()) for hit in results] == [("memory/otters.md", "The otter swims.")]


@pytest.mark.parametrize(("method", "times"), [("search_vector", 1), ("similarities", 1), ("similarities", 70)])
def test_what_another_thread_has_searched_meanwhile_does_not_change_the_snapshot(
    tmp_path: Path, method: str, times: int
) -> None:
    """The other thread lets the vectors in memory follow the ledger; this one still sees what it saw at first."""
    pair = Pair(tmp_path / "a.db", method)
    mem = pair.reader
    # Found by its rare word only: a hundred others are nearer.
    far = mem.remember("zebra " + " ".join(f"word{number}" for number in range(60)))
    near = mem.remember_many([{"content": f"otter {number}"} for number in range(120)])

    def change() -> None:
        mem.forget(far.id)
        mem.update(near[-1].id, content="the badger digs")
        for number in range(times):
            mem.remember(f"otter zebra {number}")
            assert f"otter zebra {number}" in contents(mem.recall(f"otter zebra {number}", track=False))

    before = pair.writer.recall("otter zebra", limit=100, track=False)
    during = pair.interrupted(lambda: mem.recall("otter zebra", limit=100, track=False), change)
    after = mem.recall("otter zebra", track=False)

    assert far.id in [hit.memory.id for hit in before]
    assert during.hits == before.hits
    assert after.hits == pair.writer.recall("otter zebra", track=False).hits
    pair.close()
