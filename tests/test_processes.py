"""Several processes, threads and tasks share one store, and each sees what the others wrote at once."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import memotherm
import memotherm.errors
from memotherm import AsyncMemotherm, Memotherm
from memotherm.testing import HashEmbedder
from tests.helpers import Peer, contents, opened, peers, together


def answer(peer: Peer) -> Any:
    found = json.loads(peer.line())
    assert not (isinstance(found, dict) and "error" in found), found
    return found


def tell(peer: Peer, *words: object) -> None:
    peer.send("\t".join(map(str, words)))


def ask(peer: Peer, *words: object) -> Any:
    tell(peer, *words)
    return answer(peer)


@contextmanager
def company(count: int, path: Path, **options: object) -> Iterator[list[Peer]]:
    """Start processes that all have the store open."""
    with peers(count, "peer.py") as all_of_them:
        for peer in all_of_them:
            assert answer(peer) == "ready"
        for peer in all_of_them:
            tell(peer, "open", path, json.dumps(options))
        for peer in all_of_them:
            assert answer(peer) == "opened"
        yield all_of_them


@pytest.mark.skipif(os.name == "nt", reason="the C library of Windows has its own variables")
@pytest.mark.parametrize(("given", "used"), [(None, b"1"), ("3", b"3")])
def test_numpy_has_one_thread_unless_the_user_says_otherwise(given: str | None, used: bytes) -> None:
    """The variable is read by a library that is written in C."""
    code = (
        "import ctypes, runpy, sys; sys.argv = ['memotherm', '--version']\n"
        "try: runpy.run_module('memotherm', run_name='__main__')\n"
        "except SystemExit: pass\n"
        "found = ctypes.CDLL(None).getenv; found.restype = ctypes.c_char_p\n"
        "print(found(b'OPENBLAS_NUM_THREADS'))"
    )
    kept = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    told = {} if given is None else {"OPENBLAS_NUM_THREADS": given}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**kept, **told}, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == repr(used)


@pytest.mark.slow
def test_a_write_is_seen_by_every_other_process_at_once(tmp_path: Path) -> None:
    """After two writers acknowledged, two readers get, recall, miss and find again what was written."""
    with company(4, tmp_path / "agent.db") as (ann, bob, carl, dora):
        for number in range(10):
            tell(ann, "remember", f"Ann keeps parcel {number} in the cellar")
            tell(bob, "remember", f"Bob keeps letter {number} in the attic")
            first, second = answer(ann), answer(bob)

            for reader in (carl, dora):
                assert ask(reader, "get", first) == f"Ann keeps parcel {number} in the cellar"
                assert first in ask(reader, "recall", f"parcel {number} cellar")
                assert second in ask(reader, "recall", f"letter {number} attic")

            ask(ann, "move", second, "cold")
            ask(bob, "forget", first)

            for reader in (carl, dora):
                assert second not in ask(reader, "recall", f"letter {number} attic")
                assert second in ask(reader, "recall", f"letter {number} attic", "cold")
                assert first not in ask(reader, "recall", f"parcel {number} cellar", "hot+warm+cold")

    with opened(tmp_path / "agent.db") as mem:
        assert mem.check() == []


def test_what_is_written_to_a_store_that_was_opened_twice_is_seen_elsewhere(tmp_path: Path) -> None:
    """Opening it a second time does not release the locks that keep other processes from deleting its log."""
    path = tmp_path / "agent.db"
    with opened(path) as mem:
        with company(1, path) as (peer,):
            with opened(path) as again:
                assert again.check() == []
            ask(peer, "remember", "Ann keeps the parcel in the cellar")
            assert ask(peer, "close") == "closed"
        written = mem.remember("Bob keeps the letter in the attic")
        with company(1, path) as (peer,):
            assert ask(peer, "get", written.id) == "Bob keeps the letter in the attic"


@pytest.mark.slow
def test_two_writers_and_two_readers_never_meet_a_lock(tmp_path: Path) -> None:
    """Writers and readers that work at the same time all succeed, and nothing is lost."""
    path = tmp_path / "agent.db"
    with company(4, path) as (ann, bob, carl, dora):
        tell(ann, "write_many", "Ann", 60)
        tell(bob, "write_many", "Bob", 60)
        tell(carl, "read_many", 60)
        tell(dora, "read_many", 60)
        written = [*answer(ann), *answer(bob)]
        for reader in (carl, dora):
            answer(reader)
        for memory_id in written:
            ask(carl, "get", memory_id)

    with opened(path) as mem:
        assert {memory.id for memory in mem.find(limit=1000)} == set(written)
        assert mem.check() == []


def test_processes_that_remember_the_same_key_at_once_write_one_memory(tmp_path: Path) -> None:
    """The memory has an event for every call, and the content of the last one."""
    path = tmp_path / "agent.db"
    with company(2, path) as (ann, bob):
        tell(ann, "write_key", "Ann", 20)
        tell(bob, "write_key", "Bob", 20)
        written = {*answer(ann), *answer(bob)}

    with opened(path) as mem:
        (memory_id,) = written
        history = mem.history(memory_id)
        assert [event.action for event in history] == ["remember"] + ["update"] * 39
        assert history[-1].changes["content"][1] == mem.get(key="shared").content
        assert mem.check() == []


@pytest.mark.slow
def test_several_processes_may_create_the_same_file(tmp_path: Path) -> None:
    """Whoever opens a brand-new file at the same time gets the same good store."""
    with peers(4, "peer.py") as all_of_them:
        for peer in all_of_them:
            assert answer(peer) == "ready"
        for attempt in range(8):
            path = tmp_path / f"{attempt}.db"
            for peer in all_of_them:
                tell(peer, "open", path)
            for peer in all_of_them:
                assert answer(peer) == "opened"
            for number, peer in enumerate(all_of_them):
                tell(peer, "remember", f"process {number} was here")
            ids = [answer(peer) for peer in all_of_them]
            for peer in all_of_them:
                assert set(ask(peer, "recall", "which process was here")) == set(ids)
                ask(peer, "close")

            with opened(path) as mem:
                assert len(mem.find()) == len(all_of_them)
                assert mem.check() == []


def test_a_long_transaction_elsewhere_does_not_hold_up_a_recall(tmp_path: Path) -> None:
    """Reading goes on while another process writes, and uses are counted once it is done."""
    path = tmp_path / "agent.db"
    with company(1, path) as (writer,), opened(path) as mem:
        mem.remember("The ferry leaves at noon")
        ask(writer, "hold")

        assert contents(mem.recall("when does the ferry leave")) == ["The ferry leaves at noon"]
        assert contents(mem.find()) == ["The ferry leaves at noon"]
        assert mem.status().tiers[memotherm.Tier.WARM].memories == 1

        ask(writer, "release")
        mem.recall("ferry")
        assert [each.access_count for each in mem.find()] == [2]


def test_a_writer_waits_for_another_one(tmp_path: Path) -> None:
    """A write that comes in the middle of another process's transaction succeeds after it."""
    with company(2, tmp_path / "agent.db") as (ann, bob):
        ask(ann, "hold")
        tell(bob, "remember", "Bob is patient")
        ask(ann, "release")

        memory_id = answer(bob)
        assert ask(ann, "get", memory_id) == "Bob is patient"


