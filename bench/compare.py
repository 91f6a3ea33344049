"""`python -m bench.compare REVISION`: the speed of this tree against another revision, interleaved.

Each revision runs in a process of its own on a store that it has built itself from the same texts.
Both are copies that are compiled to bytecode first, as an installed package is.
The two take turns, call by call, so the load of the machine is the same for both.
"""

from __future__ import annotations

import argparse
import compileall
import json
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.compare_worker import ROWS
from bench.report import machine
from bench.worker import Worker

__all__ = ["main"]

_ROOT = Path(__file__).parent.parent


def compare(old: Worker, new: Worker, row: str, passes: int) -> dict[str, Any]:
    """Return the CPU milliseconds of a row with both revisions: the median over the inputs of each one's best."""
    workers = (old, new)
    counts = [worker.ask(row=row, prepare=True) for worker in workers]
    taken: list[list[list[float]]] = [[[] for _ in range(count)] for count in counts]
    begun: Sequence[float] = (0.0, 0.0)
    for turn in range(passes + 1):
        if turn == 1:  # the first pass is for warm-up
            begun = [worker.ask(row=row, spent=True) for worker in workers]
        for index in range(counts[0]):
            # Who comes first alternates, too.
            for place in (0, 1) if (turn + index) % 2 else (1, 0):
                milliseconds = workers[place].ask(row=row, index=index)
                if turn:
                    taken[place][index].append(milliseconds)
    spent = [worker.ask(row=row, spent=True) - start for worker, start in zip(workers, begun, strict=True)]
    p50 = [statistics.median(min(times) for times in each) for each in taken]
    calls, target = passes * counts[0], ROWS[row].target
    return {
        "row": row,
        "what": ROWS[row].what,
        "target": None if target is None else round(target, 3),
        "old": round(p50[0], 3),
        "new": round(p50[1], 3),
        # All CPU time of the process, with what runs in the background, for each call.
        "old_mean": round(spent[0] / calls, 3),
        "new_mean": round(spent[1] / calls, 3),
    }


def main() -> int:
    """Compare, print and, if wanted, write JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.compare", description=__doc__)
    parser.add_argument("revision", help="the other revision, as git names it")
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS))
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--stores", type=Path, help="keep the stores in this folder and use those that are there")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memotherm-compare-") as scratch:
        archive = subprocess.run(
            ["git", "archive", arguments.revision, "src"], cwd=_ROOT, capture_output=True, check=True
        ).stdout
        old, new = Path(scratch) / "old", Path(scratch) / "new"
        with tarfile.open(fileobj=BytesIO(archive)) as files:
            files.extractall(old, filter="data")
        shutil.copytree(_ROOT / "src", new / "src", ignore=shutil.ignore_patterns("__pycache__"))
        for tree in (old, new):
            compileall.compile_dir(tree, quiet=1)
        stores = (arguments.stores or Path(scratch)).resolve()
        workers = [
            Worker("bench.compare_worker", str(stores / tree.name), paths=[tree / "src"], folder=stores / tree.name)
            for tree in (old, new)
        ]
        try:
            rows = [compare(workers[0], workers[1], row, arguments.passes) for row in arguments.rows]
        finally:
            for worker in workers:
                worker.close()
    _print(rows, arguments.revision)
    if arguments.json:
        found = {"revision": arguments.revision, "date": _now(), "machine": machine(), "rows": rows}
        arguments.json.write_text(json.dumps(found, indent=2) + "\n", "utf-8")
    return 0


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _print(rows: Sequence[dict[str, Any]], revision: str) -> None:
    table = Table(title=f"CPU milliseconds for each call, {revision} against this tree", title_justify="left")
    for name in ("row", "target", "old", "new", "old with background", "new with background"):
        table.add_column(name, justify="left" if name == "row" else "right")
    for row in rows:
        numbers = (row["target"], row["old"], row["new"], row["old_mean"], row["new_mean"])
        table.add_row(row["what"], *("" if number is None else f"{number:.3f}" for number in numbers))
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main())
