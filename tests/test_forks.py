"""A store that was opened before a fork: multiprocessing, and servers that fork their workers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memotherm import Retention
from tests.helpers import opened, python
from tests.stores import located

_BEGIN = """
import asyncio, json, multiprocessing, os, sys, threading
import memotherm
from memotherm.errors import MemothermError
from memotherm.testing import HashEmbedder

def opened():
    return memotherm.open(sys.argv[1], embedder=HashEmbedder())

def in_child(work):
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        found = work()
        os.write(write, json.dumps(found).encode())
        sys.exit()  # like a worker that ends: everything is finalized
    os.close(write)
    with os.fdopen(read) as pipe:
        found = json.loads(pipe.read())
    assert os.waitpid(pid, 0)[1] == 0
    return found

def told(call):
    try:
        call()
    except MemothermError as exc:
        return f"{type(exc).__name__}: {exc}"
    return None
"""

_INHERITED = """
mem = opened()
amem = memotherm.AsyncMemotherm(mem)
kept = mem.remember("the parent wrote this before the fork").id
asyncio.run(amem.recall("parent"))
session = mem.session("chat")
scheduler = mem.store.maintenance(60).start()

def use():
    return {
        "remember": told(lambda: mem.remember("from the child")),
        "recall": told(lambda: mem.recall("parent")),
        "get": told(lambda: mem.scoped(user="ana").get(kept)),
        "status": told(mem.status),
        "check": told(mem.check),
        "session": told(lambda: session.add("from the child")),
        "start": told(scheduler.start),
        "run_once": told(scheduler.run_once),
        "async": told(lambda: asyncio.run(amem.recall("parent"))),
        "stop": told(scheduler.stop),
        "aclose": told(lambda: asyncio.run(amem.close())),
        "close": told(mem.close),
    }

answers = in_child(use)
mem.remember("the parent wrote this after the fork")
found = sorted(hit.memory.content for hit in mem.recall("parent wrote this"))
problems = [str(problem) for problem in mem.check()]
print(json.dumps([answers, found, problems, scheduler.run_once()]))
"""

_REOPENED = """
mem = opened()
mem.remember("before the fork")

def write():
    with opened() as own:
        for number in range(20):
            own.remember(f"the child wrote {number}")
            print(number, file=to_parent, flush=True)
            from_parent.readline()
    return "closed"

down, up = os.pipe(), os.pipe()
from_parent, to_child = os.fdopen(down[0]), os.fdopen(down[1], "w")
from_child, to_parent = os.fdopen(up[0]), os.fdopen(up[1], "w")

def parent():
    global mem
    for number in range(20):
        from_child.readline()
        mem.remember(f"the parent wrote {number}")
        mem.close()  # the last connection of this process: SQLite removes its log if no other process has one
        mem = opened()
        print("go on", file=to_child, flush=True)

pid = os.fork()
if pid == 0:
    write()
    sys.exit()
parent()
assert os.waitpid(pid, 0)[1] == 0
mem.close()
"""

_POOL = """
mem = None

def work(number):
    global mem
    if number < 0:
        return told(lambda: inherited.remember("from a worker"))
    mem = mem or opened()  # each worker opens the store once
    return mem.remember(f"worker wrote {number}").content

if __name__ == "__main__":
    inherited = opened()
    inherited.remember("before the pool")
    with multiprocessing.get_context("fork").Pool(3) as pool:
        written = pool.map(work, range(12))
        refused = pool.map(work, [-1, -2])
        inherited.remember("while the workers run")
        pool.close()
        pool.join()
    print(json.dumps([written, refused, [str(problem) for problem in inherited.check()]]))
    inherited.close()
"""

_DURING_A_RECALL = """
import signal

class Stopping(HashEmbedder):
    def embed(self, texts):
        calls.append(texts)
        if len(calls) == 2:  # the first one is the memory, the second one the query
            embedding.set()
            go_on.wait(60)
        return super().embed(texts)

calls, embedding, go_on = [], threading.Event(), threading.Event()
embedder = Stopping()
mem = memotherm.open(sys.argv[1], embedder=embedder)
mem.remember("the parent wrote this before the fork")
reader = threading.Thread(target=lambda: mem.recall("parent"))
reader.start()
assert embedding.wait(60)

def recall():
    signal.alarm(60)
    with opened() as own:
        return [hit.memory.content for hit in own.recall("parent")]

print(json.dumps(in_child(recall)))
go_on.set()
reader.join()
mem.close()
"""

_DURING_A_CHECK = """
from memotherm.storage.sqlite import store

