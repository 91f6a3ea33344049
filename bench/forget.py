"""ForgetEval: does a memory leave when it is told to, and do the others stay?

A case stores facts, applies operations in words (supersede, release, purge), asks a question, and checks texts of the
answer. The revised rules are used: the first five hits count, in the identifier categories a second entity must
survive, and nothing forbidden may be found by asking for it.

Each operation is one call of the product: a supersede amends the best hit of its query, a release forgets what `select`
returns for it, and a purge erases that, with the names in other scripts that it proposes.

`python -m bench.forget --data DIR --failed` also prints the cases that fail.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import memotherm
from bench.report import Row, print_rows
from bench.speed import Options
from bench.stores import Lab
from memotherm import Memotherm

Case = dict[str, Any]
_HITS = 5
#: The least share of all cases of a set that pass, and of the cases of a category.
_TARGETS = {"adversarial": 85.0, "templated": 99.6}
_CATEGORY_TARGET = 75.0


def measure(lab: Lab, _options: Options) -> list[Row]:
    """Return the share of cases that pass, by set and category."""
    named = os.environ.get("MEMOTHERM_DATA")
    if named is None or not (Path(named) / "forgeteval").is_dir():
        lab.progress.console.print("forget: no cases; pass --data DIR or set MEMOTHERM_DATA")
        return []
    return rows_of(Path(named) / "forgeteval")


def rows_of(folder: Path, *, failed: bool = False) -> list[Row]:
    """Run the cases in a folder."""
    rows = []
    for name, target in _TARGETS.items():
        outcomes: dict[str, list[str]] = defaultdict(list)
        with tempfile.TemporaryDirectory() as scratch, memotherm.open(Path(scratch) / "forget.db") as mem:
            for case in _cases(folder / f"{name}.jsonl.gz"):
                problem = run(mem.scoped(user=case["id"]), case)
                outcomes[case["category"]].append(problem)
                if problem and failed:
                    print(f"{case['id']}: {problem}", file=sys.stderr)
        counted = {category: (problems.count(""), len(problems)) for category, problems in sorted(outcomes.items())}
        total = (sum(passed for passed, _ in counted.values()), sum(cases for _, cases in counted.values()))
        shown = counted if name == "adversarial" else {}
        rows += [_row(name, "all", total, target), *(_row(name, *each, _CATEGORY_TARGET) for each in shown.items())]
    return rows


def _row(name: str, category: str, counted: tuple[int, int], target: float) -> Row:
    passed, cases = counted
    return Row(
        key=f"{name}_{category}", what=f"{name}, {category.replace('_', ' ')}", value=round(100 * passed / cases, 1),
        unit="%", target=target, rising=True, notes={"passed": passed, "cases": cases},
    )  # fmt: skip


def run(mem: Memotherm, case: Case) -> str:
    """Return what is wrong after a case; empty if it passes."""
    more = case.get("sibling") or {}
    revised: Case = {**case, **more, "facts": [*case["facts"], *more.get("facts", ())]}
    for fact in revised["facts"]:
        mem.remember(fact)
    for operation in revised["ops"]:
        apply(mem, operation)
    answer = recalled(mem, revised["query"])
    missing = [text for text in revised["expect"] if text.casefold() not in answer]
    found = [text for text in case["forbid"] if text.casefold() in answer + recalled(mem, text)]
    return "; ".join([*(f"missing {text!r}" for text in missing), *(f"found {text!r}" for text in found)])


def apply(mem: Memotherm, operation: Case) -> None:
    """Apply an operation by calls of the product."""
    request = operation["query"]
    if operation["op"] == "supersede":
        found = mem.recall(request, limit=1)
        if found.hits:
            mem.amend(found.hits[0].memory.id, operation["text"], part=request)
        else:
            mem.remember(operation["text"])
        return
    selection = mem.select(request)
    ids = [*selection.ids, *(match.memory.id for match in selection.proposed)]
    if ids:
        (mem.bulk.forget if operation["op"] == "release" else mem.bulk.purge)(ids=ids)


def recalled(mem: Memotherm, query: str) -> str:
    """Return the contents of the first hits, in lower case."""
    return "\n".join(hit.memory.content for hit in mem.recall(query, limit=_HITS)).casefold()


def _cases(path: Path) -> Iterator[Case]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.forget")
    parser.add_argument("--data", type=Path, required=True, help="the folder with the cases")
    parser.add_argument("--failed", action="store_true", help="print the cases that fail")
    arguments = parser.parse_args()
    print_rows("ForgetEval, revised rules", rows_of(arguments.data, failed=arguments.failed))
