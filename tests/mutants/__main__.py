"""Change the pure code in 200 places, one at a time, and count the changes that the fast tests notice.

The sample is the same for the same code. Each mutant is run against the tests that reach its statement, up to the first
failure: a first round with the quickest of them, and for those that survive it a second one with all the others.
Results are kept under `build/mutants/`: an interrupted run continues, and after a change of some tests only the
survivors are run again. `MUTANTS` sets the size of the sample, `MUTANTS_JOBS` how many are run at once. The result is
written to `docs/reference/mutants.md`.
"""

from __future__ import annotations

import os
import pickle
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.mutants.mutations import Mutant, mutants_of, sample
from tests.mutants.records import ReachCache, Results
from tests.mutants.running import Forked, Reach, run_imported, run_mutant, trace, with_collected

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "reference" / "mutants.md"
SOURCE = ROOT / "src"
KEPT = ROOT / "build" / "mutants"
COUNT = int(os.environ.get("MUTANTS", "200"))
JOBS = int(os.environ.get("MUTANTS_JOBS", "1"))
LEAST_KILLED = 0.9
#: The pure code: decisions without input, output or a clock.
PURE = (
    "tiers/rules/conditions", "tiers/rules/properties", "tiers/rules/retention", "tiers/rules/rule",
    "tiers/rules/table", "tiers/policy_checks", "recall/confidence", "recall/evidence",
    "recall/rank", "recall/values", "context/formats", "context/forms", "context/groups", "context/packer",
    "remember/authority", "remember/draft", "remember/limits", "notes/flush", "notes/placement",
)  # fmt: skip
#: The fast tests of that code, on files.
TESTS = (
    "tests/rules", "tests/policy", "tests/spec", "tests/test_packing.py", "tests/test_rank.py", "tests/test_recall.py",
    "tests/test_recall_reranker.py", "tests/test_recall_as_of.py", "tests/test_recall_filters.py",
    "tests/test_confidence.py", "tests/test_receipts.py", "tests/test_truncation.py", "tests/test_values.py",
    "tests/test_context.py", "tests/test_draft.py", "tests/test_keys.py", "tests/test_remember.py",
    "tests/test_changes.py", "tests/embed/test_languages.py",
    "tests/notes/test_flush.py", "tests/notes/test_scopes.py", "tests/notes/test_search.py",
    "tests/properties/test_budget.py", "tests/properties/test_tiers.py",
)  # fmt: skip
_SELECTED = ("-k", "not postgres", "-m", "not postgres")
#: The tests of the first round: the most of them, and the most seconds that they took.
_FIRST = 60, 3.0


def mutants() -> list[Mutant]:
    """Return the sample."""
    return sample((mutant for module, path in modules().items() for mutant in mutants_of(module, path)), COUNT)


def modules() -> dict[str, Path]:
    """Return the files of the modules of the pure code."""
    return {f"memotherm.{part.replace('/', '.')}": SOURCE / "memotherm" / f"{part}.py" for part in PURE}


def reach() -> Reach:
    """Return which tests reach which lines of the pure code; only test files that are new or changed are run."""
    files = [file for name in TESTS for file in _test_files(ROOT / name)]
    cache = ReachCache(KEPT / "reach", list(modules().values()))
    if stale := cache.stale(files):
        print("tracing the tests of", len(stale), "files", flush=True)
        cache.add(stale, _traced(stale), ROOT)
    return cache.merged(files)


