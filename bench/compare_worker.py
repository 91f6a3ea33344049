"""The process that `bench.compare` starts for each revision: reads requests, makes calls, writes CPU times.

It runs old revisions too, so it uses only what they all have: the Python API.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import memotherm
from bench.synthetic import SyntheticEmbedder, queries, texts
from memotherm import Memotherm, Settings

__all__ = ["ROWS"]

_BATCH = 5000
#: Words that most memories have, and the share of them that has each.
_COMMON = {"apollo": 0.95, "johanna": 0.8, "deployment": 0.6}
#: How many memories a bulk call stores, and how many single writes a call makes.
_BULK = 500
_WRITES = 100
_THREADS = 32
#: How many notes a call indexes.
_NOTES = 200


class Installation:
    """A data folder with a few memories, and the command line that uses it, with a daemon where there is one."""

    def __init__(self, home: Path) -> None:
        home.mkdir(mode=0o700, exist_ok=True)
        self.home = home
        for fact in ("The staging database is called heron", "Anna reviews the releases"):
            self.run("remember", fact)
        self.run("daemon", "start")

    def run(self, *arguments: str, given: str = "", **more: str) -> None:
        """Run a command."""
        environment = {**os.environ, "MEMOTHERM_HOME": str(self.home), **more}
        command = [sys.executable, "-m", "memotherm", *arguments]
        subprocess.run(
            command, input=given, env=environment, cwd=self.home, text=True, capture_output=True, check=False
        )

    def close(self) -> None:
        """End the daemon."""
        self.run("daemon", "stop")


@dataclass
class Bench:
    """The stores of one revision, each built once."""

    folder: Path
    embedder: SyntheticEmbedder = field(default_factory=SyntheticEmbedder)
    _open: dict[str, Memotherm] = field(default_factory=dict)

    def store(self, live: int) -> Memotherm:
        """Return a store of that many live memories: half of them decisions, most with a few common words."""
        name = f"compare-{live}"
        if name not in self._open:
            path, done = self.folder / f"{name}.db", self.folder / f"{name}.done"
            mem = self._open[name] = memotherm.open(path, embedder=self.embedder, settings=Settings())
            if not done.exists():
                contents = enumerate(texts(live, 1))
                while batch := list(itertools.islice(contents, _BATCH)):
                    mem.remember_many([_draft(number, text) for number, text in batch])
                done.touch()
        return self._open[name]

    @functools.cached_property
    def installation(self) -> Installation:
        """The installation whose command line is measured; its folder has a short name, for the daemon's socket."""
        return Installation(Path(tempfile.mkdtemp(prefix="mt-")) / "home")

    def close(self) -> None:
        """Close what is open."""
        if "installation" in vars(self):
            self.installation.close()
            shutil.rmtree(self.installation.home.parent)

    def empty(self, name: str) -> Memotherm:
        """Return a new store without an embedder."""
        if name not in self._open:
            for file in self.folder.glob(f"{name}.db*"):
                file.unlink()
            self._open[name] = memotherm.open(self.folder / f"{name}.db", embedder="none", settings=Settings())
        return self._open[name]


def _draft(number: int, text: str) -> dict[str, Any]:
    share = number * 7919 % 1000 / 1000
    common = [word for word, most in _COMMON.items() if share < most]
    return {"content": " ".join((text, *common)), "tier": "warm", "kind": "decision" if number % 2 else "fact"}


#: One call of a row: its input -> anything.
Call = Callable[[str], object]


@dataclass(frozen=True)
class Measured:
    """A row: what it is, and how its call is made from the stores."""

    what: str
    call: Callable[[Bench], Call]
    inputs: Sequence[str]
    #: How many operations one call is.
    operations: int = 1
    #: Whether wall-clock time counts, because calls wait for each other, for the disk or for processes.
    wall: bool = False
    #: The most milliseconds of an operation that are wanted; of a row with a rate, 1,000 by the operations per second.
    target: float | None = None


def _recall(live: int) -> Callable[[Bench], Call]:
    return lambda bench: bench.store(live).recall


def _new_questions(bench: Bench) -> Call:
    mem, stream = bench.store(100_000), iter(queries(10_000, seed=12))
    return lambda _: mem.recall(next(stream))


def _filtered(bench: Bench) -> Call:
    mem = bench.store(100_000)
    return lambda query: mem.recall(query, kinds=["decision"])


def _written(bench: Bench) -> Call:
    mem, stream = bench.store(100_000), texts(1_000_000, 304)
    return lambda query: (mem.remember(next(stream)), mem.recall(query))


def _context(budget: int) -> Callable[[Bench], Call]:
    def call(bench: Bench) -> Call:
        mem = bench.store(10_000)
        return lambda query: mem.context(query, budget=budget)

    return call


