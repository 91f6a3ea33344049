"""Transactions of several threads that are committed together."""

from __future__ import annotations

import itertools
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import memotherm
from memotherm import Memotherm
from memotherm.errors import NotFound
from memotherm.model.process import OwnProcess
from memotherm.storage.sqlite.commits import GroupCommit

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
def writer(tmp_path: Path) -> sqlite3.Connection:
    """A connection with a table and a text index."""
    connection = sqlite3.connect(tmp_path / "a.db", isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE numbers (number UNIQUE)")
    connection.execute("CREATE VIRTUAL TABLE text_live USING fts5 (words)")
    return connection


class Shared:
    """A transaction that another thread waits for, which then continues it."""

    def __init__(self, writer: sqlite3.Connection, tmp_path: Path) -> None:
        #: Whether what was written may be committed.
        self.usable = True
        self.commits = GroupCommit(threading.RLock(), OwnProcess(str(tmp_path)), self._require_usable)
        self.writer = writer
        self.errors: list[BaseException] = []

    def _require_usable(self) -> None:
        if not self.usable:
            raise sqlite3.OperationalError("the file was moved")

    def write(self, number: int, then: Callable[[], object]) -> None:
        """Insert a number, let it wait for the text index, and then make a call inside the transaction."""
        try:
            with self.commits.member(lambda: self.writer) as connection:
                connection.execute("INSERT INTO numbers VALUES (?)", (number,))
                self.index(number)
                then()
        except sqlite3.Error as exc:
            self.errors.append(exc)

    def index(self, number: int) -> None:
        """Let a number wait for the text index."""
        assert self.commits.text_changes is not None
        self.commits.text_changes.append(("text_live_add", {"rowid": number, "words": "number"}))

    def indexed(self) -> list[int]:
        """Return the numbers that the text index has."""
        found = self.writer.execute("SELECT rowid FROM text_live WHERE text_live MATCH 'number' ORDER BY rowid")
        return [number for (number,) in found]

    def run(self, second: str | Callable[[], object]) -> list[int]:
        """Insert 1 while another thread waits, which then inserts 2 and runs a statement; return what is committed."""
        call = second if callable(second) else lambda: self.writer.execute(second)
        waiting = threading.Thread(target=self.write, args=(2, call))

        def begin_second() -> None:
            waiting.start()
            while not self.commits._queued:
                waiting.join(0.001)

        self.write(1, begin_second)
        waiting.join()
        return [number for (number,) in self.writer.execute("SELECT number FROM numbers ORDER BY number")]


def test_the_last_of_those_that_wait_commits_for_all(writer: sqlite3.Connection, tmp_path: Path) -> None:
    """What the first wrote is committed with what the second wrote."""
    shared = Shared(writer, tmp_path)

    assert shared.run("SELECT 1") == shared.indexed() == [1, 2]
    assert not writer.in_transaction


def test_a_failure_of_the_last_commits_the_others(writer: sqlite3.Connection, tmp_path: Path) -> None:
    """Only the changes of the thread that fails are taken back."""
    shared = Shared(writer, tmp_path)

    assert shared.run("INSERT INTO numbers VALUES (1)") == shared.indexed() == [1]
    assert [type(error) for error in shared.errors] == [sqlite3.IntegrityError]
    assert not writer.in_transaction


def test_an_error_that_rolls_back_everything_is_reported_to_all(writer: sqlite3.Connection, tmp_path: Path) -> None:
    """Nobody is told that something is stored which is not."""
    shared = Shared(writer, tmp_path)

    assert shared.run("INSERT OR ROLLBACK INTO numbers VALUES (1)") == shared.indexed() == []
    assert [type(error) for error in shared.errors] == [sqlite3.IntegrityError, sqlite3.IntegrityError]


def test_an_error_of_the_text_index_is_reported_to_all(writer: sqlite3.Connection, tmp_path: Path) -> None:
    """Nothing is committed whose words are not."""
    shared = Shared(writer, tmp_path)

    assert shared.run(lambda: shared.index(1)) == shared.indexed() == []
    assert [type(error) for error in shared.errors] == [sqlite3.IntegrityError, sqlite3.IntegrityError]
    assert not writer.in_transaction


def test_nothing_is_committed_to_a_file_that_was_moved_meanwhile(writer: sqlite3.Connection, tmp_path: Path) -> None:
    """The first transaction was checked before that, and its thread gets the error as well."""
    shared = Shared(writer, tmp_path)

    assert shared.run(lambda: setattr(shared, "usable", False)) == []
    assert [str(error) for error in shared.errors] == ["the file was moved"] * 2
    assert not writer.in_transaction
