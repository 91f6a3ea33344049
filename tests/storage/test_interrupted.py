"""Ctrl-C at any moment of a call leaves a store that reads, writes, forks and checks as before."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import psycopg
import pytest

import memotherm
from memotherm import Memotherm, Scope
from memotherm.storage import writer
from memotherm.storage.postgres.connections import mapped
from memotherm.testing import FakeClock, HashEmbedder
from tests.helpers import contents, together

Open = Callable[..., Memotherm]
#: The code that may be interrupted: what keeps state from one call to the next.
_STORAGE = str(Path(writer.__file__).parent)


class _Interrupt:
    """Raises KeyboardInterrupt at the n-th moment of a call at which Python handles signals in the store's code.

    That is when a function begins, and when a function in C has returned.
    """

    def __init__(self, moment: int, code: str) -> None:
        self._left = moment
        self._code = code
        #: Where it was raised; None if the call ended before.
        self.place: str | None = None

    def during(self, call: Callable[[], object]) -> None:
        """Run a call up to the moment."""
        sys.setprofile(self._at)
        try:
            call()
        except KeyboardInterrupt:
            pass
        finally:
            sys.setprofile(None)

    def _at(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if self.place is None and event in ("call", "c_return") and code.co_filename.startswith(self._code):
            self._left -= 1
            if self._left < 0:
                self.place = f"{Path(code.co_filename).name}:{frame.f_lineno} {event} {code.co_name}"
                raise KeyboardInterrupt


def _interrupted_everywhere(
    call: Callable[[], object], holds: Callable[[str], None], step: int, code: str = _STORAGE
) -> int:
    """Interrupt a call at every `step`-th moment in some code, and see what holds after each; return their number."""
    for count in range(10_000):
        interrupt = _Interrupt(count * step, code)
        interrupt.during(call)
        if interrupt.place is None:
            return count
        holds(interrupt.place)
    raise AssertionError("the call never ends")


@pytest.mark.slow
@pytest.mark.parametrize("store_kind", ["sqlite", "postgres"], indirect=True)
def test_an_interrupt_at_any_moment_leaves_the_store_usable(open_mem: Open, tmp_path: Path, store_kind: str) -> None:
    """Reads and writes go on, nothing acknowledged is lost, and what is in memory agrees with the rows."""
    mem = open_mem(tmp_path / "memory.db", settings={"postgres_pool_size": 3, "busy_timeout_ms": 2000})
    stored = [mem.remember(f"otter {number} swims in river {number % 7}").content for number in range(20)]
    first = mem.find(limit=1).memories[0].id

    def work() -> None:
        with mem.store.key_value("tests").unit_of_work():
            mem.scoped(session="s").remember("half of a change")
            mem.scoped(session="s").find()

    def holds(place: str) -> None:
        stored.append(mem.remember(f"badger {len(stored)}: after {place}").content)
        found = contents(mem.recall("badger", limit=3))
        assert any(content.startswith("badger") for content in found), place
        assert mem.check() == [], place

    calls: list[tuple[Callable[[], object], int]] = [
        (lambda: mem.recall("which otter swims in river 3?"), 23),
        (lambda: mem.context("otter", budget=200), 47),
        (lambda: mem.remember("an otter that may not be stored"), 3),
        (lambda: mem.pin(first) and mem.unpin(first), 5),
        (work, 11),
    ]
    for call, step in calls:
        # Most of what a call does with PostgreSQL is done in this thread.
        assert _interrupted_everywhere(call, holds, step if store_kind == "sqlite" else 5 * step) > 3
    listed = {memory.content for memory in mem.find(limit=1000)}
    assert set(stored) <= listed


def test_an_interrupt_that_the_driver_answers_with_an_error_stays_an_interrupt() -> None:
    """It cannot leave a pipeline whose results nobody has read; the server can be reached all the same."""

    def stop() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise psycopg.OperationalError("cannot exit pipeline mode while busy")

    with pytest.raises(KeyboardInterrupt), mapped("postgresql:///otters"):
        stop()


@pytest.mark.parametrize("store_kind", ["sqlite", "postgres"], indirect=True)
def test_an_interrupt_inside_of_a_lock_leaves_it_to_the_other_threads(open_mem: Open, tmp_path: Path) -> None:
    """The thread that writes, and whoever waits for a connection, need the same locks."""
    mem = open_mem(tmp_path / "memory.db", settings={"busy_timeout_ms": 2000})
    first = mem.remember("otter 1 swims in river 3").id

    def holds(place: str) -> None:
        other = threading.Thread(target=lambda: mem.remember(f"badger after {place}"), daemon=True)
        other.start()
        other.join(120)
        assert not other.is_alive(), place

    def reads_and_writes() -> None:
        mem.recall("otter")
        mem.metrics()  # waits until the recall is logged
        mem.pin(mem.get(first).id)

    assert _interrupted_everywhere(reads_and_writes, holds, 1, threading.__file__) > 3
    assert mem.check() == []


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_process_that_is_forked_after_interrupted_reads_opens_the_store(open_mem: Open, tmp_path: Path) -> None:
    """No read that Ctrl-C has ended counts as in use."""
    path = tmp_path / "memory.db"
    mem = open_mem(path)
    for number in range(20):
        mem.remember(f"otter {number} swims in river {number % 7}")

    def holds(place: str) -> None:
        child = os.fork()
        if not child:
            status = 1
            try:
                with memotherm.open(path, embedder="none") as copy:
                    status = int(len(copy.find(limit=100).memories) != 20)
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, place

    assert _interrupted_everywhere(lambda: mem.get(mem.find(limit=1).memories[0].id), holds, 7) > 3
    assert _interrupted_everywhere(lambda: mem.recall("otter"), holds, 61) > 3


@pytest.mark.slow
@pytest.mark.sqlite
def test_a_projection_that_was_interrupted_on_its_way_back_is_read_again(
    open_mem: Open, tmp_path: Path, clock: FakeClock, embedder: HashEmbedder
) -> None:
    """An older snapshot takes steps back; whatever moment stops it, no vector is missing afterwards."""
    mem = open_mem(tmp_path / "memory.db")
    for number in range(20):
        mem.remember(f"otter {number} swims in river {number % 7}")
    store = mem._services.store

    def older_after_newer() -> None:
        with store.snapshot():
            changed = mem.find(limit=1).memories[0]

            def ahead() -> None:
                mem.update(changed.id, content=f"{changed.content} again")
                mem.recall("otter", limit=30)

            # The search of another thread moves the projections ahead of this snapshot.
            together(ahead)
            mem.recall("otter", limit=30)

    def holds(place: str) -> None:
        assert len(store.search_vector(mem._view.seen(), embedder.embed(["otter"])[0], 30)) == 20, place
        assert mem.check() == [], place

    assert _interrupted_everywhere(older_after_newer, holds, 2, f"{_STORAGE}/sqlite/band") > 10


@pytest.mark.sqlite
def test_a_check_compares_what_is_in_memory_with_the_rows(open_mem: Open, tmp_path: Path) -> None:
    """A vector, a field or a scope that is wrong in a cache is a problem."""
    mem = open_mem(tmp_path / "memory.db")
    for number in range(5):
        mem.scoped(user=f"u{number}").remember(f"otter {number} swims")
    mem.scoped(user="u3").recall("otter")
    mem.scoped(user="u3").find()
    store: Any = mem._services.store
    assert mem.check() == []

    (band,) = [band for band in store._bands._loaded.values() if len(band._vectors)]
    band._vectors.discard(4)
    assert [problem.code for problem in mem.check()] == ["vector_cache"]
    store._bands._loaded.clear()
    store._columns._table._numbers[:, 1] += 1
    assert {problem.code for problem in mem.check()} == {"column_cache"}
    store._columns.clear()
    ((space, scope),) = store._shared.scopes.items()
    store._shared.scopes[space] = Scope(user="mallory")
    assert [problem.code for problem in mem.check()] == ["scope_cache"]
    store._shared.scopes[space] = scope