def _bulk(bench: Bench) -> Call:
    mem, stream = bench.empty("bulk"), texts(1_000_000, 300)
    return lambda _: mem.remember_many([{"content": each} for each in itertools.islice(stream, _BULK)])


def _durable(bench: Bench) -> Call:
    mem, stream = bench.empty("durable"), texts(1_000_000, 301)
    return lambda _: [mem.remember(each) for each in itertools.islice(stream, _WRITES)]


def _threads(bench: Bench) -> Call:
    mem, stream = bench.empty("threads"), texts(1_000_000, 302)

    def call(_: str) -> None:
        shares = [list(itertools.islice(stream, _WRITES // 10)) for _ in range(_THREADS)]
        threads = [threading.Thread(target=list, args=(map(mem.remember, share),)) for share in shares]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return call


def _notes(bench: Bench) -> Call:
    folder, stream, numbers = bench.folder / "notes", texts(20 * _NOTES, 303), itertools.count()
    (folder / "memory").mkdir(parents=True, exist_ok=True)
    for note in range(_NOTES):
        (folder / "memory" / f"{note}.md").write_text("\n\n".join(itertools.islice(stream, 20)), "utf-8")
    return lambda _: bench.empty(f"notes-{next(numbers)}").notes(folder).sync()


def _command(*arguments: str) -> Callable[[Bench], Call]:
    return lambda bench: lambda _: bench.installation.run(*arguments)


def _hook(daemon: str) -> Callable[[Bench], Call]:
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": "Where is the staging database?"}
    return lambda bench: lambda _: bench.installation.run("hook", given=json.dumps(event), MEMOTHERM_DAEMON=daemon)


_QUESTIONS = queries(100, seed=11)
_COMMON_QUESTIONS = [f"{query} {' '.join(_COMMON)}" for query in _QUESTIONS]
_TURNS = [""] * 10

#: Key -> row.
ROWS = {
    "recall_1k": Measured("recall, 1,000 live", _recall(1000), _QUESTIONS, target=1.2),
    "recall_10k": Measured("recall, 10,000 live", _recall(10_000), _QUESTIONS, target=1.4),
    "recall_100k": Measured("recall, 100,000 live", _recall(100_000), _QUESTIONS, target=3.0),
    "new_100k": Measured("recall, 100,000 live, a new question every time", _new_questions, [""] * 100),
    "common_100k": Measured(
        "recall of words that most have, 100,000 live", _recall(100_000), _COMMON_QUESTIONS, target=4.0
    ),
    "written_100k": Measured("remember, then the same recall", _written, _COMMON_QUESTIONS[:20]),
    "filter_100k": Measured("recall with a filter over half of 100,000", _filtered, _QUESTIONS, target=5.0),
    "context_10k": Measured("context(2,000), 10,000 live", _context(2000), _QUESTIONS, target=3.0),
    "context_400": Measured("context(400), 10,000 live", _context(400), _QUESTIONS),
    "bulk": Measured("remember_many without embedding, one memory", _bulk, _TURNS, _BULK, target=1000 / 6000),
    "durable": Measured("remember without embedding", _durable, _TURNS, _WRITES),
    "durable_wall": Measured(
        "remember without embedding, wall-clock", _durable, _TURNS, _WRITES, wall=True, target=1000 / 2000
    ),
    "threads_wall": Measured(
        "remember in 32 threads, wall-clock",
        _threads,
        _TURNS,
        _THREADS * (_WRITES // 10),
        wall=True,
        target=1000 / 3000,
    ),
    "notes": Measured("first index of a note of 2 kB, embedding excluded", _notes, _TURNS[:4], _NOTES, target=1.5),
    "hook": Measured("hook of a prompt, daemon running, wall-clock", _hook("1"), _TURNS, wall=True, target=60),
    "hook_alone": Measured("hook of a prompt, no daemon, wall-clock", _hook("0"), _TURNS, wall=True, target=400),
    "status": Measured("`status`, daemon running, wall-clock", _command("status"), _TURNS, wall=True, target=150),
    "recall": Measured(
        "`recall`, daemon running, wall-clock", _command("recall", "staging"), _TURNS, wall=True, target=200
    ),
}


def main() -> None:
    """Answer requests until there are no more."""
    bench, calls = Bench(Path(sys.argv[1])), dict[str, Call]()
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        request = json.loads(line)
        key = request["row"]
        row = ROWS[key]
        if request.get("prepare"):
            calls[key] = row.call(bench)
            answer: object = len(row.inputs)
        elif request.get("spent"):
            answer = time.process_time() * 1000 / row.operations
        else:
            clock = time.perf_counter if row.wall else time.process_time
            started = clock()
            calls[key](row.inputs[request["index"]])
            answer = (clock() - started) * 1000 / row.operations
        print(json.dumps(answer), file=answers, flush=True)
    bench.close()
    print(f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB, pid {os.getpid()}", file=sys.stderr)


if __name__ == "__main__":
    main()
