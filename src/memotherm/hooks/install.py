"""Install hooks and the MCP server into coding agents: files to change, backups, and a self-test."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from memotherm.errors import SettingsError
from memotherm.hooks.settings_files import (
    FileChange,
    Json,
    merged_json,
    merged_toml,
    with_hooks,
    with_server,
)
from memotherm.model.clock import system_clock
from memotherm.settings import Settings, client_home, data_home, isolated, load
from memotherm.settings.paths import create_folder, write_text

# Backups


def back_up(change: FileChange) -> Path | None:
    """Write the old content of a file to the data folder, and return the path of the copy."""
    if change.before is None or change.own:
        return None
    copy = _backup_file(change.path, f"{system_clock():%Y%m%dT%H%M%S%f}.backup")
    create_folder(copy.parent)
    write_text(copy, change.before)
    return copy


def record(change: FileChange, *, uninstall: bool) -> None:
    """Record a file as it was before the first installation, and as the last one left it."""
    if change.own:
        return
    file = _backup_file(change.path, "json")
    known = _read_record(change.path)
    if uninstall or change.after is None:
        file.unlink(missing_ok=True)
        return
    original = known["original"] if known and known["installed"] == _digest(change.before) else change.before
    create_folder(file.parent)
    write_text(file, json.dumps({"original": original, "installed": _digest(change.after)}, ensure_ascii=False))


def restored(change: FileChange) -> FileChange:
    """Return the change of an uninstallation; a file that is unchanged since gets its exact old content."""
    known = None if change.own else _read_record(change.path)
    if known is None or known["installed"] != _digest(change.before):
        return change
    return change._replace(after=known["original"])


def _read_record(path: Path) -> dict[str, Any] | None:
    try:
        values = json.loads(_backup_file(path, "json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return values if isinstance(values, dict) and {"original", "installed"} <= set(values) else None


def _backup_file(path: Path, suffix: str) -> Path:
    """Return a file in the data folder that belongs to a file of another program."""
    key = hashlib.sha256(os.path.realpath(path).encode()).hexdigest()[:12]
    return data_home() / "backups" / f"{key}-{path.name}.{suffix}"


def _digest(text: str | None) -> str:
    return hashlib.sha256((text or "").encode()).hexdigest()


# Clients

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
#: Environment variables that select the store; Codex passes only listed ones to a server.
_FORWARDED = [f"MEMOTHERM_{name}" for name in ("HOME", "STORE", "EMBEDDER", "KEY", "KEY_FILE", "API_KEY")]


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
    events = _events("startup|resume|clear|compact|fork", end_seconds=5)
    return [
        merged_json(settings, _hooks(request, "claude", events)),
        merged_json(servers, _server(request, {"type": "stdio"})),
        _skill(settings.parent, request),
    ], ["start a new Claude Code session; `/hooks` and `/mcp` list them"]


def _events(starts: str, end_seconds: int) -> dict[str, tuple[str | None, int]]:
    """Return the events of Claude Code and Codex, each with a matcher and a timeout in seconds."""
    others = dict.fromkeys(("UserPromptSubmit", "PreCompact", "Stop"), (None, 10))
    return {"SessionStart": (starts, 10), **others, "SessionEnd": (None, end_seconds)}


def _codex(request: InstallRequest) -> ClientPlan:
    home = request.folder / ".codex" if request.scope == "project" else client_home("CODEX_HOME", ".codex")
    events = _events("startup|resume|clear|compact", end_seconds=3)
    program, *arguments = _command("mcp", request)
    table = (
        f"[mcp_servers.memotherm]\ncommand = {json.dumps(program)}\nargs = {json.dumps(arguments)}\n"
        f"env_vars = {json.dumps(_FORWARDED)}\n"
    )
    return [
        merged_json(home / "hooks.json", _hooks(request, "codex", events)),
        merged_toml(home / "config.toml", None if request.uninstall else table),
        _skill((request.folder if request.scope == "project" else Path.home()) / ".agents", request),
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
    texts = {file.name: file.read_text("utf-8") for file in sorted((PLUGINS / "openclaw").iterdir()) if file.is_file()}
    texts["command.json"] = json.dumps({"command": _command("hook", request), "flush": _flush()}, indent=2) + "\n"
    before = {name: (folder / name).read_text("utf-8") if (folder / name).is_file() else None for name in texts}
    changed = [name for name, text in texts.items() if before[name] != text]
    return [FileChange(folder / name, before[name], texts[name], own=True) for name in changed], [
        f"openclaw plugins install {shlex.quote(str(folder))} --accept-capabilities",
        "openclaw config set plugins.entries.memotherm.hooks.allowConversationAccess true",
    ]


def _cursor(request: InstallRequest) -> ClientPlan:
    home = (request.folder if request.scope == "project" else Path.home()) / ".cursor"
    events = dict.fromkeys(("sessionStart", "beforeSubmitPrompt", "preCompact", "stop", "sessionEnd"), (None, 10))
    hooks = _hooks(request, "cursor", events)

    def with_version(values: Json) -> Json:
        values = hooks(values)
        if request.uninstall:
            return {} if values == {"version": 1} else values
        return {"version": 1, **values}

    return [merged_json(home / "hooks.json", with_version), merged_json(home / "mcp.json", _server(request, {}))], [
        "restart Cursor; it shows memories at the start of a session, and the tools recall in between"
    ]


def _claude_desktop(request: InstallRequest) -> ClientPlan:
    if request.scope == "project":
        raise SettingsError("Claude Desktop has no settings of a project: leave out --scope project")
    folders = {
        "darwin": Path.home() / "Library" / "Application Support",
        "win32": client_home("APPDATA", "AppData/Roaming"),
    }
    home = folders.get(sys.platform) or client_home("XDG_CONFIG_HOME", ".config")
    return [merged_json(home / "Claude" / "claude_desktop_config.json", _server(request, {}))], [
        "restart Claude Desktop; it has no hooks, so ask it to remember and to recall"
    ]


def _opencode(request: InstallRequest) -> ClientPlan:
    project = request.scope == "project"
    home = request.folder if project else client_home("XDG_CONFIG_HOME", ".config") / "opencode"
    name = "opencode.jsonc" if (home / "opencode.jsonc").is_file() else "opencode.json"
    entry: Json | None = None if request.uninstall else {"type": "local", "command": _command("mcp", request)}
    return [merged_json(home / name, lambda values: with_server(values, entry, "mcp"))], [
        "start opencode; it has no hooks that we use, so ask it to remember and to recall"
    ]


def _skill(home: Path, request: InstallRequest) -> FileChange | None:
    """Return the change that adds or removes the skill that tells an agent when to remember and to recall."""
    path = home / "skills" / "memotherm" / "SKILL.md"
    before = path.read_text("utf-8") if path.is_file() else None
    after = None
    if not request.uninstall:
        skill = (PLUGINS / "plugins" / "memotherm" / "skills" / "memory" / "SKILL.md").read_text("utf-8")
        settings = load(project=request.scope == "project")
        after = skill.replace(_cooling(Settings()), _cooling(settings))
        after = after.replace("name: memory\n", "name: memotherm\n", 1)
    return None if before == after else FileChange(path, before, after, own=True)


def _cooling(settings: Settings) -> str:
    """Return when tasks and decisions go cold, in the words of the skill; the plugin's file has the default days."""
    tasks, decisions = (
        f"after {days:g} day{'s' * (days != 1)}" if days else "at once"
        for days in (settings.task_cold_after_days, settings.decision_cold_after_days)
    )
    return f"tasks (kind or tag `task`) go there by themselves {tasks} and decisions {decisions}"


