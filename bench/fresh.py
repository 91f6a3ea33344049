"""This tree against another revision on real texts, every question asked once.

Each revision runs in a process of its own on stores that it has built itself from the same texts. Both are copies
that are compiled to bytecode first, as an installed package is. The two take turns, call by call, so that the load
of the machine is the same for both. Times are those of the CPU, of all threads, embedding excluded.
"""

from __future__ import annotations

import argparse
import compileall
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from bench import report
from bench.fresh_worker import ROWS, Calls
from bench.report import Row
from bench.speed import Options
from bench.stores import Lab
from bench.worker import Worker

__all__ = ["main", "measure"]

_ROOT = Path(__file__).parent.parent
_SIZES = (1000, 10_000, 100_000)
#: The revision that the targets refer to.
_REVISION = "f79c6c8"
_WARM_UP = 8


def measure(lab: Lab, options: Options) -> list[Row]:
    """Return the ratios of this tree to the other revision; none where there are no texts."""
    folder = texts_folder()
    if folder is None:
        print("fresh: no texts; give their folder with --data or MEMOTHERM_DATA", file=sys.stderr)
        return []
    sizes = _SIZES[:1] if options.quick else _SIZES
    return compare(os.environ.get("MEMOTHERM_BENCH_REVISION", _REVISION), folder, lab.folder, sizes, list(ROWS))


def texts_folder() -> Path | None:
    """Return the folder with texts and questions: MEMOTHERM_DATA, or `../shared/data` beside the project."""
    named = os.environ.get("MEMOTHERM_DATA")
    folder = Path(named) if named else _ROOT.parent / "shared" / "data"
    return folder.resolve() if folder.is_dir() else None


def compare(revision: str, texts: Path, stores: Path, sizes: Sequence[int], keys: Sequence[str]) -> list[Row]:
    """Return one row for each size and each kind of call."""
    with _trees(revision) as trees:
        return [row for size in sizes for row in _compare_size(trees, texts, stores, size, keys)]


@contextmanager
def _trees(revision: str) -> Iterator[tuple[Path, Path]]:
    """Yield folders with the source of another revision and of this tree."""
    with tempfile.TemporaryDirectory(prefix="memotherm-fresh-") as scratch:
        command = ["git", "archive", revision, "src"]
        archive = subprocess.run(command, cwd=_ROOT, capture_output=True, check=True).stdout
        old, new = Path(scratch) / "old", Path(scratch) / "new"
        with tarfile.open(fileobj=BytesIO(archive)) as files:
            files.extractall(old, filter="data")
        shutil.copytree(_ROOT / "src", new / "src", ignore=shutil.ignore_patterns("__pycache__"))
        for tree in (old, new):
            compileall.compile_dir(tree, quiet=1)
        yield old, new


def _compare_size(trees: tuple[Path, Path], texts: Path, stores: Path, size: int, keys: Sequence[str]) -> Iterator[Row]:
    folders = [stores / f"fresh-{tree.name}-{size}" for tree in trees]
    workers = [
        Worker("bench.fresh_worker", str(texts), str(folder), str(size), paths=[tree / "src"], folder=folder)
        for tree, folder in zip(trees, folders, strict=True)
    ]
    try:
        for key in keys:
            yield _compare_row(workers, key, ROWS[key], size)
    finally:
        for worker, folder in zip(workers, folders, strict=True):
            worker.close()
            shutil.rmtree(folder)


def _compare_row(workers: Sequence[Worker], key: str, calls: Calls, size: int) -> Row:
    """Return the ratio of the medians of one kind of call."""
    taken: list[list[float]] = [[], []]
    for index in range(-_WARM_UP if calls.count > 1 else 0, calls.count):
        # Who comes first alternates.
        for place in (0, 1) if index % 2 else (1, 0):
            value = workers[place].ask(row=key, index=index + _WARM_UP)
            if index >= 0:
                taken[place].append(value)
    old, new = (statistics.median(values) for values in taken)
    return Row(
        key=f"{key}_{size}",
        what=f"{calls.what}, {size:,} memories",
        value=round(new / old, 3),
        unit="of the other revision",
        target=calls.target(size),
        notes={"old": round(old, 3), "new": round(new, 3), "unit": calls.unit},
    )


def main() -> int:
    """Compare, print and, if wanted, write the results."""
    parser = argparse.ArgumentParser(prog="python -m bench.fresh", description=__doc__)
    parser.add_argument("revision", nargs="?", default=_REVISION, help="the other revision, as git names it")
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS))
    parser.add_argument("--sizes", nargs="+", type=int, default=list(_SIZES))
    parser.add_argument("--data", type=Path, default=texts_folder(), help="the folder with texts and questions")
    parser.add_argument("--write", action="store_true", help="write bench/results/fresh.json")
    arguments = parser.parse_args()
    if arguments.data is None:
        parser.error("no texts: give their folder with --data or MEMOTHERM_DATA")
    with tempfile.TemporaryDirectory(prefix="memotherm-fresh-") as stores:
        rows = compare(arguments.revision, arguments.data.resolve(), Path(stores), arguments.sizes, arguments.rows)
    report.print_rows(f"This tree against {arguments.revision}, every question asked once", rows)
    if arguments.write:
        report.write("fresh", report.record("fresh", rows, revision=arguments.revision))
    return 0


if __name__ == "__main__":
    sys.exit(main())
