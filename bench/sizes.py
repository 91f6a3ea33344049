"""`python -m bench.sizes [--peers DIR] [--sizes N ...]`: searches against the number of memories, ours and others'.

All systems have the same texts and the same vectors of 384 numbers, and return ten memories. Each runs in a process
of its own, and they take turns, search by search, so the load of the machine is the same for all. Memotherm searches
words and vectors and writes its log, the others search vectors only. All modules are compiled to bytecode first, as
those of an installed package are.

DIR has chromadb and langgraph-checkpoint-sqlite; without it only Memotherm and a plain product with all vectors are
measured. A system that would take too long to store the next size stops there, and the table says so.
`make bench PEERS=1` installs the packages and runs this; `bench.page` makes the table and the plot in the docs of it.
"""

from __future__ import annotations

import argparse
import compileall
import functools
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from rich.console import Console

from bench.report import RESULTS, machine
from bench.worker import Worker

__all__ = ["main"]

_ROOT = Path(__file__).parent.parent
_SIZES = (1000, 10_000, 100_000, 1_000_000)
_SCAN = "numpy scan"
_OURS = ("memotherm", _SCAN)
_PEERS = {"chroma": "chromadb", "langgraph": "langgraph-checkpoint-sqlite"}
#: The size of the store with ten scopes.
_SCOPED = 100_000
#: Searches of a kind, fewer if they would take longer than so many seconds.
_SEARCHES, _SECONDS = 50, 15.0
_WRITES = 200


@dataclass
class Entrant:
    """A system, how many memories it has, and what was measured."""

    name: str
    worker: Worker
    stored: int = 0
    fill_seconds: float = 0.0
    #: Why it has stopped.
    stopped: str | None = None
    #: Size -> kind of search -> wall-clock and CPU milliseconds, p50.
    searches: dict[int, dict[str, dict[str, float]]] = field(default_factory=dict)
    writes_per_second: dict[str, float] = field(default_factory=dict)
    #: From the start of another process to its first answer.
    start_seconds: float | None = None

    def grow(self, size: int, most_seconds: float) -> bool:
        """Store memories up to a size; return whether it has them."""
        rate = self.stored / self.fill_seconds if self.fill_seconds else float("inf")
        if self.name in _PEERS and self.stopped is None and (size - self.stored) / rate > most_seconds:
            self.stopped = f"{size:,} memories would take {(size - self.stored) / rate:,.0f} s to store"
        if self.stopped is None:
            self.fill_seconds = self.worker.ask(do="fill", size=size)
            self.writes_per_second["bulk"] = round((size - self.stored) / self.fill_seconds)
            self.stored = size
        return self.stopped is None


def measure(entrants: Sequence[Entrant], size: int, kind: str) -> None:
    """Let the systems search in turn."""
    taken: dict[str, list[tuple[float, float]]] = {entrant.name: [] for entrant in entrants}
    for entrant in entrants:
        entrant.worker.ask(do="search", kind=kind, index=0)  # for warm-up
    for index in range(_SEARCHES):
        for entrant in (*entrants[index % len(entrants) :], *entrants[: index % len(entrants)]):
            times = taken[entrant.name]
            if sum(wall for wall, _ in times) < _SECONDS * 1000:
                times.append(entrant.worker.ask(do="search", kind=kind, index=index))
    for entrant in entrants:
        wall, cpu = (statistics.median(values) for values in zip(*taken[entrant.name], strict=True))
        found = {"wall_ms": round(wall, 3), "cpu_ms": round(cpu, 3), "searches": len(taken[entrant.name])}
        entrant.searches.setdefault(size, {})[kind] = found


def run(entrants: Sequence[Entrant], sizes: Sequence[int], most_seconds: float, start: Callable[[str], Worker]) -> None:
    """Let all systems grow, and measure them at every size; `start` starts another process of a system."""
    console = Console(stderr=True)
    for size in sizes:
        console.print(f"storing up to {size:,}")
        growing = [entrant for entrant in entrants if entrant.grow(size, most_seconds)]
        for kind in ("all", "half"):
            measure(growing, size, kind)
        if size == min(_SCOPED, max(sizes)):
            _measure_once(growing, size, start)


def _measure_once(entrants: Sequence[Entrant], size: int, start: Callable[[str], Worker]) -> None:
    """Measure searches in a scope, single writes, and the first answer of a process."""
    for entrant in entrants:
        entrant.worker.ask(do="fill_scopes", size=size)
    measure(entrants, size, "scope")
    for entrant in entrants:
        if entrant.name == _SCAN:
            continue
        started = time.perf_counter()
        other = start(entrant.name)
        other.ask(do="search", kind="all", index=0)
        entrant.start_seconds = round(time.perf_counter() - started, 3)
        other.close()
        entrant.writes_per_second["one by one"] = round(_WRITES / entrant.worker.ask(do="one_by_one", count=_WRITES))
        entrant.stored += _WRITES


def main() -> None:
    """Measure, print, draw and write."""
    parser = argparse.ArgumentParser(prog="python -m bench.sizes", description=__doc__)
    parser.add_argument("--peers", type=Path, help="a folder with the packages of the other systems")
    parser.add_argument("--sizes", nargs="+", type=int, default=list(_SIZES))
    parser.add_argument("--most-seconds", type=float, default=300.0, help="the longest that storing a size may take")
    parser.add_argument("--out", type=Path, default=RESULTS / "sizes.json")
    arguments = parser.parse_args()
    names = [*_OURS, *(_PEERS if arguments.peers else ())]
    for modules in (_ROOT / "src", _ROOT / "bench", *([arguments.peers] if arguments.peers else [])):
        compileall.compile_dir(modules, quiet=1)
    with tempfile.TemporaryDirectory(prefix="memotherm-sizes-") as scratch:
        start = functools.partial(_start, Path(scratch), arguments.peers)
        entrants = [Entrant(name, start(name)) for name in names]
        try:
            run(entrants, sorted(arguments.sizes), arguments.most_seconds, start)
        finally:
            for entrant in entrants:
                entrant.worker.close()
    report = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "peers": _versions(arguments.peers) if arguments.peers else {},
        "systems": {
            entrant.name: {
                "start_seconds": entrant.start_seconds,
                "writes_per_second": entrant.writes_per_second,
                "searches": {str(size): kinds for size, kinds in entrant.searches.items()},
                "stopped": entrant.stopped,
            }
            for entrant in entrants
        },
    }
    arguments.out.write_text(json.dumps(report, indent=2) + "\n", "utf-8")
    Console().print_json(data=report["systems"])


def _start(scratch: Path, peers: Path | None, name: str) -> Worker:
    """Start a process of a system; all those of a system share a folder."""
    folder = scratch / name.replace(" ", "-")
    paths = [_ROOT / "src", *([peers.resolve()] if peers and name in _PEERS else [])]
    return Worker("bench.sizes_worker", name, str(folder), paths=paths, folder=folder)


def _versions(peers: Path) -> dict[str, str]:
    found = {each.name: each.version for each in metadata.distributions(path=[str(peers)])}
    return {package: found.get(package, "") for package in _PEERS.values()}


if __name__ == "__main__":
    main()
