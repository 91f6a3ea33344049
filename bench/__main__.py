"""`python -m bench [suite] [--quick] [--cold N] [--only ROW] [--data DIR] [--json] [--stores DIR]`."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from bench import evaluate, report, speed
from bench.report import Row
from bench.stores import Lab, bars

#: Suite -> the title of its table. A new suite is one line here and a module `bench.<suite>` with `measure`.
SUITES = {
    "fresh": "This tree against another revision, every question asked once",
    "speed": "Speed and size",
    "notes": "Markdown notes",
    "tiers": "Tiers over a year",
    "policy": "Policies on a simulated year and on conversations",
    "replay": "Replays of a long past",
    "postgres": "PostgreSQL with many tenants",
    "encryption": "Encrypted files against plain ones",
    "quality": "Retrieval quality, against the best of four controls",
    "forget": "ForgetEval: what was forgotten stays away, the rest stays",
    "context": "Evidence in the context, against the better of two controls",
    "dashboard": "Pages of the dashboard in Chromium, on a large store",
}


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print and write the results."""
    arguments = _parser().parse_args(words)
    options = speed.Options(
        quick=arguments.quick,
        cold=arguments.cold or (50_000 if arguments.quick else 1_000_000),
        only=arguments.only,
    )
    if arguments.revision:
        os.environ["MEMOTHERM_BENCH_REVISION"] = arguments.revision
    if arguments.data:
        os.environ["MEMOTHERM_DATA"] = str(arguments.data.resolve())
    if arguments.suite in ("quality", "silence"):
        evaluate.run(arguments)
        return 0
    wanted = arguments.suite or ("speed" if arguments.only else None)
    for name in [wanted] if wanted else SUITES:
        _run(name, options, arguments.stores, as_json=arguments.json)
    return 0


def _run(name: str, options: speed.Options, stores: Path | None, *, as_json: bool) -> None:
    measured: Callable[[Lab, speed.Options], list[Row]] = import_module(f"bench.{name}").measure
    with tempfile.TemporaryDirectory(prefix="memotherm-bench-") as scratch, bars() as progress:
        folder = stores or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        lab = Lab(folder, progress)
        try:
            rows = measured(lab, options)
        finally:
            lab.close()
    results = report.record(name, rows, quick=options.quick, cold=options.cold, only=options.only)
    if as_json:
        print(json.dumps(results, indent=2))
    else:
        report.print_rows(SUITES[name], rows)
    if not options.quick and not options.only:
        path = report.write(name, results)
        print(
            f"written to {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}", file=sys.stderr
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure speed, size and quality.")
    parser.add_argument("suite", nargs="?", choices=[*SUITES, "silence"], help="one suite; all of them otherwise")
    parser.add_argument("--quick", action="store_true", help="small stores and few queries; nothing is written")
    parser.add_argument("--cold", type=int, help="cold memories of the large archive (1,000,000)")
    parser.add_argument("--only", choices=list(speed.ROWS), help="one row; nothing is written")
    parser.add_argument("--data", type=Path, help="the folder with evaluation sets (also MEMOTHERM_DATA)")
    parser.add_argument("--revision", help="the other revision of the suite `fresh`, as git names it")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--stores", type=Path, help="keep the stores in this folder and use those that are there")
    evaluate.add_options(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
