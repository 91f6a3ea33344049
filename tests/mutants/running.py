"""Run tests in forked processes: once to see which statements each test reaches, then once for each mutant.

A fork has the package and its tests already, so that a mutant of a function costs no more than its tests: the changed
code is given to the function that is there. What runs at import, such as a constant, needs a process that has not
imported the package yet.
"""

from __future__ import annotations

import gc
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

from tests.mutants.mutations import REACHED, Mutant, mutated, recorded

__all__ = ["Forked", "Reach", "run_imported", "run_mutant", "trace", "with_collected"]

#: What each test reaches: {file: {line: tests}}; and the seconds of each test.
Reach = tuple[dict[str, dict[int, set[str]]], dict[str, float]]
_QUIET = ("-q", "-n", "0", "-p", "no:randomly", "--no-header", "--tb=no", "-W", "ignore")


class Forked:
    """A function that runs in a process of its own, with a folder for the files of tests.

    The limit of time is of the processor, because other programs may slow the machine down. A function that waits for
    ever ends after ten times as many seconds.
    """

    def __init__(self, call: Callable[[], bool], seconds: float) -> None:
        self._ends = time.monotonic() + 10 * seconds
        self._folder = Path(tempfile.mkdtemp(prefix="memotherm-mutant-"))
        sys.stdout.flush()
        self.pid = os.fork()
        if not self.pid:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds)))
            with Path(os.devnull).open("w") as nowhere:
                os.dup2(nowhere.fileno(), 1)
                os.dup2(nowhere.fileno(), 2)
            os.environ["PYTEST_DEBUG_TEMPROOT"] = str(self._folder)
            failed = True
            try:
                failed = call()
            finally:
                os._exit(failed)

    def failed(self) -> bool | None:
        """Return whether the function returned true, raised an error or did not end in time; None while it runs."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if not pid and time.monotonic() < self._ends:
            return None
        # Also what the function has started and left behind.
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        if not pid:
            _, status = os.waitpid(self.pid, 0)
        shutil.rmtree(self._folder, ignore_errors=True)
        return os.waitstatus_to_exitcode(status) != 0


class _Recorder:
    """A pytest plugin that records which statements of some files each test reaches."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._test = ""
        self.lines: dict[str, dict[int, set[str]]] = {str(file): defaultdict(set) for file in files}
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        self._test, began = item.nodeid, time.process_time()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = time.process_time() - began

    def reached(self, path: Path) -> Callable[[int], None]:
        """Return the function that the statements of a file call with their line."""
        lines = self.lines[str(path)]
        return lambda line: lines[line].add(self._test)


def trace(modules: dict[str, Path], tests: Sequence[str]) -> tuple[bool, Reach]:
    """Run the tests in this process and return whether one fails, and what each test reaches in the modules."""
    recorder = _Recorder(list(modules.values()))
    for name, path in modules.items():
        code = compile(recorded(path), str(path), "exec")
        sys.meta_path.insert(0, _Finder(name, path, code, recorder.reached(path)))
    failed = pytest.main([*_QUIET, *tests], plugins=[recorder]) not in (
        pytest.ExitCode.OK,
        pytest.ExitCode.NO_TESTS_COLLECTED,
    )
    return failed, ({file: dict(lines) for file, lines in recorder.lines.items()}, recorder.seconds)


def with_collected(tests: Sequence[str], work: Callable[[dict[str, pytest.Item]], None]) -> None:
    """Import the package and collect the tests, and call a function with them, whose forks need not do it again."""
    pytest.main([*_QUIET, "--capture=no", *tests], plugins=[_Collected(work)])


class _Collected:
    """A pytest plugin that gives the collected tests to a function instead of running them."""

    def __init__(self, work: Callable[[dict[str, pytest.Item]], None]) -> None:
        self._work = work

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._work({item.nodeid: item for item in session.items})
        return True


def run_mutant(mutant: Mutant, tests: Sequence[pytest.Item]) -> bool:
    """Change a function in this process and run the tests; return whether one has failed."""
    _exchange(mutant)
    return _one_fails(tests)


def run_imported(mutant: Mutant, tests: Sequence[str]) -> bool:
    """Import the package with a change, which was not imported before, and run the tests; tell whether one fails."""
    code = compile(mutated(mutant), str(mutant.path), "exec")
    sys.meta_path.insert(0, _Finder(mutant.module, mutant.path, code))
    return pytest.main([*_QUIET, "-x", *tests]) != pytest.ExitCode.OK


def _one_fails(tests: Sequence[pytest.Item]) -> bool:
    for test, following in zip(tests, [*tests[1:], None], strict=True):
        test.ihook.pytest_runtest_protocol(item=test, nextitem=following)
        if test.session.testsfailed:
            return True
    return False


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
    """Finds one module, with other code than its file has, and leaves every other one to the finders behind it."""

    def __init__(self, module: str, path: Path, code: CodeType, reached: Callable[[int], None] | None = None) -> None:
        self._module, self._loader = module, _Loader(module, path, code, reached)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the module with the other code."""
        if fullname != self._module:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        assert spec is not None
        spec.loader = self._loader
        return spec


class _Loader(SourceFileLoader):
    def __init__(self, module: str, path: Path, code: CodeType, reached: Callable[[int], None] | None) -> None:
        super().__init__(module, str(path))
        self._code, self._reached = code, reached

    def get_code(self, fullname: str) -> CodeType:
        """Return the other code."""
        return self._code

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, with the function that its statements call."""
        vars(module)[REACHED] = self._reached
        super().exec_module(module)