def _flush() -> dict[str, object] | None:
    """Return the thresholds and texts of a flush, for a host that runs it; None if hooks shall not ask for one."""
    from memotherm.notes.flush import flush_for

    settings = load()
    flush = flush_for(0, 0, date.min, "{file}", settings)
    texts = {"prompt": flush.prompt, "system": flush.system}
    tokens = {"softTokens": settings.flush_soft_tokens, "reserveTokens": settings.flush_reserve_tokens}
    return {**texts, **tokens} if settings.flush_in_hooks else None


CLIENTS: dict[str, Callable[[InstallRequest], ClientPlan]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "gemini": _gemini,
    "cursor": _cursor,
    "openclaw": _openclaw,
    "opencode": _opencode,
    "claude-desktop": _claude_desktop,
}


def _hooks(
    request: InstallRequest, client: str, events: Mapping[str, tuple[str | None, int]], extra: Json | None = None
) -> Callable[[Json], Json]:
    if request.uninstall:
        return lambda values: with_hooks(values, {})
    words = _command("hook", request)
    after_verb = words.index("hook") + 1
    words[after_verb:after_verb] = ["--client", client]
    command = subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)
    entries: dict[str, Json] = {}
    for event, (matcher, timeout) in events.items():
        hook = {**(extra or {}), "type": "command", "command": command, "timeout": timeout}
        # Cursor has a list of commands for each event, the others one of groups.
        group = {**({"matcher": matcher} if matcher else {}), "hooks": [hook]}
        entries[event] = {"command": command, "timeout": timeout} if client == "cursor" else group
    return lambda values: with_hooks(values, entries)


