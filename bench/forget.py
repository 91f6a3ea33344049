"""ForgetEval: does a memory leave when it is told to, and do the others stay?

A case stores facts, applies operations in words (supersede, release, purge), asks a question, and checks texts of the
answer. The revised rules are used: the first five hits count, in the identifier categories a second entity must
survive, and nothing forbidden may be found by asking for it.

Each operation is one call of the product: a supersede amends the best hit of its query, a release forgets what `select`
returns for it, and a purge erases that, with the names in other scripts that it proposes.
"""

from __future__ import annotations

import gzip
import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import memotherm
from bench.report import Row
from bench.speed import Options
from bench.stores import Lab
from memotherm import InvalidInput, Memotherm

Case = dict[str, Any]
#: The keys that a case must have, with the type of each.
_KEYS = {"id": str, "category": str, "facts": list, "ops": list, "query": str, "expect": list, "forbid": list}
_OPERATIONS = ("supersede", "release", "purge")
_HITS = 5
#: The least share of all cases of a set that pass, and of the cases of a category.
_TARGETS = {"adversarial": 85.0, "templated": 99.8}
_CATEGORY_TARGET = 75.0


class Outcome(NamedTuple):
    """What came of a case."""

    set: str
    category: str
    id: str
    #: What is wrong; empty if it passed.
    problem: str


def measure(lab: Lab, _options: Options) -> list[Row]:
    """Return the share of cases that pass, by set and category; notes list the cases that fail."""
    named = os.environ.get("MEMOTHERM_DATA")
    if named is None:
        lab.progress.console.print("forget: no cases; pass --data DIR or set MEMOTHERM_DATA")
        return []
    task = lab.progress.add_task("cases")
    outcomes = run_sets(
        read_sets(Path(named)), lambda done, total: lab.progress.update(task, completed=done, total=total)
    )
    return [
        Row(
            key=f"{name}_{category}", what=f"{name}, {category.replace('_', ' ')}", unit="%",
            value=round(100 * passed / cases, 1), rising=True,
            target=_TARGETS.get(name, 0.0) if category == "all" else _CATEGORY_TARGET,
            notes={
                "passed": passed,
                "cases": cases,
                "failed": {
                    each.id: each.problem
                    for each in outcomes
                    if each.problem and each.set == name and category in ("all", each.category)
                },
            },
        )
        for (name, category), (passed, cases) in shares_of(outcomes).items()
    ]  # fmt: skip


def read_sets(folder: Path) -> dict[str, list[Case]]:
    """Return the cases of each file of a folder, or raise `InvalidInput`."""
    inner = folder / "forgeteval"
    files = sorted((inner if inner.is_dir() else folder).glob("*.jsonl*"))
    if not files:
        raise InvalidInput(f"{folder} has no cases: give the folder with adversarial.jsonl or adversarial.jsonl.gz")
    return {file.name.split(".")[0]: _read(file) for file in files}


def _read(file: Path) -> list[Case]:
    try:
        with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as lines:
            cases = [json.loads(line) for line in lines if line.strip()]
    except (OSError, EOFError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as exc:
        raise InvalidInput(f"{file} is no file of JSON lines: {exc}") from exc
    for number, case in enumerate(cases, 1):
        wrong = _wrong_key(case)
        if wrong:
            raise InvalidInput(f"{file.name}, case {number}: {wrong} is missing or of the wrong type")
    return cases


def _wrong_key(case: object) -> str | None:
    if not isinstance(case, dict):
        return "the case"
    wrong = (key for key, kind in _KEYS.items() if not isinstance(case.get(key), kind))
    texts = (key for key in ("facts", "expect", "forbid") if not all(isinstance(text, str) for text in case[key]))
    return next(wrong, None) or next(texts, None) or (None if all(map(_is_operation, case["ops"])) else "ops")


def _is_operation(operation: object) -> bool:
    return (
        isinstance(operation, dict)
        and operation.get("op") in _OPERATIONS
        and isinstance(operation.get("query"), str)
        and (operation["op"] != "supersede" or isinstance(operation.get("text"), str))
    )


def run_sets(sets: dict[str, list[Case]], progress: Callable[[int, int], None]) -> list[Outcome]:
    """Run the cases of each set in a store of its own, every case in a scope of its own."""
    outcomes: list[Outcome] = []
    total = sum(map(len, sets.values()))
    for name, cases in sets.items():
        with tempfile.TemporaryDirectory() as folder, memotherm.open(Path(folder) / "forget.db") as mem:
            for number, case in enumerate(cases):
                problem = run_case(mem.scoped(user=f"{number}-{case['id']}"), case)
                outcomes.append(Outcome(name, case["category"], case["id"], problem))
                progress(len(outcomes), total)
    return outcomes


def shares_of(outcomes: Iterable[Outcome]) -> dict[tuple[str, str], tuple[int, int]]:
    """Return how many cases passed and how many there are, by set and category; "all" comes first."""
    counted: defaultdict[tuple[str, str], list[bool]] = defaultdict(list)
    for outcome in outcomes:
        for category in ("all", outcome.category):
            counted[outcome.set, category].append(not outcome.problem)
    ordered = sorted(counted, key=lambda key: (key[0], key[1] != "all", key[1]))
    return {key: (sum(counted[key]), len(counted[key])) for key in ordered}


def run_case(mem: Memotherm, case: Case) -> str:
    """Return what is wrong after a case; empty if it passes."""
    more = case.get("sibling") or {}
    revised: Case = {**case, **more, "facts": [*case["facts"], *more.get("facts", ())]}
    for fact in revised["facts"]:
        mem.remember(fact)
    for operation in revised["ops"]:
        _apply(mem, operation)
    answer = _recalled(mem, revised["query"])
    missing = [text for text in revised["expect"] if text.casefold() not in answer]
    found = [text for text in case["forbid"] if text.casefold() in answer + _recalled(mem, text)]
    return "; ".join([*(f"missing {text!r}" for text in missing), *(f"found {text!r}" for text in found)])


def _apply(mem: Memotherm, operation: Case) -> None:
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


def _recalled(mem: Memotherm, query: str) -> str:
    """Return the contents of the first hits, in lower case."""
    return "\n".join(hit.memory.content for hit in mem.recall(query, limit=_HITS)).casefold()
