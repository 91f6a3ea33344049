"""Run tests in forked processes: once to see which lines each test reaches, then once for each mutant.

A fork has the package and its tests already, so that a mutant of a function costs no more than its tests: the changed
code is given to the function that is there. What runs at import, such as a constant, needs the package imported anew.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout, suppress
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import pytest

from tests.mutants.mutations import Mutant, mutated

__all__ = ["Forked", "Reach", "preload", "run_mutant", "trace"]

#: What each test reaches: {file: {line: tests}}; and the seconds of each test.
Reach = tuple[dict[str, dict[int, set[str]]], dict[str, float]]
_QUIET = ("-q", "-n", "0", "-p", "no:randomly", "--no-header", "--tb=no", "-W", "ignore")


class Forked:
    """A function that runs in a process of its own; its result is an exit code."""

    def __init__(self, call: Callable[[], int], seconds: float) -> None:
        self.ends = time.monotonic() + seconds
        sys.stdout.flush()
        self.pid = os.fork()
        if not self.pid:
            os.setsid()
            with Path(os.devnull).open("w") as nowhere:
                os.dup2(nowhere.fileno(), 1)
                os.dup2(nowhere.fileno(), 2)
            code = 1
            try:
                code = call()
            finally:
                os._exit(code)

    def poll(self) -> int | None:
        """Return the exit code, -9 after the time is over, or None while it runs."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() < self.ends:
            return None
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return -signal.SIGKILL


class _Tracer:
    """A pytest plugin that records which lines of some files each test reaches."""

    def __init__(self, files: frozenset[str]) -> None:
        self._files = files
        self._test = ""
        self.lines: dict[str, dict[int, set[str]]] = {file: defaultdict(set) for file in files}
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        self._test, began = item.nodeid, time.process_time()
        sys.settrace(self._called)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            self.seconds[item.nodeid] = time.process_time() - began

    def _called(self, frame: FrameType, _event: str, _argument: object) -> Any:
        return self._line if frame.f_code.co_filename in self._files else None

    def _line(self, frame: FrameType, _event: str, _argument: object) -> Any:
        self.lines[frame.f_code.co_filename][frame.f_lineno].add(self._test)
        return self._line


def trace(files: Sequence[Path], tests: Sequence[str]) -> tuple[int, Reach]:
    """Run the tests in this process and return pytest's exit code and what each test reaches."""
    tracer = _Tracer(frozenset(str(file) for file in files))
    code = pytest.main([*_QUIET, *tests], plugins=[tracer])
    return int(code), ({file: dict(lines) for file, lines in tracer.lines.items()}, tracer.seconds)


def run_mutant(mutant: Mutant, tests: Sequence[str]) -> int:
    """Make the change in this process, run the tests up to the first failure, and return pytest's exit code."""
    if mutant.runs:
        _exchange(mutant)
    else:
        for name in [name for name in sys.modules if name.partition(".")[0] in ("memotherm", "tests")]:
            if not name.startswith("tests.mutants"):
                del sys.modules[name]
        sys.meta_path.insert(0, _Finder(mutant))
    return int(pytest.main([*_QUIET, "-x", *tests]))


def preload(tests: Sequence[str]) -> None:
    """Import the package and the tests, so that every fork has them."""
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        pytest.main([*_QUIET, "--collect-only", *tests])


def _exchange(mutant: Mutant) -> None:
    """Give the changed code to the functions that have the code before the change, wherever they are referred to."""
    before = compile(mutant.path.read_text("utf-8"), str(mutant.path), "exec")
    after = compile(mutated(mutant), str(mutant.path), "exec")
    changed = {old: new for old, new in _pairs(before, after) if old != new}
    functions = [each for each in gc.get_objects() if isinstance(each, FunctionType) and each.__code__ in changed]
    assert functions, f"{mutant.name} changes no function that was imported"
    for function in functions:
        function.__code__ = changed[function.__code__]


def _pairs(before: CodeType, after: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Yield the code of each function before and after a change, also of those inside classes and functions."""
    codes = [[each for each in code.co_consts if isinstance(each, CodeType)] for code in (before, after)]
    for old, new in zip(*codes, strict=True):
        yield old, new
        yield from _pairs(old, new)


class _Finder(MetaPathFinder):
    """Finds the module of the mutant, and leaves every other one to the finders behind it."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the module with the change."""
        if fullname != self._mutant.module:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        assert spec is not None
        spec.loader = _loader(self._mutant)
        return spec


def _loader(mutant: Mutant) -> Loader:
    class Changed(SourceFileLoader):
        def get_code(self, fullname: str) -> CodeType:
            return compile(mutated(mutant), str(mutant.path), "exec")

    return Changed(mutant.module, str(mutant.path))