def slow(*arguments):
    checking.set()
    go_on.wait(60)
    return check(*arguments)

check, store.check = store.check, slow
checking, go_on = threading.Event(), threading.Event()
mem = memotherm.open(sys.argv[1], embedder=HashEmbedder(), settings={"busy_timeout_ms": 100})
mem.remember("the parent wrote this before the fork")
problems = []
checker = threading.Thread(target=lambda: problems.extend(mem.check()))
checker.start()
assert checking.wait(60)
answer = in_child(lambda: told(opened))
go_on.set()
checker.join()
print(json.dumps([answer, [str(problem) for problem in problems]]))
mem.close()
"""

_DURING_MODULE_LOCKS = """
import itertools, signal
from datetime import UTC, datetime
from memotherm.model.clock import new_id
from memotherm.text.language import stemmer

sys.setswitchinterval(1e-6)
done = threading.Event()
now = datetime.now(UTC)
stem = stemmer("english")

def busy(work):
    while not done.is_set():
        work()

def in_the_child():
    signal.alarm(10)
    return [new_id("mem", now)[:3], stem("forking")]

work = (lambda: new_id("mem", now)), (lambda: stem("reading"))
threads = [threading.Thread(target=busy, args=(each,)) for each in work]
for thread in threads:
    thread.start()
try:
    answers = [in_child(in_the_child) for _ in range(40)]
finally:
    done.set()
print(json.dumps([list(answer) for answer in set(map(tuple, answers))]))
"""


def run(code: str, url: Path | str) -> Any:
    done = python(_BEGIN + code, url)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) if done.stdout else None


def test_a_forked_process_is_told_to_open_the_store_again(tmp_path: Path) -> None:
    """Facade, session, scheduler and asyncio refuse in the child, closing is harmless, the parent goes on."""
    answers, found, problems, maintained = run(_INHERITED, located(tmp_path / "memory.db"))
    harmless = {name: answers.pop(name) for name in ("stop", "aclose", "close")}
    assert harmless == dict.fromkeys(harmless)
    for name, answer in answers.items():
        assert answer is not None, name
        assert answer.startswith("StoreClosed: "), (name, answer)
        assert answer.endswith("open the store again in this process"), (name, answer)
    assert found == ["the parent wrote this after the fork", "the parent wrote this before the fork"]
    assert problems == []
    assert maintained is True


def test_a_child_that_opens_the_store_again_shares_it_with_its_parent(tmp_path: Path) -> None:
    """The child writes while the parent closes and opens the store; nothing is lost and nothing damaged."""
    url = located(tmp_path / "memory.db")
    run(_REOPENED, url)
    with opened(url) as mem:
        assert mem.check() == []
        written = {memory.content for memory in mem.find(limit=100).memories}
    expected = {f"the {who} wrote {number}" for who in ("child", "parent") for number in range(20)}
    assert written == {"before the fork", *expected}


def test_workers_of_a_pool_open_the_store_themselves(tmp_path: Path) -> None:
    """Processes that multiprocessing forks from one with an open store write through stores of their own."""
    url = located(tmp_path / "memory.db")
    written, refused, problems = run(_POOL, url)
    assert written == [f"worker wrote {number}" for number in range(12)]
    assert all("open the store again in this process" in answer for answer in refused)
    assert problems == []
    with opened(url) as mem:
        assert mem.status().retention[Retention.ACTIVE] == 14


@pytest.mark.slow
def test_a_child_recalls_although_another_thread_recalled_during_the_fork(tmp_path: Path) -> None:
    """What the thread was about to compute does not keep the child waiting."""
    assert run(_DURING_A_RECALL, located(tmp_path / "memory.db")) == ["the parent wrote this before the fork"]


@pytest.mark.slow
def test_a_child_does_not_open_a_file_whose_check_was_running_during_the_fork(tmp_path: Path) -> None:
    """It has a copy of the live connection: SQLite's locks on the file would not work in it."""
    answer, problems = run(_DURING_A_CHECK, tmp_path / "memory.db")
    assert answer.startswith("StoreUnavailable: "), answer
    assert "was in use when this process was forked" in answer
    assert problems == []


@pytest.mark.slow
def test_a_child_makes_ids_and_stems_words_although_other_threads_did_during_the_fork(tmp_path: Path) -> None:
    """No lock of a module stays locked in the child by a thread that only its parent has."""
    assert run(_DURING_MODULE_LOCKS, tmp_path / "memory.db") == [["mem", "fork"]]
