"""Start what the checks ask, and run them."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from anyio.from_thread import start_blocking_portal
from mcp import Client, StdioServerParameters

from memotherm import Memotherm, MemothermError
from tests.interfaces.served import COMMAND, Served, Server, environment, served
from tests.postgres import database, empty_database
from tests.spec.audit.faults import applied, command
from tests.spec.audit.interfaces import Cli, Hook, Mcp, NotesMcp, Python, Rest
from tests.spec.audit.table import Check

__all__ = ["TIGHT", "Interfaces", "Outcome", "run", "run_broken"]

#: Settings of the server with small limits.
TIGHT = {
    "MEMOTHERM_HOT_TOKEN_LIMIT": "60",
    "MEMOTHERM_MAX_COLD_ITEMS": "2",
    "MEMOTHERM_TASK_COLD_AFTER_DAYS": "0",
    "MEMOTHERM_DECISION_COLD_AFTER_DAYS": "0",
    "MEMOTHERM_INACTIVE_PREFERENCE_DAYS": "0",
    "MEMOTHERM_HOT_MAX_FACTS": "3",
    "MEMOTHERM_HOT_MAX_TOKENS": "60",
}


class Interfaces:
    """Servers and processes of a command on one kind of store; each is started when it is first asked."""

    def __init__(
        self,
        folder: Path,
        postgres: str | None = None,
        command: Sequence[str] = COMMAND,
        server: Server | None = None,
        *,
        own_schema: bool = False,
    ) -> None:
        self._folder = folder
        #: Whether the command makes the schema of its databases, instead of finding it there.
        self._own_schema = own_schema
        #: A server that is running already; only it is asked then.
        self._server = server
        self._command = command
        self._postgres = postgres
        self._stack = ExitStack()
        # Without a path of modules: the command is run as it is installed.
        self._variables = {"MEMOTHERM_EMBEDDER": "local", "PYTHONPATH": ""}
        self._environment = environment(folder / "home", **self._variables)
        self._files = 0

    def __enter__(self) -> Interfaces:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @contextmanager
    def bound(self, check: Check) -> Iterator[dict[str, Any]]:
        """Return the interfaces that a check names, bound to a scope of its own; close what it opens."""
        with ExitStack() as own:
            yield {name: self._bound(name, check.function.__name__, own) for name in check.interfaces}

    def asks(self, check: Check) -> bool:
        """Return whether all interfaces of a check are there."""
        return self._server is None or check.interfaces == ("rest",)

    def _bound(self, name: str, scope: str, own: ExitStack) -> object:
        make: dict[str, Callable[[], object]] = {
            "rest": lambda: Rest(lambda: self._rest, scope if self._server is None else f"{scope}-{self._folder.name}"),
            "tight": lambda: Rest(lambda: self._tight, scope),
            "mcp": lambda: Mcp(self._portal, lambda: self._mcp, scope),
            "all_tools": lambda: Mcp(self._portal, lambda: self._all_tools, scope),
            "one_tool": lambda: Mcp(self._portal, lambda: self._one_tool, scope),
            "notes": lambda: NotesMcp(self._portal, lambda: self._notes_mcp, scope, self._notes),
            "cli": lambda: Cli(self._command, self._store, scope, self._environment, self._new_folder()),
            "hook": lambda: Hook(self._command, self._store, scope, self._alone, self._new_folder()),
            "python": lambda: Python(lambda: self._empty(own), _closing(own), self._new_folder()),
        }
        return make[name]()

    @cached_property
    def _store(self) -> str:
        return self._empty(self._stack)

    @cached_property
    def _alone(self) -> dict[str, str]:
        """The variables of a process that does not find the server, which may be too busy to answer it in time."""
        return {**self._environment, "MEMOTHERM_HOME": str(self._folder / "alone")}

    @cached_property
    def _rest(self) -> Server:
        return self._server or self._served({})

    @cached_property
    def _tight(self) -> Served:
        return self._served(TIGHT)

    @cached_property
    def _portal(self) -> Any:
        return self._stack.enter_context(start_blocking_portal())

    @cached_property
    def _mcp(self) -> Client:
        return self._client("--store", self._store, "--project", "mcp")

    @cached_property
    def _all_tools(self) -> Client:
        return self._client("--store", self._store, "--project", "mcp", "--tools", "all")

    @cached_property
    def _one_tool(self) -> Client:
        return self._client("--store", self._store, "--project", "one", "--tools", "one")

    @cached_property
    def _notes(self) -> Path:
        root = self._new_folder()
        (root / "memory").mkdir()
        return root

    @cached_property
    def _notes_mcp(self) -> Client:
        return self._client("--store", self._empty(self._stack), "--notes", str(self._notes), "--tools", "all")

    def _client(self, *options: str) -> Client:
        program, *arguments = self._command
        parameters = StdioServerParameters(
            command=program, args=[*arguments, "mcp", *options], env=self._environment, cwd=self._folder
        )
        started: Client = self._stack.enter_context(self._portal.wrap_async_context_manager(Client(parameters)))
        return started

    def _served(self, settings: dict[str, str]) -> Served:
        unused, home = self._folder / "unused", self._folder / "home"
        values = {**self._variables, **settings}
        started = served(unused, command=self._command, store=self._store, home=home, **values)
        return self._stack.enter_context(started)

    def _empty(self, stack: ExitStack) -> str:
        """Return the place of an empty store that lives as long as a stack."""
        if self._postgres is not None:
            return stack.enter_context((empty_database if self._own_schema else database)(self._postgres))
        return str(self._new_folder() / "memory.db")

    def _new_folder(self) -> Path:
        self._files += 1
        folder = self._folder / f"folder{self._files}"
        folder.mkdir()
        return folder


def _closing(stack: ExitStack) -> Callable[[Memotherm], None]:
    def close_later(mem: Memotherm) -> None:
        stack.callback(mem.close)

    return close_later


@dataclass(frozen=True)
class Outcome:
    """The result of a check on one kind of store."""

    check: Check
    #: Why it failed; empty if it did not.
    failure: str = ""
    asked: bool = True
    #: Whether the product did not answer at all, which says nothing about a line.
    crashed: bool = False

    def result(self, line: str) -> str:
        """Return OK, by decision, FAIL, or not asked."""
        if not self.asked:
            return "not asked"
        if self.failure:
            return "FAIL"
        return f"by decision {self.check.decisions[line]}" if line in self.check.decisions else "OK"


def run(checks: Iterable[Check], interfaces: Interfaces) -> Iterator[Outcome]:
    """Run checks one after the other."""
    return (_outcome(check, interfaces) if interfaces.asks(check) else Outcome(check, asked=False) for check in checks)


def run_broken(line: str, checks: Iterable[Check], folder: Path, postgres: str | None = None) -> list[Outcome]:
    """Run the checks of a line on a product with the fault of that line: one of them must fail."""
    own = [check for check in checks if line in check.ids]
    with applied(line), Interfaces(folder, postgres, command(line), own_schema=True) as interfaces:
        return list(run(own, interfaces))


def _outcome(check: Check, interfaces: Interfaces) -> Outcome:
    try:
        with interfaces.bound(check) as given:
            check.function(**given)
    except Exception as error:  # noqa: BLE001 - a check that cannot be run has failed
        frames = traceback.extract_tb(error.__traceback__)
        asked = next((frame for frame in reversed(frames) if "/audit/" in frame.filename and frame.line), frames[-1])
        said = f"{type(error).__name__}: {str(error)[:300]} [{asked.line}]" if str(error) else f"not true: {asked.line}"
        return Outcome(check, said, crashed=_is_crash(error, frames[-1].filename, asked.filename))
    return Outcome(check)


def _is_crash(error: Exception, raised_in: str, asked_in: str) -> bool:
    """Return whether a check has failed because a program did not start, or ended with an error of its own."""
    if isinstance(error, AssertionError):
        return asked_in == __file__ or _BUG.search(str(error)) is not None
    return not isinstance(error, MemothermError) and "/audit/" not in raised_in


#: What the interfaces say when an exception reaches them that is none of ours.
_BUG = re.compile(r"answered 5\d\d|this is a bug|Traceback|\(\) (?:got|missing|takes) ")
