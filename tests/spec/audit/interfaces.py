"""The interfaces that checks ask, each bound to the scope of one check."""

from __future__ import annotations

import json
import re
import subprocess
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal
from mcp import Client

import memotherm
from memotherm import Memotherm
from memotherm.testing import FakeClock, HashEmbedder
from tests.interfaces.served import Server

__all__ = ["Cli", "Hook", "Mcp", "NotesMcp", "Python", "Rest", "refusal"]

Json = dict[str, Any]


@dataclass(frozen=True)
class Rest:
    """An HTTP server, asked in the scope of a check."""

    #: Starts the server, if nobody has asked it yet.
    server: Callable[[], Server]
    name: str

    def ask(self, method: str, path: str, body: Json | None = None, scope: str | None = None) -> tuple[int, Any]:
        """Send a request in the scope of the check, or in another one."""
        wanted = f"project={self.name}" if scope is None else scope
        return self.server().ask(method, path, body, {"Memotherm-Scope": wanted} if wanted else {})

    def get(self, path: str, scope: str | None = None) -> Any:
        """Return the answer to a GET request that must succeed."""
        return self._answered("GET", path, None, scope)

    def post(self, path: str, body: Json | None = None, scope: str | None = None) -> Any:
        """Return the answer to a POST request that must succeed."""
        return self._answered("POST", path, body, scope)

    def delete(self, path: str) -> Any:
        """Return the answer to a DELETE request that must succeed."""
        return self._answered("DELETE", path, None, None)

    def refused(self, path: str, body: Json) -> Any:
        """Return the problem of a POST request that must fail."""
        status, answer = self.ask("POST", path, body)
        assert 400 <= status < 500, f"{path} answered {status}"
        return answer

    def remember(self, content: str, scope: str | None = None, **fields: Any) -> Any:
        """Store a memory."""
        return self.post("/memories", {"content": content, **fields}, scope)

    def read(self, memory: Json | str) -> Any:
        """Return a memory as it is now."""
        return self.get(f"/memories/{_id(memory)}?hidden=true")

    def change(self, memory: Json | str, verb: str, **body: Any) -> Any:
        """Carry out a verb, such as pin or move, on a memory."""
        return self.post(f"/memories/{_id(memory)}/{verb}", body)

    def recall(self, query: str, **body: Any) -> Any:
        """Search as `memory_recall` does."""
        return self.post("/recall", {"query": query, **body})

    def query(self, query: str, **body: Any) -> Any:
        """Search as `POST /memory/query` does."""
        return self.post("/memory/query", {"query": query, **body})

    def rules(self, memory: Json | str) -> list[str]:
        """Return the rule of each event of a memory."""
        return [event["rule"] for event in self.get(f"/memories/{_id(memory)}/history")["events"]]

    def add(self, content: str, kind: str = "message", session: str = "s") -> Any:
        """Add to the hot memories of a session."""
        return self.session("memories", session, content=content, type=kind)

    def session(self, verb: str, session: str = "s", **body: Any) -> Any:
        """Carry out a verb of a session."""
        return self.post(f"/sessions/{session}/{verb}", body)

    def status(self, session: str = "s") -> Any:
        """Return the status of a session."""
        return self.get(f"/sessions/{session}/status")

    def metrics(self) -> str:
        """Return the page for Prometheus."""
        with urllib.request.urlopen(f"{self.server().url}/metrics", timeout=60) as answer:
            return str(answer.read().decode())

    def _answered(self, method: str, path: str, body: Json | None, scope: str | None) -> Any:
        status, answer = self.ask(method, path, body, scope)
        assert status < 300, f"{method} {path} answered {status}: {answer}"
        return answer


@dataclass(frozen=True)
class Mcp:
    """An MCP server over standard input and output, asked by the official client."""

    portal: BlockingPortal
    #: Starts the server, if nobody has asked it yet.
    client: Callable[[], Client]
    name: str

    def __call__(self, tool: str, **arguments: Any) -> Json:
        """Call a tool that must succeed."""
        answer = self._called(tool, arguments)
        assert not answer.is_error, _error(tool, answer)
        return dict(answer.structured_content)

    def refused(self, tool: str, **arguments: Any) -> str:
        """Call a tool that must fail, and return what it says."""
        answer = self._called(tool, arguments)
        assert answer.is_error, f"{tool} accepted {arguments}"
        return str(answer.content[0].text)

    def schema(self, tool: str) -> Json:
        """Return the schema of a tool's parameters."""
        tools = self.portal.call(self.client().list_tools).tools
        return next(dict(each.input_schema) for each in tools if each.name == tool)

    def tools(self) -> list[str]:
        """Return the names of the tools."""
        return [each.name for each in self.portal.call(self.client().list_tools).tools]

    def prompt(self, name: str) -> str:
        """Return the text of a prompt."""
        return str(self.portal.call(self.client().get_prompt, name, {}).messages[0].content.text)  # type: ignore[union-attr]

    def _called(self, tool: str, arguments: Json) -> Any:
        return self.portal.call(self.client().call_tool, tool, arguments)


