"""The hooks and the MCP server of each coding agent, and the files that configure them."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from memotherm.hooks.backups import restored
from memotherm.hooks.merging import (
    FileChange,
    Json,
    merged_json,
    merged_toml,
    with_hooks,
    with_server,
    without_hooks,
    without_server,
)
from memotherm.settings import client_home, data_home

__all__ = ["CLIENTS", "PLUGINS", "RUNNERS", "InstallRequest", "Plan", "installed", "plan"]

#: The plugins in the package.
PLUGINS = Path(__file__).resolve().parent.parent / "plugins"


#: The commands that start the program on the machine of every teammate.
_PROGRAMS = {
    "path": ["memotherm"],
    "uvx": ["uvx", "--from", "memotherm[mcp]", "memotherm"],
    "pipx": ["pipx", "run", "--spec", "memotherm[mcp]", "memotherm"],
}
#: The ways to start the program.
RUNNERS = tuple(_PROGRAMS)


#: The environment variables that decide which store is opened; Codex passes a server only those that it is told to.
_FORWARDED = [
    "MEMOTHERM_HOME",
    "MEMOTHERM_STORE",
    "MEMOTHERM_EMBEDDER",
    "MEMOTHERM_KEY",
    "MEMOTHERM_KEY_FILE",
    "MEMOTHERM_API_KEY",
]


class InstallRequest(NamedTuple):
    """The options of an installation."""

    #: user or project.
    scope: str = "user"
    #: The project's folder, for the scope project.
    folder: Path = Path()
    #: Options for the hook and the server: --store, --project.
    options: tuple[str, ...] = ()
    capture: bool = True
    uninstall: bool = False
    #: How the program is started: path, uvx or pipx; None for this program, or for a project from the PATH.
    run_with: str | None = None


class Plan(NamedTuple):
    """The changes to files, and the steps left to the user."""

    changes: tuple[FileChange, ...]
    next_steps: tuple[str, ...] = ()


def plan(client: str, request: InstallRequest) -> Plan:
    """Return the changes for a client; nothing is written."""
    planned, steps = CLIENTS[client](request)
    changes = (change for change in planned if change is not None)
    return Plan(tuple(restored(change) if request.uninstall else change for change in changes), tuple(steps))


def installed(client: str) -> bool:
    """Return whether a client has our hooks or MCP server in the user's settings."""
    return bool(plan(client, InstallRequest(uninstall=True)).changes)


#: The changes to files, None where nothing changes, and the steps left to the user.
ClientPlan = tuple[list[FileChange | None], list[str]]


def _claude_code(request: InstallRequest) -> ClientPlan:
    if request.scope == "project":
        settings, servers = request.folder / ".claude" / "settings.json", request.folder / ".mcp.json"
    else:
        home = client_home("CLAUDE_CONFIG_DIR", ".claude")
        settings = home / "settings.json"
        servers = home / ".claude.json" if home != Path.home() / ".claude" else Path.home() / ".claude.json"
    events = {
        "SessionStart": ("startup|resume|clear|compact|fork", 10),
        "UserPromptSubmit": (None, 10),
        "PreCompact": (None, 10),
        "Stop": (None, 10),
        "SessionEnd": (None, 5),
    }
    return [
        merged_json(settings, _hooks(request, "claude", events)),
        merged_json(servers, _server(request, {"type": "stdio"})),
    ], ["start a new Claude Code session; `/hooks` and `/mcp` list them"]


def _codex(request: InstallRequest) -> ClientPlan:
    home = request.folder / ".codex" if request.scope == "project" else client_home("CODEX_HOME", ".codex")
    events = {
        "SessionStart": ("startup|resume|clear|compact", 10),
        "UserPromptSubmit": (None, 10),
        "PreCompact": (None, 10),
        "Stop": (None, 10),
        "SessionEnd": (None, 3),
    }
    program, *arguments = _command("mcp", request)
    table = (
        f"[mcp_servers.memotherm]\ncommand = {json.dumps(program)}\nargs = {json.dumps(arguments)}\n"
        f"env_vars = {json.dumps(_FORWARDED)}\n"
    )
    return [
        merged_json(home / "hooks.json", _hooks(request, "codex", events)),
        merged_toml(home / "config.toml", None if request.uninstall else table),
    ], ["start a new Codex session, and trust the hooks when it asks"]


