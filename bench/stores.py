"""The stores that are measured, built with `remember_many`."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, field
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bench.synthetic import SyntheticEmbedder, drafts
from memotherm import Memotherm, Settings
from memotherm.storage.open import open_store
from memotherm.storage.store import Store

__all__ = ["Lab", "Opened"]

_BATCH = 5000
_LIVE_SEED = 1
_COLD_SEED = 3


@dataclass(frozen=True)
class Opened:
    """A `Memotherm`, and its store for measurements of one search."""

    mem: Memotherm
    store: Store
    path: Path


@dataclass
class Lab:
    """Builds each store once; stores in a permanent folder are used again."""

    folder: Path
    progress: Progress
    embedder: SyntheticEmbedder = field(default_factory=SyntheticEmbedder)
    #: CPU microseconds per memory, by store, where it was built in this run.
    ingest: dict[str, float] = field(default_factory=dict)
    _open: dict[Path, Opened] = field(default_factory=dict)

    def store(self, live: int, cold: int = 0) -> Opened:
        """Return a store of that many live and cold memories; the live ones are always the same."""
        path = self.folder / f"live{live}-cold{cold}.db"
        if path not in self._open:
            done = path.with_suffix(".done")
            opened = self._opened(path)
            if not done.exists():
                self._fill(opened.mem, path.stem, live, cold)
                done.touch()
            self._open[path] = opened
        return self._open[path]

    def close(self) -> None:
        """Close every store."""
        for opened in self._open.values():
            opened.mem.close()

    def _opened(self, path: Path) -> Opened:
        settings = Settings()
        store = open_store(str(path), settings)
        return Opened(Memotherm(store, self.embedder, settings=settings), store, path)

    def _fill(self, mem: Memotherm, name: str, live: int, cold: int) -> None:
        task = self.progress.add_task(f"building {name}", total=live + cold)
        started = time.process_time()
        stream = itertools.chain(drafts(live, _LIVE_SEED, "warm"), drafts(cold, _COLD_SEED, "cold"))
        while batch := list(itertools.islice(stream, _BATCH)):
            mem.remember_many(batch)
            self.progress.advance(task, len(batch))
        self.ingest[name] = round((time.process_time() - started) / (live + cold) * 1e6, 1)
        self.progress.remove_task(task)


def bars() -> Progress:
    """Return progress bars on standard error."""
    from rich.console import Console

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)