def test_a_writer_that_waited_too_long_is_told_so_in_our_words(tmp_path: Path) -> None:
    """A lock that lasts longer than the setting is StoreBusy, and the store is as it was."""
    path = tmp_path / "agent.db"
    with company(1, path) as (writer,), opened(path, settings={"busy_timeout_ms": 50}) as mem:
        ask(writer, "hold")

        with pytest.raises(memotherm.errors.StoreBusy, match="busy_timeout_ms"):
            mem.remember("too early")

        ask(writer, "release")
        assert mem.remember("now it works").content == "now it works"
        assert contents(mem.find()) == ["now it works"]
        assert mem.check() == []


def test_a_purge_elsewhere_leaves_no_vector_in_this_process(tmp_path: Path) -> None:
    """What another process purged is not found here either, though its vector was in memory."""
    path = tmp_path / "agent.db"
    with company(1, path) as (other,), opened(path) as mem:
        memory = mem.remember("The secret word is heliotrope")
        assert contents(mem.recall("heliotrope")) == ["The secret word is heliotrope"]

        ask(other, "purge", memory.id)

        assert contents(mem.recall("heliotrope")) == []


def test_threads_share_one_facade(tmp_path: Path) -> None:
    """Six threads write, change and recall through the same object without losing anything."""
    with opened(tmp_path / "agent.db") as mem:

        def work(name: str) -> list[str]:
            ids = []
            for number in range(20):
                ids.append(mem.remember(f"{name} saw bird {number}").id)
                mem.recall(f"what did {name} see")
                mem.move(ids[number // 2], ("hot", "warm", "cold")[number % 3])
            return ids

        written = together(*(lambda name=name: work(name) for name in ("Ann", "Bob", "Carl", "Dora", "Emil", "Fay")))

        assert {memory.id for memory in mem.find(limit=1000)} == {memory_id for ids in written for memory_id in ids}
        assert mem.check() == []


def test_threads_share_a_store_in_memory() -> None:
    """A store without a file serves several threads as well."""
    with opened() as mem:

        def work(name: str) -> int:
            for number in range(20):
                mem.remember(f"{name} saw bird {number}")
                mem.recall(f"what did {name} see")
            return len(mem.find(limit=1000))

        together(*(lambda name=name: work(name) for name in ("Ann", "Bob", "Carl", "Dora")))

        assert len(mem.find(limit=1000)) == 80
        assert mem.check() == []


def test_a_thread_recalls_while_another_one_writes(tmp_path: Path) -> None:
    """A long transaction of one thread does not hold up a recall of another."""
    with opened(tmp_path / "agent.db") as mem, ThreadPoolExecutor(1) as pool:
        mem.remember("The ferry leaves at noon")
        with mem._services.store._exclusive():
            recalled = pool.submit(mem.recall, "when does the ferry leave").result(timeout=60)

            assert contents(recalled) == ["The ferry leaves at noon"]


def test_every_use_is_counted_whoever_recalls(tmp_path: Path) -> None:
    """Recalls of several threads are all logged: none overwrites or drops another's count."""
    with opened(tmp_path / "agent.db") as mem:
        memory = mem.remember("The ferry leaves at noon")

        def ask_often() -> None:
            for _ in range(25):
                mem.recall("when does the ferry leave")

        together(*[ask_often] * 4)
        mem.recall("ferry", track=False)

        assert mem.get(memory.id).access_count == 100


def test_the_async_face_serves_many_tasks_at_once(tmp_path: Path) -> None:
    """Tasks of one event loop write and recall concurrently, and all see all."""

    async def work(mem: AsyncMemotherm, name: str) -> str:
        memory = await mem.remember(f"{name} saw a heron")
        assert memory.content in contents(await mem.recall(f"what did {name} see", limit=50))
        return memory.id

    async def main() -> None:
        async with memotherm.aopen(tmp_path / "agent.db", embedder=HashEmbedder()) as mem:
            ids = await asyncio.gather(*(work(mem, f"person {number}") for number in range(30)))

            assert {memory.id for memory in await mem.find(limit=100)} == set(ids)
            assert await mem.check() == []

    asyncio.run(main())


def test_several_async_memories_share_one_file(tmp_path: Path) -> None:
    """Two openings of the same file in one loop see each other's writes at once."""

    async def main() -> None:
        path = tmp_path / "agent.db"
        first, second = await asyncio.gather(*(memotherm.aopen(path, embedder=HashEmbedder()) for _ in range(2)))
        for number in range(10):
            memory = await first.remember(f"note {number} of the first")
            assert (await second.get(memory.id)).content == memory.content
        await first.close()
        await second.close()

    asyncio.run(main())


def test_closing_an_async_view_closes_nothing() -> None:
    """A narrower view of an async memory may be closed; the memory goes on."""

    async def main() -> None:
        async with memotherm.aopen(":memory:", embedder=HashEmbedder()) as mem:
            async with mem.scoped(user="u1") as view:
                await view.remember("u1 likes tea")
            assert contents(await mem.scoped(user="u1").find()) == ["u1 likes tea"]

    asyncio.run(main())


def test_an_async_memory_is_closed_like_any_other() -> None:
    """Closing twice is harmless, and a verb after it says that the store is closed."""

    async def main() -> None:
        mem = await memotherm.aopen(":memory:", embedder=HashEmbedder())
        await mem.close()
        await mem.close()
        with pytest.raises(memotherm.errors.StoreClosed, match="open it again"):
            await mem.remember("too late")

    asyncio.run(main())


def test_a_checkpoint_is_consistent_while_a_writer_works(tmp_path: Path) -> None:
    """Copies taken in the middle of another thread's writes are whole stores."""
    with opened(tmp_path / "agent.db") as mem:
        done = threading.Event()

        def write(mem: Memotherm) -> None:
            for number in range(60):
                mem.remember_many([{"content": f"half {half} of pair {number}"} for half in (1, 2)])
            done.set()

        def copy() -> list[Path]:
            copies: list[Path] = []
            while not done.is_set() or not copies:
                copies.append(mem.checkpoint(tmp_path / f"copy-{len(copies)}.db"))
            return copies

        _, copies = together(lambda: write(mem), copy)

    for path in copies:
        with opened(path) as copied:
            assert len(copied.find(limit=1000)) % 2 == 0
            assert copied.check() == []
