"""Hold the first day with the real Claude Code and Codex, with earlier defaults and those of now, for `make hosts`.

The wheel is built and installed into an environment of its own. The results go to `bench/results/first_day.json`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bench.report import RESULTS
from rich.console import Console
from rich.table import Table

from tests.helpers import ROOT
from tests.hosts.clients import ClaudeCode, Codex, patient, worked_off
from tests.hosts.day import AFTERNOON, DECISION, DECISION_PROMPT, FACTS, MORNING, Conversation, summary, turns
from tests.hosts.model import Model, model

#: The defaults as they were, beside one memory for all projects: something is injected with every prompt, and
#: decisions go cold when a session ends.
EARLIER = {"MEMOTHERM_CONTEXT_MIN_CONFIDENCE": "0", "MEMOTHERM_TASK_COLD_AFTER_DAYS": "0",
           "MEMOTHERM_DECISION_COLD_AFTER_DAYS": "0"}  # fmt: skip


class Client(NamedTuple):
    """A coding agent: its program, its name in `memotherm install`, the file of its hooks, and how a session begins."""

    program: str
    name: str
    hooks: str
    begin: Callable[[Path, Mapping[str, str], int], Conversation]


CLIENTS = {
    "Claude Code": Client(
        "claude", "claude-code", ".claude/settings.json", lambda folder, env, port: ClaudeCode(folder, env)
    ),
    "Codex": Client("codex", "codex", ".codex/hooks.json", Codex),
}


def seed(home: Path, env: Mapping[str, str], *, shared: bool) -> None:
    """Store the facts of both projects."""
    scope = () if shared else ("--project", "auto", "--user", "auto")
    for project, facts in FACTS.items():
        lines = [json.dumps({"content": fact, "tier": "hot" if fact == facts[0] else "warm"}) for fact in facts]
        (home / project).mkdir(parents=True, exist_ok=True)
        _ours(home / project, env, "import", "jsonl", "-", *scope, given="\n".join(lines))


def hold(
    home: Path, env: Mapping[str, str], client: Client, begin: Callable[[Path], Conversation], *options: str
) -> dict[str, Any]:
    """Install the hooks, hold the two halves of the day, and return the sums."""
    for project in FACTS:
        (home / project / ".git").mkdir(parents=True)
    _ours(home, env, "install", client.name, *options)
    patient(home / client.hooks)
    held = [turn for visit in MORNING for turn in turns(visit, begin(home / visit.project))]
    worked_off(Path(env["MEMOTHERM_HOME"]) / "spool", lambda: _ours(home, env, "agent", "worker", "--once", "--all"))
    held += [turn for visit in AFTERNOON for turn in turns(visit, begin(home / visit.project))]
    return summary(held)


def _ours(folder: Path, env: Mapping[str, str], *words: str, given: str = "") -> str:
    command = ["memotherm", *words]
    return subprocess.run(command, env=env, cwd=folder, input=given, capture_output=True, text=True, check=True).stdout


def installed(folder: Path) -> Path:
    """Build the wheel, install it with the MCP server, and return the folder of its commands."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", folder / "dist", ROOT], check=True)
    (wheel,) = (folder / "dist").glob("memotherm-*.whl")
    venv.create(folder / "venv")
    python = folder / "venv" / "bin" / "python"
    subprocess.run([*pip, "--python", python, "install", "--quiet", f"{wheel}[mcp]"], check=True)
    return python.parent


def first_day(environment: Callable[[Path, int], dict[str, str]], names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return for each client the sums of the day with earlier defaults and with those of now."""
    with tempfile.TemporaryDirectory(prefix="memotherm-day-", ignore_cleanup_errors=True) as folder:
        commands = installed(Path(folder))
        return {name: _day(Path(folder) / CLIENTS[name].name, commands, environment, CLIENTS[name]) for name in names}


def _day(
    folder: Path, commands: Path, environment: Callable[[Path, int], dict[str, str]], client: Client
) -> dict[str, Any]:
    sums = {}
    for name, shared, settings in (("earlier defaults", True, EARLIER), ("defaults", False, {})):
        with model(reply="Noted.") as port:
            Model.to_store = {DECISION_PROMPT: {"content": DECISION, "kind": "decision"}}
            home = folder / name.replace(" ", "-")
            env = {**environment(home, port), **settings, "PATH": f"{commands}:{os.environ['PATH']}"}
            seed(home, env, shared=shared)
            begin = partial(_begin, client, env, port)
            sums[name] = hold(home, env, client, begin, *(["--shared"] if shared else []))
    return sums


def _begin(client: Client, env: Mapping[str, str], port: int, folder: Path) -> Conversation:
    return client.begin(folder, env, port)


def printed(client: str, days: Mapping[str, Mapping[str, Any]]) -> None:
    """Print the sums side by side."""
    table = Table(title=f"The first day with {client}", title_justify="left")
    for column in ("", *days):
        table.add_column(column, justify="left" if not column else "right")
    for name in next(iter(days.values())):
        if name != "turns":
            table.add_row(name, *(f"{sums[name]:,}" for sums in days.values()))
    Console().print(table)


def written(days: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the sums and all turns under `bench/results`."""
    clients = {name: {"client": _version(CLIENTS[name].program), **sums} for name, sums in days.items()}
    record = {"suite": "first_day", "date": datetime.now(UTC).isoformat(timespec="seconds"), **clients}
    (RESULTS / "first_day.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _version(program: str) -> str:
    return subprocess.run([program, "--version"], capture_output=True, text=True).stdout.strip()
