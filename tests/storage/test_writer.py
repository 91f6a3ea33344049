"""The thread that writes: jobs of several threads in one transaction, and the entries of the recall log."""

from __future__ import annotations

import itertools
import logging
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import pytest

import memotherm
from memotherm import Memotherm, Scope
from memotherm.errors import MemothermError, NotFound, StoreBusy, StoreClosed, StoreError, StoreFull, StoreUnavailable
from memotherm.storage import writer
from memotherm.storage.sqlite.store import SqliteStore
from memotherm.storage.sqlite.transaction import SqliteTransaction

Change = Callable[[SqliteTransaction], object]

THREADS, WRITES = 8, 12


def test_writes_at_once_are_all_there_and_failed_ones_are_not(tmp_path: Path) -> None:
    """A write that fails inside its transaction takes back nothing of the writes that are committed with it."""
    with memotherm.open(tmp_path / "a.db", embedder="none") as mem:

        def write(thread: int) -> list[str]:
            return [content for number in range(WRITES) if (content := _written(mem, thread, number)) is not None]

        with ThreadPoolExecutor(THREADS) as pool:
            acknowledged = sorted(content for contents in pool.map(write, range(THREADS)) for content in contents)
        with memotherm.open(tmp_path / "a.db", embedder="none") as other:
            stored = sorted(memory.content for memory in other.find(limit=1000))
        assert stored == acknowledged
        assert len(acknowledged) == THREADS * (WRITES - WRITES // 4)
        assert mem.check() == []


def _written(mem: Memotherm, thread: int, number: int) -> str | None:
    """Store a memory and return its content; every fourth one replaces a memory that does not exist."""
    content = f"memory {number} of thread {thread}"
    if number % 4 == 3:
        with pytest.raises(NotFound):
            mem.remember(content, supersedes="mem_01j8zq4x0000000000000000")
        return None
    mem.remember(content)
    return content


def test_changes_of_one_memory_by_several_threads_leave_its_last_words(tmp_path: Path) -> None:
    """Its words in the text index follow the order of the changes, also of those that are committed together."""
    with memotherm.open(tmp_path / "a.db", embedder="none") as mem:
        memory = mem.remember("The first words")

        def change(thread: int) -> None:
            for number in range(WRITES // 2):
                mem.update(memory.id, content=f"word{thread}x{number}")
                mem.move(memory.id, "cold" if number % 2 else "hot")

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(change, range(THREADS)))
        last = mem.get(memory.id)
        assert [hit.memory.id for hit in mem.recall(last.content, tiers=("hot", "cold"))] == [memory.id]
        assert mem.check() == []


_WRITER = """
import itertools, os, sys, threading
import memotherm
mem = memotherm.open(sys.argv[1], embedder="none")
def write(thread):
    for number in itertools.count():
        content = f"memory {number} of thread {thread} of process {os.getpid()}"
        mem.remember(content)
        os.write(1, f"{content}\\n".encode())
for thread in range(8):
    threading.Thread(target=write, args=(thread,)).start()
"""


@pytest.mark.slow
def test_a_kill_loses_nothing_that_a_thread_was_told_is_stored(tmp_path: Path) -> None:
    """Each thread returns only after the commit that has its changes."""
    acknowledged: list[str] = []
    for lines in (9, 30):
        command = [sys.executable, "-c", _WRITER, str(tmp_path / "a.db")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            acknowledged += itertools.islice(process.stdout, lines)
            process.kill()
            acknowledged += [line for line in process.stdout if line.endswith("\n")]
    with memotherm.open(tmp_path / "a.db", embedder="none") as mem:
        stored = {f"{memory.content}\n" for memory in mem.find(limit=1000)}
        assert len(acknowledged) >= 39
        assert set(acknowledged) <= stored
        assert mem.check() == []


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """An empty store."""
    with memotherm.open(tmp_path / "a.db", embedder="none") as mem:
        store = mem._services.all_tenants
        assert isinstance(store, SqliteStore)
        yield store


def counting(name: str) -> Change:
    """Return a change that increments a counter and returns the thread that makes it."""

    def change(transaction: SqliteTransaction) -> str:
        transaction.tally(transaction.space(Scope()), name)
        return threading.current_thread().name

    return change


def failing(error: BaseException) -> Change:
    """Return a change that increments a counter and fails."""

    def change(transaction: SqliteTransaction) -> None:
        transaction.tally(transaction.space(Scope()), "failed")
        raise error

    return change


def counted(store: SqliteStore) -> dict[str, int]:
    """Return how often each counter was incremented."""
    return {name: times for name, (times, _) in store.tallies(store.spaces(Scope())).items()}


def waiting(store: SqliteStore) -> int:
    """Return how many jobs wait."""
    return sum(not job.answer._begun.locked() for job in store._writer._jobs)


def _await(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.001)


def _run_nothing(store: SqliteStore) -> None:
    with suppress(MemothermError):
        store.transact(lambda _: None)


def together(store: SqliteStore, changes: Sequence[Change]) -> list[object]:
    """Make changes in threads of their own and in one transaction; return their results or errors."""
    outcomes: list[object] = [None] * len(changes)

    def run(place: int) -> None:
        try:
            outcomes[place] = store.transact(changes[place])
        except BaseException as exc:  # noqa: BLE001 - it is returned
            outcomes[place] = exc

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(changes))]
    with store._writer.held():
        # The writer takes a first job, and waits for its turn with it.
        first = threading.Thread(target=_run_nothing, args=(store,))
        first.start()
        _await(lambda: store._writer._thread is not None and not store._writer._jobs)
        for place, thread in enumerate(threads, 1):
            thread.start()
            _await(lambda: waiting(store) == place)  # noqa: B023 - it is awaited in this turn
    for thread in (first, *threads):
        thread.join()
    return outcomes


