"""`python -m bench.calls`: how many modules and functions of the package a call passes, on a warm file store."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from rich.console import Console
from rich.table import Table

import memotherm
from bench.synthetic import SyntheticEmbedder, queries, texts

__all__ = ["count", "main"]

_PACKAGE = str(Path(memotherm.__file__).parent)
_MEMORIES = 500


def count(call: Callable[[], object]) -> tuple[int, int]:
    """Return how many modules of the package a call runs through, and how many of their functions it calls."""
    modules: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(_PACKAGE):
            modules.append(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len(set(modules)), len(modules)


def main() -> None:
    """Count and print a table."""
    table = Table("call", "modules", "calls", title="What a call passes", title_justify="left")
    with (
        tempfile.TemporaryDirectory(prefix="memotherm-calls-") as folder,
        memotherm.open(Path(folder) / "calls.db", embedder=SyntheticEmbedder()) as mem,
    ):
        mem.remember_many([{"content": text} for text in texts(_MEMORIES, 1)])
        questions, contents = iter(queries(20, seed=2)), texts(20, 3)
        calls: dict[str, Callable[[], object]] = {
            "remember": lambda: mem.remember(next(contents)),
            "recall": lambda: mem.recall(next(questions)),
            "context": lambda: mem.context(next(questions)),
        }
        for _ in range(3):
            for call in calls.values():
                call()
        for name, call in calls.items():
            table.add_row(name, *map(str, count(call)))
    Console().print(table)


if __name__ == "__main__":
    main()
