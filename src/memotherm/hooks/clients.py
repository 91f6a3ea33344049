"""What each coding agent needs to have a memory: its hooks, its MCP server, and the files they stand in."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

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

__all__ = ["CLIENTS", "PLUGINS", "InstallRequest", "Plan", "installed", "plan"]

#: The plugins that come with the package.
PLUGINS = Path(__file__).resolve().parent.parent / "plugins"


class InstallRequest(NamedTuple):
    """What somebody wants installed."""

    #: user or project.
    scope: str = "user"
    #: The folder of the project.
    folder: Path = Path()
    #: What the hook and the server are told: --store, --project.
    options: tuple[str, ...] = ()
    capture: bool = True
    uninstall: bool = False


class Plan(NamedTuple):
    """What has to change, and what a person has to do."""

    changes: tuple[FileChange, ...]
    next: tuple[str, ...] = ()


def plan(client: str, wish: InstallRequest) -> Plan:
    """Return what has to change for a client; nothing is written."""
    changes, steps = CLIENTS[client](wish)
    return Plan(tuple(change for change in changes if change is not None), tuple(steps))


def installed(client: str) -> bool:
    """Tell whether everything for a client stands in the user's settings, as somebody may want it."""
    return bool(plan(client, InstallRequest(uninstall=True)).changes)


Found = tuple[list[FileChange | None], list[str]]


def _claude_code(wish: InstallRequest) -> Found:
    if wish.scope == "project":
        settings, servers = wish.folder / ".claude" / "settings.json", wish.folder / ".mcp.json"
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
        merged_json(settings, _hooks(wish, "claude", events)),
        merged_json(servers, _server(wish, {"type": "stdio"})),
    ], ["start a new Claude Code session; `/hooks` and `/mcp` show what is there"]


def _codex(wish: InstallRequest) -> Found:
    home = wish.folder / ".codex" if wish.scope == "project" else client_home("CODEX_HOME", ".codex")
    events = {
        "SessionStart": ("startup|resume|clear|compact", 10),
        "UserPromptSubmit": (None, 10),
        "PreCompact": (None, 10),
        "Stop": (None, 10),
        "SessionEnd": (None, 3),
    }
    program, *arguments = _program("mcp", wish)
    table = f"[mcp_servers.memotherm]\ncommand = {json.dumps(program)}\nargs = {json.dumps(arguments)}\n"
    return [
        merged_json(home / "hooks.json", _hooks(wish, "codex", events)),
        merged_toml(home / "config.toml", None if wish.uninstall else table),
    ], ["start a new Codex session, and trust the hooks when it asks"]


def _gemini(wish: InstallRequest) -> Found:
    home = wish.folder / ".gemini" if wish.scope == "project" else Path.home() / ".gemini"
    # Gemini counts in milliseconds.
    events = dict.fromkeys(("SessionStart", "BeforeAgent", "AfterAgent", "PreCompress", "SessionEnd"), (None, 10000))
    hooks, server = _hooks(wish, "gemini", events, {"name": "memotherm"}), _server(wish, {})
    return [merged_json(home / "settings.json", lambda values: server(hooks(values)))], [
        "start a new Gemini CLI session in a trusted folder"
    ]


def _openclaw(wish: InstallRequest) -> Found:
    folder = data_home() / "openclaw-plugin"
    if wish.uninstall:
        files = sorted(folder.glob("*")) if folder.is_dir() else []
        return [FileChange(file, file.read_text("utf-8"), None, own=True) for file in files], [
            "openclaw plugins uninstall memotherm"
        ]
    command = json.dumps({"command": _program("hook", wish)}, indent=2) + "\n"
    texts = {file.name: file.read_text("utf-8") for file in sorted((PLUGINS / "openclaw").iterdir()) if file.is_file()}
    texts["command.json"] = command
    return [_file(folder / name, text) for name, text in texts.items()], [
        f"openclaw plugins install {shlex.quote(str(folder))} --accept-capabilities",
        "openclaw config set plugins.entries.memotherm.hooks.allowConversationAccess true",
    ]


CLIENTS: dict[str, Callable[[InstallRequest], Found]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "gemini": _gemini,
    "openclaw": _openclaw,
}


def _file(path: Path, text: str) -> FileChange | None:
    before = path.read_text("utf-8") if path.is_file() else None
    return None if before == text else FileChange(path, before, text, own=True)


def _hooks(
    wish: InstallRequest, client: str, events: Mapping[str, tuple[str | None, int]], more: Json | None = None
) -> Callable[[Json], Json]:
    if wish.uninstall:
        return without_hooks
    words = _program("hook", wish)
    place = words.index("hook") + 1
    command = _line([*words[:place], "--client", client, *words[place:]])
    entries: dict[str, Json] = {}
    for event, (matcher, timeout) in events.items():
        hook = {**(more or {}), "type": "command", "command": command, "timeout": timeout}
        entries[event] = {**({"matcher": matcher} if matcher else {}), "hooks": [hook]}
    return lambda values: with_hooks(values, entries)


def _server(wish: InstallRequest, more: Json) -> Callable[[Json], Json]:
    if wish.uninstall:
        return without_server
    program, *arguments = _program("mcp", wish)
    return lambda values: with_server(values, {**more, "command": program, "args": arguments})


def _program(verb: str, wish: InstallRequest) -> list[str]:
    """Return the command with its absolute path: hosts do not have our PATH."""
    beside = Path(sys.executable).parent
    script = shutil.which("memotherm", path=str(beside))
    own = [script] if script else [sys.executable, "-m", "memotherm"]
    capture = ["--no-capture"] if verb == "hook" and not wish.capture else []
    return [*own, verb, *wish.options, *capture]


def _line(words: list[str]) -> str:
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)
