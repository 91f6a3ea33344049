"""The process that `bench.fresh` starts for each revision: reads requests, makes calls, writes what they cost.

It runs old revisions too, so it uses only what they all have: the Python API.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import memotherm
from bench.synthetic import SyntheticEmbedder
from memotherm import Memotherm

__all__ = ["ROWS", "Calls"]

_SETS = ("locomo", "longmemeval_oracle", "scifact")
_LONGEST = 1500
_BATCH = 5000
_THREADS = 32
_WRITES = 4
_BULK = 200


class Bench:
    """The texts, the questions and the stores of one revision."""

    def __init__(self, texts: Path, folder: Path, size: int) -> None:
        self.folder = folder
        self.texts, self.questions = material(texts, size)
        self.embedder = SyntheticEmbedder()
        self._asked = 0
        self._written = 0

    @cached_property
    def mem(self) -> Memotherm:
        """A store of all texts, every second one a decision."""
        return self._filled("all", [{"content": text, "kind": _kind(no)} for no, text in enumerate(self.texts)])

    @cached_property
    def tenth(self) -> Memotherm:
        """The view of a user who owns every tenth text; the others are those of somebody else."""
        mem = self._filled("users", [])
        own = self.texts[::10]
        _store(mem.scoped(user="one"), [{"content": text} for text in own])
        _store(mem.scoped(user="other"), [{"content": text} for text in set(self.texts).difference(own)])
        return mem.scoped(user="one")

    def _filled(self, name: str, drafts: list[dict[str, Any]]) -> Memotherm:
        mem = memotherm.open(self.folder / f"{name}.db", embedder=self.embedder)
        _store(mem, drafts)
        return mem

    def question(self) -> str:
        """Return the next question; none is asked twice."""
        self._asked += 1
        return self.questions[self._asked]

    def text(self) -> str:
        """Return the next text to store; none is stored twice."""
        self._written += 1
        return f"{self.texts[self._written % len(self.texts)]} again {self._written}"


def material(folder: Path, size: int) -> tuple[list[str], list[str]]:
    """Return that many texts, where there are too few with recombined ones, and questions."""
    texts: list[str] = []
    questions: list[str] = []
    for name in _SETS:
        if (folder / name).is_dir():
            texts += [row["text"][:_LONGEST] for row in _rows(folder / name / "docs.jsonl.gz") if row.get("text")]
            questions += [row["question"] for row in _rows(folder / name / "queries.jsonl.gz") if row.get("question")]
    texts, questions = list(dict.fromkeys(texts)), list(dict.fromkeys(questions))
    for each in (texts, questions):
        random.Random(0).shuffle(each)
    dice, real = random.Random(1), len(texts)
    while len(texts) < size:
        first, second = texts[dice.randrange(real)], texts[dice.randrange(real)]
        texts.append(f"{first[: len(first) // 2]} {second[len(second) // 2 :]}")
    return texts[:size], questions


def _rows(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _kind(number: int) -> str:
    return "decision" if number % 2 else "observation"


def _store(mem: Memotherm, drafts: list[dict[str, Any]]) -> None:
    for start in range(0, len(drafts), _BATCH):
        mem.remember_many(drafts[start : start + _BATCH])


@dataclass(frozen=True)
class Calls:
    """A row: one kind of call."""

    what: str
    call: Callable[[Bench], object]
    #: The most that this tree may take of what the other revision takes: with 1,000 memories, and with more.
    targets: tuple[float, float]
    count: int = 100
    #: How many operations one call is.
    operations: int = 1
    unit: str = "CPU ms"

    def target(self, size: int) -> float:
        """Return the target for a store of that size."""
        return self.targets[size > 1000]


def _threads(bench: Bench) -> None:
    shares = [[bench.text() for _ in range(_WRITES)] for _ in range(_THREADS)]
    threads = [threading.Thread(target=list, args=(map(bench.mem.remember, share),)) for share in shares]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def resident(_: Bench) -> float:
    """Return the megabytes of memory that the process has now."""
    fields = Path("/proc/self/status").read_text("utf-8").partition("VmRSS:")[2].split()
    return int(fields[0]) / 1024


#: Key -> row; in this order, so that only one store is open when memory is measured.
ROWS = {
    "recall": Calls("recall", lambda bench: bench.mem.recall(bench.question()), (1.0, 0.9), 200),
    "filter": Calls(
        "recall with a filter that half pass",
        lambda bench: bench.mem.recall(bench.question(), kinds=["decision"]),
        (1.0, 0.9),
    ),
    "context_400": Calls("context(400)", lambda bench: bench.mem.context(bench.question(), budget=400), (0.6, 0.6)),
    "context_2000": Calls("context(2,000)", lambda bench: bench.mem.context(bench.question(), budget=2000), (0.6, 0.6)),
    "remember": Calls("remember", lambda bench: bench.mem.remember(bench.text()), (0.9, 0.9)),
    "threads": Calls("remember from 32 threads", _threads, (1.0, 1.0), 6, _THREADS * _WRITES),
    "many": Calls(
        "remember_many",
        lambda bench: bench.mem.remember_many([{"content": bench.text()} for _ in range(_BULK)]),
        (1.0, 1.0),
        6,
        _BULK,
    ),
    "rss": Calls("resident memory", resident, (1.0, 1.0), 1, unit="MB"),
    "scope": Calls("recall in a scope of 10 %", lambda bench: bench.tenth.recall(bench.question()), (1.0, 0.9)),
}


def main() -> None:
    """Answer requests until there are no more."""
    texts, folder, size = sys.argv[1:]
    bench = Bench(Path(texts), Path(folder), int(size))
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        row = ROWS[json.loads(line)["row"]]
        _ = bench.tenth if row is ROWS["scope"] else bench.mem
        started = time.process_time()
        result = row.call(bench)
        milliseconds = (time.process_time() - started) * 1000 / row.operations
        print(json.dumps(result if row.unit == "MB" else milliseconds), file=answers, flush=True)


if __name__ == "__main__":
    main()
