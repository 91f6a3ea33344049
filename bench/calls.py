"""`python -m bench.calls`: how many modules and functions of the package a call passes, on a warm file store.

The thread that writes is counted until the call returns: a recall is logged a moment later. Each number is the median
of nine calls, because now and then one reads what later ones have.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from statistics import median
from types import FrameType

from rich.console import Console
from rich.table import Table

import memotherm
from bench.synthetic import SyntheticEmbedder, queries, texts

__all__ = ["CallCounter", "main"]

_PACKAGE = str(Path(memotherm.__file__).parent)
_MEMORIES = 500
_CALLS = 9


class CallCounter:
    """Counts calls of functions of the package in all threads that begin after it was made."""

    def __init__(self) -> None:
        self._counting = False
        self._modules: list[str] = []
        threading.setprofile(self._note)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        if self._counting and event == "call" and frame.f_code.co_filename.startswith(_PACKAGE):
            self._modules.append(frame.f_code.co_filename)

    def count(self, call: Callable[[], object]) -> tuple[int, int]:
        """Return how many modules of the package a call runs through, and how many of their functions it calls."""
        counts = [self._count(call) for _ in range(_CALLS)]
        modules, functions = zip(*counts, strict=True)
        return median(modules), median(functions)

    def _count(self, call: Callable[[], object]) -> tuple[int, int]:
        self._modules.clear()
        sys.setprofile(self._note)
        self._counting = True
        try:
            call()
        finally:
            self._counting = False
            sys.setprofile(None)
        return len(set(self._modules)), len(self._modules)


def main() -> None:
    """Count and print a table."""
    # Before the store is opened, so that the thread that writes is counted as well.
    counter = CallCounter()
    table = Table("call", "modules", "calls", title="What a call passes", title_justify="left")
    with (
        tempfile.TemporaryDirectory(prefix="memotherm-calls-") as folder,
        memotherm.open(Path(folder) / "calls.db", embedder=SyntheticEmbedder()) as mem,
    ):
        mem.remember_many([{"content": text} for text in texts(_MEMORIES, 1)])
        questions, contents = iter(queries(40, seed=2)), texts(40, 3)
        calls: dict[str, Callable[[], object]] = {
            "remember": lambda: mem.remember(next(contents)),
            "recall": lambda: mem.recall(next(questions)),
            "context": lambda: mem.context(next(questions)),
        }
        for _ in range(3):
            for call in calls.values():
                call()
        for name, call in calls.items():
            table.add_row(name, *map(str, counter.count(call)))
    Console().print(table)


if __name__ == "__main__":
    main()