@dataclass(frozen=True)
class NotesMcp(Mcp):
    """An MCP server with a folder of notes."""

    root: Path

    def write(self, path: str, text: str) -> Path:
        """Write a note, as an editor does."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        return file

    def search(self, query: str, **arguments: Any) -> list[Json]:
        """Return the results of `memory_search`."""
        return list(self("memory_search", query=query, **arguments)["results"])


@dataclass(frozen=True)
class Cli:
    """The command line, in a process of its own for each command."""

    command: Sequence[str]
    store: str
    name: str
    environment: Mapping[str, str]
    folder: Path

    def __call__(self, *arguments: object, **settings: object) -> Any:
        """Run a command with `--json` and return what it printed."""
        return json.loads(self.text(*arguments, "--json", **settings))

    def text(self, *arguments: object, **settings: object) -> str:
        """Run a command that must succeed in the scope of the check, and return its standard output."""
        code, out, err = self.run(*arguments, "--store", self.store, "--project", self.name, **settings)
        assert code == 0, f"memotherm {arguments[0]} exited with {code}: {err}"
        return out

    def refused(self, *arguments: object, **settings: object) -> str:
        """Run a command that must fail, and return its standard error."""
        code, _, err = self.run(*arguments, "--store", self.store, "--project", self.name, **settings)
        assert code, f"memotherm {arguments} was accepted"
        return err

    def run(self, *arguments: object, **settings: object) -> tuple[int, str, str]:
        """Run a command with settings; return the exit code and both outputs."""
        variables = {f"MEMOTHERM_{name.upper()}": str(value) for name, value in settings.items()}
        done = subprocess.run(
            [*self.command, *map(str, arguments)],
            capture_output=True,
            text=True,
            env={**self.environment, **variables},
            cwd=self.folder,
            timeout=120,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr


@dataclass(frozen=True)
class Hook:
    """The hook of a host, in a process of its own for each event."""

    command: Sequence[str]
    store: str
    name: str
    environment: Mapping[str, str]
    folder: Path

    def __call__(self, event: str, **fields: Any) -> str:
        """Send an event of the session of the check, and return the text for the host."""
        payload = {"hook_event_name": event, "session_id": self.name, "cwd": str(self.folder), **fields}
        options = ["--store", self.store, "--project", self.name, "--deadline", "60", "--no-worker"]
        printed = self._run("hook", *options, given=json.dumps(payload))
        answer = json.loads(printed) if printed else {}
        return str(answer.get("prependContext") or answer.get("hookSpecificOutput", {}).get("additionalContext", ""))

    def work(self) -> None:
        """Process the jobs that hooks have spooled."""
        self._run("agent", "worker", "--once", "--all", "--quiet")

    def _run(self, *arguments: str, given: str = "") -> str:
        done = subprocess.run(
            [*self.command, *arguments],
            input=given,
            capture_output=True,
            text=True,
            env=dict(self.environment),
            cwd=self.folder,
            timeout=120,
            check=True,
        )
        return done.stdout


@dataclass(frozen=True)
class Python:
    """The package, with an empty store, a clock and an embedder of its own for each memory opened."""

    locate: Callable[[], str]
    close: Callable[[Memotherm], None]
    folder: Path
    clock: FakeClock = field(default_factory=FakeClock)

    def open(self, at: str | None = None, **arguments: Any) -> Memotherm:
        """Open a new store, or the one at a place; further arguments are settings."""
        given: Json = {name: arguments.pop(name) for name in ("embedder", "scope") if name in arguments}
        values: Json = {"embedder": HashEmbedder(), "clock": self.clock, **given}
        mem = memotherm.open(at or self.locate(), settings=arguments, **values)
        self.close(mem)
        return mem


def refusal(error: type[Exception], call: Callable[..., object], *arguments: object, **options: Any) -> str:
    """Return what a call says that must raise an error."""
    try:
        call(*arguments, **options)
    except error as raised:
        return str(raised)
    raise AssertionError(f"{call.__name__}{arguments} was accepted")


def _error(tool: str, answer: Any) -> str:
    """Return what a tool says that has failed; the errors of the product end with their code."""
    said = str(answer.content[0].text)
    return f"{tool}: {said}" if re.search(r"\[\w+\]$", said) else f"{tool}: this is a bug: {said}"


def _id(memory: Json | str) -> str:
    return memory if isinstance(memory, str) else str(memory["id"])