def commits(store: SqliteStore) -> list[int]:
    """Return a list that gets an entry with each transaction."""
    begun: list[int] = []
    transaction = store._connections.transaction

    def count(*arguments: object, **options: object) -> object:
        begun.append(1)
        return transaction(*arguments, **options)

    store._connections.transaction = count  # type: ignore[assignment,method-assign]
    return begun


def test_jobs_that_wait_share_a_transaction_of_the_writer_thread(store: SqliteStore) -> None:
    """Each thread gets the result of its own, and none runs in the thread of another caller."""
    begun = commits(store)
    outcomes = together(store, [counting("a"), counting("b"), lambda _: "the third"])

    assert outcomes == ["memotherm-writer", "memotherm-writer", "the third"]
    assert counted(store) == {"a": 1, "b": 1}
    assert len(begun) == 2


@pytest.mark.parametrize("error", [NotFound("no such memory"), StoreError("a constraint failed"), KeyboardInterrupt()])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_job_that_fails_takes_back_only_itself(store: SqliteStore, place: int, error: MemothermError) -> None:
    """The others are made once, and only its own thread gets the error."""
    changes = [counting("a"), counting("b")]
    changes.insert(place, failing(error))

    outcomes = together(store, changes)

    assert [outcome is error for outcome in outcomes] == [place == each for each in range(3)]
    assert counted(store) == {"a": 1, "b": 1}


def test_an_error_that_rolls_back_everything_is_reported_to_all(store: SqliteStore) -> None:
    """Nobody is told that something is stored which is not."""

    def roll_back(transaction: SqliteTransaction) -> None:
        transaction._sql.connection.execute("INSERT OR ROLLBACK INTO meta (key, value) VALUES ('store', 'x')")

    outcomes = together(store, [counting("a"), roll_back, counting("b")])

    assert [type(outcome) for outcome in outcomes] == [StoreError] * 3
    assert counted(store) == {}