def _server(request: InstallRequest, extra: Json) -> Callable[[Json], Json]:
    if request.uninstall:
        return lambda values: with_server(values, None)
    program, *arguments = _command("mcp", request)
    return lambda values: with_server(values, {**extra, "command": program, "args": arguments})


def _command(verb: str, request: InstallRequest) -> list[str]:
    """Return a command, with the absolute path of the program unless the configuration is shared."""
    runner = request.run_with or ("path" if request.scope == "project" else None)
    if runner:
        program = _PROGRAMS[runner]
    else:
        # Hosts may have another PATH.
        script = shutil.which("memotherm", path=str(Path(sys.executable).parent))
        program = [script] if script else [sys.executable, "-m", "memotherm"]
    capture = ["--no-capture"] if verb == "hook" and not request.capture else []
    return [*program, verb, *request.options, *capture]


# Self-test

_FACT = "The staging database is called heron"
_CLAUDE_EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd")
_SESSIONS = {
    "claude": _CLAUDE_EVENTS,
    "codex": _CLAUDE_EVENTS,
    "gemini": ("SessionStart", "BeforeAgent", "AfterAgent", "PreCompress", "SessionEnd"),
    "openclaw": ("session_start", "before_prompt_build", "agent_end", "before_compaction", "session_end"),
}


def selftest() -> dict[str, Any]:
    """Return {"ok": ..., "checks": [...]}; the user's own store is not used."""
    checks: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="memotherm-hook-", ignore_cleanup_errors=True) as folder:
        for client, names in _SESSIONS.items():
            home = Path(folder) / client
            _run(home, "remember", _FACT, "--tier", "hot", "--everywhere")
            answers = [_send_event(home, client, name) for name in names]
            worker = _run(home, "agent", "worker", "--once", "--json")
            for name, ok, output in (
                ("every answer is one JSON object or empty", all(ok for ok, _ in answers), answers),
                ("the memory is recalled for the agent", any("heron" in text for _, text in answers), answers),
                ("the conversation is captured", '"captured": 2' in worker, worker),
            ):
                failure = {} if ok else {"output": str(output)[:2000]}
                checks.append({"check": f"{client}: {name}", "ok": ok, **failure})
    return {"ok": all(check["ok"] for check in checks), "checks": checks}


def _send_event(home: Path, client: str, name: str) -> tuple[bool, str]:
    """Run the hook for an event; return whether its output is valid, and the output."""
    payload = {
        "hook_event_name": name,
        "session_id": "selftest",
        "prompt": "Tell me which staging database we use",
        "last_assistant_message": "The staging database is heron, as you said.",
    }
    output = _run(home, "hook", "--client", client, "--deadline", "60", "--no-worker", stdin=json.dumps(payload))
    try:
        return isinstance(json.loads(output or "{}"), dict), output
    except ValueError:
        return False, output


def _run(home: Path, *arguments: str, stdin: str = "") -> str:
    """Run `memotherm` with a data folder of its own, and return its standard output."""
    home.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "memotherm", *arguments]
    process = subprocess.run(  # noqa: S603 - our own interpreter and module
        command, input=stdin, capture_output=True, text=True, env=isolated(home), cwd=home, timeout=120, check=False
    )
    if process.stderr and os.name != "nt":
        print(process.stderr, end="", file=sys.stderr)  # noqa: T201 - errors belong on standard error
    return process.stdout
