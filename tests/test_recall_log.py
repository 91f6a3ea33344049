"""The recall log and the uses of memories are written a moment after the call, and nobody in the process notices."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from memotherm import Memotherm
from memotherm.errors import StoreClosed
from tests.helpers import contents, opened, python, together
from tests.stores import located

_FERRY = "The ferry leaves at noon"

_ENDS_WITHOUT_CLOSE = """
import os, sys
import memotherm
from memotherm.testing import HashEmbedder

mem = memotherm.open(sys.argv[1], embedder=HashEmbedder())
mem.remember("The ferry leaves at noon")
mem.recall("ferry")
if os.fork() == 0:
    sys.exit()  # everything is finalized, as in the parent
assert os.wait()[1] == 0
mem.context("ferry")
"""


def test_a_recall_counts_the_uses_of_those_before(mem: Memotherm) -> None:
    """The hits of a recall show every earlier use, whether it is written or not, and so does a listing."""
    mem.remember(_FERRY)
    for number in range(3):
        (hit,) = mem.recall("ferry")
        shown = hit.memory
        assert (shown.access_count, shown.use_weight, shown.recent_uses) == (number, number, number)
        assert (shown.accessed_at is None) == (number == 0)
    assert mem.context("ferry").included[0].id == shown.id
    (hit,) = mem.recall("ferry", track=False)
    assert hit.memory == mem.find()[0]
    assert hit.memory.access_count == 3
    assert mem.metrics().recall_count == 4


def test_a_thread_sees_each_of_its_uses_once(mem: Memotherm) -> None:
    """While threads recall the same memory and others list it, no count is missing and none is doubled."""
    memory = mem.remember(_FERRY)

    def recall() -> list[int]:
        return [mem.recall("ferry")[0].memory.access_count for _ in range(15)]

    def find() -> list[int]:
        return [mem.find()[0].access_count for _ in range(15)]

    *recalled, listed = together(recall, recall, recall, find)

    for counts in recalled:
        assert counts == sorted(set(counts)), "a use that the thread had counted was missing"
    assert listed == sorted(listed)
    assert max(map(max, recalled)) < 45, "a use was counted twice"
    assert mem.get(memory.id).access_count == 45


def test_nothing_is_missing_or_doubled_after_an_exit_without_close_and_a_fork(tmp_path: Path) -> None:
    """What waits is written when the interpreter ends, and a fork does not write what its parent does."""
    path = tmp_path / "memory.db"
    done = python(_ENDS_WITHOUT_CLOSE, located(path))
    assert (done.returncode, done.stderr) == (0, "")

    with opened(path) as mem:
        assert [memory.access_count for memory in mem.find()] == [1]
        assert [recall.query for recall in mem.inspect.recalls()] == ["ferry", "ferry"]
        assert mem.check() == []


def test_a_log_that_waits_is_written_without_another_call(open_mem: Callable[..., Memotherm], tmp_path: Path) -> None:
    """A process that recalls and does nothing more lets others see the use soon."""
    mem, other = (open_mem(tmp_path / "memory.db") for _ in range(2))
    mem.remember(_FERRY)
    mem.recall("ferry")

    deadline = time.monotonic() + 60
    while not other.inspect.recalls() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert [memory.access_count for memory in other.find()] == [1]


def test_another_process_can_give_feedback_at_once(open_mem: Callable[..., Memotherm], tmp_path: Path) -> None:
    """It waits for the recall that its caller names and that is not in the log yet."""
    mem, other = (open_mem(tmp_path / "memory.db") for _ in range(2))
    memory = mem.remember(_FERRY)
    recall = mem.recall("ferry")

    assert other.feedback(recall.recall_id, used=[memory.id]).confirmed == (memory.id,)


def test_a_log_that_waits_says_nothing_about_a_memory_purged_meanwhile(
    open_mem: Callable[..., Memotherm], tmp_path: Path
) -> None:
    """Another process purges what a recall has just returned: neither the log nor a receipt has the query."""
    mem, other = (open_mem(tmp_path / "memory.db") for _ in range(2))
    memory = mem.remember(_FERRY)
    mem.recall("ferry")
    mem.context("when does the ferry leave")
    other.purge(memory.id)

    assert mem.inspect.recalls() == []
    assert [(receipt.query, receipt.included) for receipt in mem.receipts.list()] == [(None, ())]


def test_erasing_leaves_no_query_that_waits(mem: Memotherm) -> None:
    """A recall that found nothing is erased with its scope, although it was not written yet."""
    mine = mem.scoped(user="ana")
    mine.remember(_FERRY)
    mine.recall("nothing that anybody has said")
    mine.erase()
    assert mem.inspect.recalls() == []


@pytest.mark.sqlite
def test_uses_wait_while_another_writer_holds_the_store(open_mem: Callable[..., Memotherm], tmp_path: Path) -> None:
    """Recalls go on, count what waits, and lose nothing when the other writer is done."""
    mem, other = (open_mem(tmp_path / "memory.db") for _ in range(2))
    memory = mem.remember(_FERRY)
    with other._services.store._exclusive():
        assert [mem.recall("ferry")[0].memory.access_count for _ in range(3)] == [0, 1, 2]
        assert contents(mem.find()) == [_FERRY]
    assert mem.get(memory.id).access_count == 3
    assert len(mem.inspect.recalls()) == 3


@pytest.mark.sqlite
def test_closing_waits_for_another_writer(
    open_mem: Callable[..., Memotherm], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The uses that wait are counted when the other one is done."""
    other, mem = open_mem(tmp_path / "memory.db"), opened(tmp_path / "memory.db")
    memory = other.remember(_FERRY)
    with other._services.store._exclusive():
        mem.recall("ferry")
        closing = threading.Thread(target=mem.close)
        closing.start()
        closing.join(0.2)
        assert closing.is_alive()
    closing.join()

    assert other.get(memory.id).access_count == 1
    assert not caplog.records


def test_a_recall_whose_store_is_closed_before_its_end_fails(
    mem: Memotherm, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It cannot be logged, and says so as every other call does."""

    def close(_query: str, texts: Sequence[str]) -> list[float]:
        closed.close()
        return [0.0] * len(texts)

    closed = opened(tmp_path / "memory.db", reranker=close)
    mem.remember_many([{"content": _FERRY}, {"content": "The ferry returns at six"}])
    with pytest.raises(StoreClosed, match="open it again"):
        closed.recall("ferry")
    assert not mem.inspect.recalls()
    assert not caplog.records