def _gemini(request: InstallRequest) -> ClientPlan:
    home = request.folder / ".gemini" if request.scope == "project" else Path.home() / ".gemini"
    # Gemini's timeouts are in milliseconds.
    events = dict.fromkeys(("SessionStart", "BeforeAgent", "AfterAgent", "PreCompress", "SessionEnd"), (None, 10000))
    hooks, server = _hooks(request, "gemini", events, {"name": "memotherm"}), _server(request, {})
    return [merged_json(home / "settings.json", lambda values: server(hooks(values)))], [
        "start a new Gemini CLI session in a trusted folder"
    ]


def _openclaw(request: InstallRequest) -> ClientPlan:
    folder = data_home() / "openclaw-plugin"
    if request.uninstall:
        files = sorted(folder.glob("*")) if folder.is_dir() else []
        return [FileChange(file, file.read_text("utf-8"), None, own=True) for file in files], [
            "openclaw plugins uninstall memotherm"
        ]
    command = json.dumps({"command": _command("hook", request)}, indent=2) + "\n"
    texts = {file.name: file.read_text("utf-8") for file in sorted((PLUGINS / "openclaw").iterdir()) if file.is_file()}
    texts["command.json"] = command
    return [_own_file(folder / name, text) for name, text in texts.items()], [
        f"openclaw plugins install {shlex.quote(str(folder))} --accept-capabilities",
        "openclaw config set plugins.entries.memotherm.hooks.allowConversationAccess true",
    ]


CLIENTS: dict[str, Callable[[InstallRequest], ClientPlan]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "gemini": _gemini,
    "openclaw": _openclaw,
}


def _own_file(path: Path, text: str) -> FileChange | None:
    before = path.read_text("utf-8") if path.is_file() else None
    return None if before == text else FileChange(path, before, text, own=True)


def _hooks(
    request: InstallRequest, client: str, events: Mapping[str, tuple[str | None, int]], extra: Json | None = None
) -> Callable[[Json], Json]:
    if request.uninstall:
        return without_hooks
    words = _command("hook", request)
    after_verb = words.index("hook") + 1
    command = _command_line([*words[:after_verb], "--client", client, *words[after_verb:]])
    entries: dict[str, Json] = {}
    for event, (matcher, timeout) in events.items():
        hook = {**(extra or {}), "type": "command", "command": command, "timeout": timeout}
        entries[event] = {**({"matcher": matcher} if matcher else {}), "hooks": [hook]}
    return lambda values: with_hooks(values, entries)


def _server(request: InstallRequest, extra: Json) -> Callable[[Json], Json]:
    if request.uninstall:
        return without_server
    program, *arguments = _command("mcp", request)
    return lambda values: with_server(values, {**extra, "command": program, "args": arguments})


def _command(verb: str, request: InstallRequest) -> list[str]:
    """Return a command; it has the absolute path of the program, unless other people use the same configuration."""
    runner = request.run_with or ("path" if request.scope == "project" else None)
    program = _PROGRAMS[runner] if runner else _own_program()
    capture = ["--no-capture"] if verb == "hook" and not request.capture else []
    return [*program, verb, *request.options, *capture]


def _own_program() -> list[str]:
    """Return the absolute path of the program: hosts may have another PATH."""
    script = shutil.which("memotherm", path=str(Path(sys.executable).parent))
    return [script] if script else [sys.executable, "-m", "memotherm"]


def _command_line(words: list[str]) -> str:
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)
