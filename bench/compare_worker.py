"""The process that `bench.compare` starts for each revision: reads requests, makes calls, writes CPU times.

It runs old revisions too, so it uses only what they all have: the Python API.
"""

from __future__ import annotations

import itertools
import json
import os
import resource
import sys
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
    #: Whether wall-clock time counts, because calls wait for each other or for the disk.
    wall: bool = False


def _recall(live: int) -> Callable[[Bench], Call]:
    return lambda bench: bench.store(live).recall


def _filtered(bench: Bench) -> Call:
    mem = bench.store(100_000)
    return lambda query: mem.recall(query, kinds=["decision"])


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


_QUESTIONS = queries(100, seed=11)
_COMMON_QUESTIONS = [f"{query} {' '.join(_COMMON)}" for query in _QUESTIONS]
_TURNS = [""] * 10

#: Key -> row.
ROWS = {
    "recall_1k": Measured("recall, 1,000 live", _recall(1000), _QUESTIONS),
    "recall_10k": Measured("recall, 10,000 live", _recall(10_000), _QUESTIONS),
    "recall_100k": Measured("recall, 100,000 live", _recall(100_000), _QUESTIONS),
    "common_100k": Measured("recall of words that most have, 100,000 live", _recall(100_000), _COMMON_QUESTIONS),
    "filter_100k": Measured("recall with a filter over half of 100,000", _filtered, _QUESTIONS),
    "context_10k": Measured("context(2,000), 10,000 live", _context(2000), _QUESTIONS),
    "context_400": Measured("context(400), 10,000 live", _context(400), _QUESTIONS),
    "bulk": Measured("remember_many without embedding, one memory", _bulk, _TURNS, _BULK),
    "durable": Measured("remember without embedding", _durable, _TURNS, _WRITES),
    "durable_wall": Measured("remember without embedding, wall-clock", _durable, _TURNS, _WRITES, wall=True),
    "threads_wall": Measured(
        "remember in 32 threads, wall-clock", _threads, _TURNS, _THREADS * (_WRITES // 10), wall=True
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
    print(f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB, pid {os.getpid()}", file=sys.stderr)


if __name__ == "__main__":
    main()