def test_a_commit_that_fails_is_reported_to_all(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file was moved while the jobs ran."""

    def refuse() -> None:
        raise StoreUnavailable("the file was moved")

    monkeypatch.setattr(store._connections, "_require_in_place", refuse)
    outcomes = together(store, [counting("a"), counting("b")])
    monkeypatch.undo()

    assert [str(outcome) for outcome in outcomes] == ["the file was moved"] * 2
    assert counted(store) == {}


def test_an_error_after_the_commit_is_none_of_the_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What is committed is reported as stored, even if the erasure that follows a purge fails."""
    with memotherm.open(tmp_path / "a.db", embedder="none") as mem:
        first, second = mem.remember("An otter swims"), mem.remember("A badger digs")
        store = mem._services.all_tenants

        def fail(_: int) -> bool:
            raise StoreUnavailable("the disk is gone")

        monkeypatch.setattr(store._connections, "truncate_log", fail)  # type: ignore[attr-defined]
        with caplog.at_level(logging.WARNING):
            mem.purge(first.id)
        monkeypatch.undo()
        assert "the disk is gone" in caplog.text
        assert [memory.id for memory in mem.find()] == [second.id]


def test_a_full_disk_is_reported_once_until_it_can_be_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Not once for every recall; a second time that it is full is reported again."""
    with memotherm.open(tmp_path / "a.db", embedder="none") as mem:
        mem.remember("An otter swims")

        def full(*_: object) -> None:
            raise StoreFull("the disk is full")

        for times in (1, 2):
            with monkeypatch.context() as patched:
                patched.setattr(mem._services.all_tenants._writer, "_execute", full)
                for _ in range(5):
                    mem.recall("otter")
                    mem.inspect.recalls()  # waits for the attempt
            assert caplog.text.count("the disk is full") == times
            mem.recall("otter")
            assert mem.inspect.recalls()


def test_very_many_jobs_are_cut_into_transactions(store: SqliteStore) -> None:
    """The first of them does not wait for all."""
    begun = commits(store)
    together(store, [counting("a")] * 40)

    assert counted(store) == {"a": 40}
    assert len(begun) == 3


def test_a_unit_of_work_that_fails_takes_back_nothing_of_others(store: SqliteStore) -> None:
    """A job that waits for it is made afterwards."""
    other = threading.Thread(target=store.transact, args=(counting("other"),))

    with suppress(NotFound), store.unit_of_work():
        store.transact(counting("own"))
        other.start()
        _await(lambda: store._writer._thread is not None)
        raise NotFound("no response")
    other.join()

    assert counted(store) == {"other": 1}


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals to threads")
def test_a_caller_that_is_interrupted_leaves_the_queue(store: SqliteStore) -> None:
    """Its job is not made, and those behind it are."""
    main, behind = threading.get_ident(), threading.Thread(target=store.transact, args=(counting("behind"),))

    def first(transaction: SqliteTransaction) -> None:
        counting("first")(transaction)
        _await(lambda: waiting(store) == 1)
        behind.start()
        _await(lambda: waiting(store) == 2)
        signal.pthread_kill(main, signal.SIGUSR1)
        _await(lambda: waiting(store) == 1)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, interrupt)
    leader = threading.Thread(target=store.transact, args=(first,))
    try:
        leader.start()
        _await(lambda: store._writer._thread is not None and not store._writer._jobs)
        with pytest.raises(KeyboardInterrupt):
            store.transact(counting("interrupted"))
    finally:
        signal.signal(signal.SIGUSR1, before)
    for thread in (leader, behind):
        thread.join()

    assert counted(store) == {"first": 1, "behind": 1}


def test_closing_answers_the_jobs_that_wait_and_refuses_others(tmp_path: Path) -> None:
    """What was accepted is stored; a closed store says that it is closed."""
    memotherm.open(tmp_path / "a.db", embedder="none").close()
    mem = memotherm.open(tmp_path / "a.db", embedder="none")
    store = mem._services.all_tenants
    assert isinstance(store, SqliteStore)
    results: list[object] = []
    with store._writer.held():
        threads = [
            threading.Thread(target=lambda: results.append(mem.remember("An otter swims").content)),
            threading.Thread(target=mem.close),
        ]
        threads[0].start()
        _await(lambda: store._writer._thread is not None)
        threads[1].start()
        _await(lambda: store._writer._closed)
        with pytest.raises(StoreClosed):
            mem.remember("A badger digs")
    for thread in threads:
        thread.join()
    assert results == ["An otter swims"]
    with memotherm.open(tmp_path / "a.db", embedder="none") as again:
        assert [memory.content for memory in again.find()] == ["An otter swims"]


# The recall log


@pytest.mark.slow
def test_a_scope_is_erased_while_others_recall(tmp_path: Path) -> None:
    """Entries that are added meanwhile neither stop the erasure nor bring back what it erases."""
    with memotherm.open(tmp_path / "a.db", embedder="none") as mem:
        ann, bob = mem.scoped(user="ann"), mem.scoped(user="bob")
        done = threading.Event()

        def ask() -> None:
            while not done.is_set():
                bob.recall("otter")

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(10):
                ann.remember("An otter swims")
                ann.recall("otter")
                ann.erase()
                spaces = mem._services.all_tenants.spaces_within(Scope(user="ann"))
                assert mem._services.all_tenants.log_entries(spaces, 0, 10) == []
        finally:
            done.set()
            for thread in threads:
                thread.join()
        assert mem.check() == []


def test_entries_that_a_busy_store_cannot_take_are_counted_when_they_are_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest stay, and the recall says how many are lost."""
    monkeypatch.setattr(writer, "_MOST_WAITING", 20)
    path = tmp_path / "a.db"
    with memotherm.open(path, embedder="none") as mem, closing(sqlite3.connect(path)) as other:
        mem.remember("An otter swims")
        other.execute("BEGIN IMMEDIATE")
        for number in range(30):
            mem.recall(f"otter {number}")
        lost = mem.recall("otter")
        other.execute("COMMIT")
        store = mem._services.all_tenants
        assert store.dropped_log_entries == 11
        assert "recall log entries lost while the store was busy: 10" in lost.degraded
        assert mem.metrics().dropped_log_entries == 11


def test_a_read_inside_a_job_does_not_wait_for_the_queue(tmp_path: Path) -> None:
    """The thread that writes cannot wait for itself."""
    with memotherm.open(tmp_path / "a.db", embedder="none") as mem:
        mem.remember("An otter swims")
        mem.recall("otter")
        store = mem._services.all_tenants
        assert store.transact(lambda _: store.seq()) == 1


def test_a_log_that_another_process_blocks_does_not_hold_up_a_read(tmp_path: Path) -> None:
    """Reads try to write the entries, once and without waiting."""
    path = tmp_path / "a.db"
    with memotherm.open(path, embedder="none") as mem, closing(sqlite3.connect(path)) as other:
        memory = mem.remember("An otter swims")
        other.execute("BEGIN IMMEDIATE")
        mem.recall("otter")
        assert mem.find()[0].id == memory.id
        with pytest.raises(StoreBusy):
            memotherm.open(path, embedder="none", settings={"busy_timeout_ms": 50}).remember("A badger digs")
        other.execute("COMMIT")
        assert mem.get(memory.id).access_count == 1


@pytest.mark.slow
def test_entries_are_written_once_although_a_fork_stops_the_writer(tmp_path: Path) -> None:
    """Stopping the writer writes what waits, while other recalls start its thread again."""
    with memotherm.open(tmp_path / "a.db", embedder="none") as mem:
        mem.remember("An otter swims")
        store, done = mem._services.all_tenants, threading.Event()

        def stop() -> None:
            while not done.is_set():
                store._writer.stop()

        threads = [threading.Thread(target=stop) for _ in range(3)]
        for thread in threads:
            thread.start()
        for number in range(100):
            mem.recall(f"otter {number}")
        done.set()
        for thread in threads:
            thread.join()
        assert mem.find()[0].access_count == 100
        assert len(store.log_entries(store.spaces(Scope()), 0, 1000)) == 100
