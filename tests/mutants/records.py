"""What earlier runs found, in files under `build/mutants/`, so that an interrupted run continues where it ended."""

from __future__ import annotations

import hashlib
import json
import pickle
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.mutants.mutations import Mutant
from tests.mutants.running import Reach

__all__ = ["ReachCache", "Results", "digest"]


def digest(files: Iterable[Path]) -> str:
    """Return one digest of the contents of some files."""
    found = hashlib.sha256()
    for file in sorted(set(files)):
        found.update(hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()


class Results:
    """One JSON line for each mutant that was run, appended when its tests end."""

    def __init__(self, path: Path, root: Path) -> None:
        self._path, self._root = path, root
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        self._found: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for record in map(json.loads, lines):
            self._found[record["mutant"]].append(record)

    def known(self, mutant: Mutant, tests: Sequence[str]) -> bool | None:
        """Return whether the mutant was killed, or None where it must be run.

        A killed mutant stays killed while its module is the same, a survivor while its tests are the same as well.
        """
        module, of_tests = digest([mutant.path]), self._tests(tests)
        records = [record for record in self._found[mutant.name] if record["module"] == module]
        if any(record["killed"] for record in records):
            return True
        return False if any(record["tests"] == of_tests for record in records) else None

    def add(self, mutant: Mutant, tests: Sequence[str], killed: bool) -> None:
        """Write the result of a mutant."""
        record = {
            "mutant": mutant.name,
            "killed": killed,
            "module": digest([mutant.path]),
            "tests": self._tests(tests),
        }
        self._found[mutant.name].append(record)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def _tests(self, tests: Sequence[str]) -> str:
        names = hashlib.sha256("\n".join(tests).encode()).hexdigest()
        return names + digest(self._root / test.partition("::")[0] for test in tests)


class ReachCache:
    """Which lines the tests of each file reach, kept until the file or the mutated modules change."""

    def __init__(self, path: Path, modules: Sequence[Path]) -> None:
        self._path, self._modules = path, digest(modules)
        self._found: dict[Path, tuple[str, Reach]] = {}
        if path.exists():
            modules_then, found = pickle.loads(path.read_bytes())
            self._found = found if modules_then == self._modules else {}

    def stale(self, files: Iterable[Path]) -> list[Path]:
        """Return the test files that have to be traced."""
        return [file for file in files if file not in self._found or self._found[file][0] != digest([file])]

    def add(self, files: Iterable[Path], reach: Reach, root: Path) -> None:
        """Keep what the tests of each file reach."""
        lines, seconds = reach
        for file in files:
            begin = f"{file.relative_to(root)}::"
            reached = {
                module: {line: {test for test in tests if test.startswith(begin)} for line, tests in found.items()}
                for module, found in lines.items()
            }
            took = {test: each for test, each in seconds.items() if test.startswith(begin)}
            self._found[file] = digest([file]), (reached, took)
        self._path.write_bytes(pickle.dumps((self._modules, self._found)))

    def merged(self, files: Iterable[Path]) -> Reach:
        """Return what the tests of all these files reach."""
        lines: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        seconds: dict[str, float] = {}
        for file in files:
            reached, took = self._found[file][1]
            seconds |= took
            for module, tests_of_line in reached.items():
                for line, tests in tests_of_line.items():
                    lines[module][line] |= tests
        return lines, seconds