def _test_files(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(path.rglob("test_*.py"))


def _traced(files: Sequence[Path]) -> Reach:
    """Run the tests of some files in a fork and return what they reach."""
    with tempfile.TemporaryDirectory() as place:
        result = Path(place) / "reach"

        def run() -> bool:
            tests = [str(file.relative_to(ROOT)) for file in files]
            failed, found = trace(modules(), [*tests, *_SELECTED])
            result.write_bytes(pickle.dumps(found))
            return failed

        process = Forked(run, 3600)
        while (failed := process.failed()) is None:
            time.sleep(0.1)
        if failed:
            raise SystemExit("a test fails without a mutant: run the tests first")
        return pickle.loads(result.read_bytes())  # type: ignore[no-any-return]


def reaching(mutant: Mutant, found: Reach, modules_of: Counter[str]) -> list[str]:
    """Return the tests that reach the lines of a mutant, those that reach the fewest modules first."""
    lines, seconds = found
    # What runs at import, such as a constant, may be used by any test.
    tests = set(seconds)
    if mutant.runs:
        reached, (first, last) = lines[str(mutant.path)], mutant.lines
        tests = {test for line in range(first, last + 1) for test in reached.get(line, ())}
    return sorted(tests, key=lambda test: (modules_of[test], seconds[test]))


def breadth(found: Reach) -> Counter[str]:
    """Return how many modules each test reaches."""
    return Counter(test for lines in found[0].values() for test in set().union(*lines.values()))


def within(tests: Sequence[str], seconds: dict[str, float], limits: tuple[int, float]) -> list[str]:
    """Return as many of the tests as the limits allow, at least one."""
    most, longest = limits
    chosen: list[str] = []
    total = 0.0
    for test in tests[:most]:
        total += seconds[test]
        if chosen and total > longest:
            break
        chosen.append(test)
    return chosen


class Run(NamedTuple):
    """What a run of mutants needs: the collected tests, the seconds that each of them took, and known results."""

    items: dict[str, pytest.Item]
    seconds: dict[str, float]
    results: Results


def survivors(round_: list[tuple[Mutant, list[str]]], run: Run) -> Iterator[Mutant]:
    """Run each mutant against its tests, unless the result is known, and yield those that survive."""
    waiting, running = list(reversed(round_)), dict[Forked, tuple[Mutant, list[str]]]()
    while waiting or running:
        while waiting and len(running) < JOBS:
            mutant, tests = waiting.pop()
            known = run.results.known(mutant, tests) if tests else False
            if known is None:
                limit = (5 if mutant.runs else 60) + 10 * sum(run.seconds[test] for test in tests)
                running[Forked(_call(mutant, tests, run.items), limit)] = mutant, tests
            elif not known:
                yield mutant
        for process, (mutant, tests) in list(running.items()):
            killed = process.failed()
            if killed is not None:
                del running[process]
                print("killed  " if killed else "survives", mutant.name, flush=True)
                run.results.add(mutant, tests, killed=killed)
                if not killed:
                    yield mutant
        time.sleep(0.02 if running else 0)


def _call(mutant: Mutant, tests: list[str], items: dict[str, pytest.Item]) -> Callable[[], bool]:
    if mutant.runs:
        return lambda: run_mutant(mutant, [items[test] for test in tests])
    return lambda: run_imported(mutant, tests)


def survive(tried: Sequence[Mutant], found: Reach, run: Run) -> list[Mutant]:
    """Return the mutants that no test notices, in two rounds; also those that no test reaches."""
    modules_of = breadth(found)
    tests = {mutant.name: reaching(mutant, found, modules_of) for mutant in tried}
    first = {mutant.name: within(tests[mutant.name], run.seconds, _FIRST) for mutant in tried}
    survived = list(survivors([(mutant, first[mutant.name]) for mutant in tried], run))
    rest = [(m, [test for test in tests[m.name] if test not in first[m.name]]) for m in survived]
    return list(survivors([(mutant, by_file(others)) for mutant, others in rest], run))


def by_file(tests: Sequence[str]) -> list[str]:
    """Return the tests with those of one file together, so that its fixtures are set up once."""
    files = {file: place for place, file in enumerate(dict.fromkeys(test.partition("::")[0] for test in tests))}
    return sorted(tests, key=lambda test: files[test.partition("::")[0]])


def page(tried: Sequence[Mutant], survived: dict[str, str]) -> str:
    """Return the page of the result; `survived` has why no test fails, or nothing where that is not known."""
    total, killed = Counter(m.module for m in tried), Counter(m.module for m in tried if m.name not in survived)
    rows = [f"| `{module}` | {total[module]} | {killed[module]} |" for module in sorted(total)]
    table = [f"| `{name.replace('|', '&#124;')}` | {why or 'not explained yet'} |" for name, why in survived.items()]
    count, share = sum(killed.values()), sum(killed.values()) / len(tried)
    explained = sum(bool(why) for why in survived.values())
    return "\n".join(
        [
            "# Mutation testing",
            "",
            "`make mutants` changes the pure code (the rules of tiers, ranking, packing and limits) in one place at a",
            "time: a comparison, an operator, a condition or a constant. It runs the tests that reach the place, on",
            "SQLite. A mutant is killed when one of them fails or takes more than ten times as long.",
            "",
            f"Of {len(tried)} mutants, {count} were killed ({share:.1%}). Of the {len(survived)} survivors,",
            f"{explained} change no behaviour that a test could see, for the reasons below; none counts as killed.",
            "",
            "| module | mutants | killed |",
            "|---|---|---|",
            *rows,
            "",
            *(["## Survivors", "", "| mutant | why no test fails |", "|---|---|", *table, ""] if table else []),
        ]
    )


def main() -> int:
    """Run the sample, write the page, and fail if too many mutants survive."""
    KEPT.mkdir(parents=True, exist_ok=True)
    tried, found = mutants(), reach()
    reasons: dict[str, str] = tomllib.loads((Path(__file__).parent / "explained.toml").read_text("utf-8"))
    run = Run({}, found[1], Results(KEPT / "results.jsonl", ROOT))
    # Before the package is imported here.
    left = survive([mutant for mutant in tried if not mutant.runs], found, run)

    def work(items: dict[str, pytest.Item]) -> None:
        left.extend(survive([mutant for mutant in tried if mutant.runs], found, run._replace(items=items)))

    with_collected([*TESTS, *_SELECTED], work)
    survived = {mutant.name: reasons.get(mutant.name, "") for mutant in sorted(left, key=lambda each: each.name)}
    PAGE.write_text(page(tried, survived), encoding="utf-8")
    killed = 1 - len(survived) / len(tried)
    print(f"{len(tried)} mutants, {len(survived)} survive: {killed:.1%} killed; see {PAGE.relative_to(ROOT)}")
    return 0 if killed >= LEAST_KILLED else 1


if __name__ == "__main__":
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    os.environ["BUDGET_CASES"] = "1000"
    if Path("/dev/shm").is_dir():
        os.environ.setdefault("TMPDIR", "/dev/shm")
    sys.path.insert(0, str(SOURCE))
    os.chdir(ROOT)
    sys.exit(main())
