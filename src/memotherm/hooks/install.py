"""Install hooks and the MCP server into coding agents: the files to change, and backups of them."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from functools import reduce
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from memotherm.errors import SettingsError
from memotherm.hooks.hosts import Files, Host
from memotherm.hooks.settings_files import (
    FileChange,
    Json,
    apply,
    is_our_hook,
    merged_json,
    merged_toml,
    settings_values,
    with_hooks,
    with_server,
)
from memotherm.model.clock import system_clock
from memotherm.settings import Settings, data_home, load
from memotherm.settings.paths import create_folder, write_text
from memotherm.workspace.versions import version_key

#: The plugins in the package.
PLUGINS = Path(__file__).resolve().parent.parent / "plugins"
#: The commands that start the program on the machine of every teammate.
RUNNERS = {
    "path": ["memotherm"],
    "uvx": ["uvx", "--from", "memotherm[mcp]", "memotherm"],
    "pipx": ["pipx", "run", "--spec", "memotherm[mcp]", "memotherm"],
}


class InstallRequest(NamedTuple):
    """The options of an installation."""

    #: The folder of a project; None for the settings of the user.
    project: Path | None = None
    #: Options for the hook and the server: --store, --project.
    options: tuple[str, ...] = ()
    capture: bool = True
    uninstall: bool = False
    #: How the program is started: path, uvx or pipx; None for this program, or for a project from the PATH.
    run_with: str | None = None

    def command(self, verb: str, *options: str) -> list[str]:
        """Return a command, with the absolute path of the program unless the configuration is shared."""
        runner = self.run_with or ("path" if self.project else None)
        if runner:
            program = RUNNERS[runner]
        else:
            # Hosts may have another PATH.
            script = shutil.which("memotherm", path=str(Path(sys.executable).parent))
            program = [script] if script else [sys.executable, "-m", "memotherm"]
        capture = ["--no-capture"] if verb == "hook" and not self.capture else []
        return [*program, verb, *options, *self.options, *capture]


class Plan(NamedTuple):
    """The changes to files, and the steps left to the user."""

    changes: tuple[FileChange, ...]
    next_steps: tuple[str, ...] = ()


def plan(host: Host, request: InstallRequest) -> Plan:
    """Return the changes for a host; nothing is written."""
    files = host.files(request.project)
    if not (files.hooks or files.servers or host.plugin):
        raise SettingsError(f"{host.title} has no settings of a project: leave out --scope project")
    edits: dict[Path, list[Edit]] = {}
    for path, edit in ((files.hooks, _with_hooks), (files.servers, _with_server)):
        if path is not None:
            edits.setdefault(path, []).append(edit)
    changes = [_merged(path, edits[path], host, request) for path in edits]
    folder = data_home() / f"{host.plugin}-plugin"
    changes += _own_files(host, files, folder, request)
    steps = host.uninstall_steps if request.uninstall and host.uninstall_steps else host.next_steps
    return Plan(
        tuple(_restored(change) if request.uninstall else change for change in changes if change is not None),
        tuple(step.format(folder=shlex.quote(str(folder))) for step in steps),
    )


def installed(host: Host) -> bool:
    """Return whether a host has our hooks or MCP server in the user's settings."""
    return bool(plan(host, InstallRequest(uninstall=True)).changes)


def differing_hooks(host: Host) -> dict[str, str]:
    """Return the events of a host whose hook is missing in the user's settings, or is not as `install` writes it."""
    found, servers = _own_hooks(host), _servers(host)
    commands = (hook["command"] for hook, _ in found.values() if "command" in hook)
    command, differing = next(commands, ""), {}
    for event in host.events if host.files(None).hooks is not None else ():
        hook, group = found.get(event, ({}, {}))
        if not hook:
            differing[event] = "missing"
        elif group not in (host.hook_entry(command, event, by_server=by_server) for by_server in (True, False)):
            differing[event] = "changed"
        elif "server" in hook and "memotherm" not in servers:
            differing[event] = "without the MCP server that answers it"
    return differing


def missing_programs(host: Host) -> list[str]:
    """Return the programs that our hooks and MCP server start in the user's settings, and that are not there."""
    server = _servers(host).get("memotherm")
    commands = [hook.get("command") for hook, _ in _own_hooks(host).values()]
    commands.append(server.get("command") if isinstance(server, dict) else None)
    programs = list[str]()
    for command in commands:
        with suppress(ValueError):
            words = shlex.split(command) if isinstance(command, str) else command
            programs += map(str, words[:1] if isinstance(words, list) else ())
    return [program for program in dict.fromkeys(programs) if shutil.which(program) is None]


def _own_hooks(host: Host) -> dict[str, tuple[Json, Json]]:
    """Return our hook for each event in the user's settings, with its group."""
    path = host.files(None).hooks
    hooks = settings_values(path).get("hooks", {}) if path is not None else {}
    found: dict[str, tuple[Json, Json]] = {}
    for event in host.events:
        groups = [group for group in hooks.get(event) or () if isinstance(group, dict)]
        pairs = ((hook, group) for group in groups for hook in (group.get("hooks") or [group]) if is_our_hook(hook))
        found.update((event, pair) for pair in islice(pairs, 1))
    return found


def _servers(host: Host) -> Json:
    """Return the MCP servers in the user's settings."""
    path = host.files(None).servers
    servers = settings_values(path).get(host.server_section, {}) if path is not None else {}
    return servers if isinstance(servers, dict) else {}


#: Adds our entries for a host to the values of a settings file, or removes them.
Edit = Callable[[Json, Host, InstallRequest], Json]


def _merged(path: Path, edits: list[Edit], host: Host, request: InstallRequest) -> FileChange | None:
    """Return the change to a settings file; None if it has our entries already, or none of them."""
    if path.suffix == ".toml":
        return merged_toml(path, None if request.uninstall else _server_table(host, request))
    return merged_json(path, lambda values: reduce(lambda result, edit: edit(result, host, request), edits, values))


def _with_hooks(values: Json, host: Host, request: InstallRequest) -> Json:
    if request.uninstall:
        values = with_hooks(values, {})
        return {} if values == host.file_fields else values
    words = request.command("hook", "--client", host.client)
    command = subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)
    # The server of a project has to be approved first, and without it these hooks are lost in silence.
    by_server = request.project is None and _calls_servers(host)
    entries = {name: host.hook_entry(command, name, by_server=by_server) for name in host.events}
    return {**host.file_fields, **with_hooks(values, entries)}


def _calls_servers(host: Host) -> bool:
    """Return whether the program of a host is installed, in a version whose hooks can call MCP servers."""
    name, first = host.server_hooks_from
    program = shutil.which(name) if name else None
    with suppress(OSError, subprocess.TimeoutExpired):
        if program:
            command = [program, "--version"]
            told = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)  # noqa: S603
            return version_key(told.stdout) >= version_key(first)
    return False


def _with_server(values: Json, host: Host, request: InstallRequest) -> Json:
    entry = None if request.uninstall else host.server_entry(request.command("mcp"))
    return with_server(values, entry, host.server_section)


def _server_table(host: Host, request: InstallRequest) -> str:
    """Return the entry of the MCP server as a table of TOML."""
    entry = host.server_entry(request.command("mcp"))
    values = "".join(f"{name} = {json.dumps(value)}\n" for name, value in entry.items())
    return f"[{host.server_section}.memotherm]\n{values}"


def _own_files(host: Host, files: Files, folder: Path, request: InstallRequest) -> list[FileChange]:
    """Return the changes that write or delete our own files: the skill, and the plugin."""
    skills, folder = files.skills, files.plugins or folder
    if skills is None and not host.plugin:
        return []
    settings = Settings() if request.uninstall else load(project=request.project is not None)
    texts: dict[Path, str] = {}
    if skills is not None:
        texts[skills / "memotherm" / "SKILL.md"] = _skill(settings)
    if host.plugin:
        own = (file for file in sorted((PLUGINS / host.plugin).iterdir()) if file.is_file())
        texts |= {folder / file.name: file.read_text("utf-8") for file in own}
        command: Json = {"command": request.command("hook")}
        if files.plugins is None:
            command["flush"] = _flush(settings)
        texts[folder / ("memotherm.json" if files.plugins else "command.json")] = json.dumps(command, indent=2) + "\n"
    changes = []
    for path, text in texts.items():
        before, after = path.read_text("utf-8") if path.is_file() else None, None if request.uninstall else text
        if before != after:
            changes.append(FileChange(path, before, after, own=True))
    return changes


def _skill(settings: Settings) -> str:
    """Return the skill that tells an agent when to remember and to recall, with the days of the settings."""
    text = (PLUGINS / "plugins" / "memotherm" / "skills" / "memory" / "SKILL.md").read_text("utf-8")
    return text.replace(_cooling(Settings()), _cooling(settings)).replace("name: memory\n", "name: memotherm\n", 1)


def _cooling(settings: Settings) -> str:
    """Return when tasks and decisions go cold, in the words of the skill; the plugin's file has the default days."""
    tasks, decisions = (
        f"after {days:g} day{'s' * (days != 1)}" if days else "at once"
        for days in (settings.task_cold_after_days, settings.decision_cold_after_days)
    )
    return f"tasks (kind or tag `task`) go there by themselves {tasks} and decisions {decisions}"


def _flush(settings: Settings) -> dict[str, object] | None:
    """Return the thresholds and texts of a flush, for a host that runs it; None if hooks shall not ask for one."""
    from memotherm.notes.flush import RESERVE_TOKENS, SOFT_TOKENS, flush_for

    flush = flush_for(0, 0, date.min, "{file}", settings)
    texts = {"prompt": flush.prompt, "system": flush.system}
    tokens = {"softTokens": SOFT_TOKENS, "reserveTokens": RESERVE_TOKENS}
    return {**texts, **tokens} if settings.flush_in_hooks else None


# Backups


def carry_out(change: FileChange, *, uninstall: bool) -> Path | None:
    """Change a file, and return the path of a copy of its old content; None if it is ours, or there was none.

    A record says how the file was before the first installation, and as the last one left it.
    """
    copy, record = None, _backup_file(change.path, "json")
    if change.before is not None and not change.own:
        copy = _backup_file(change.path, f"{system_clock():%Y%m%dT%H%M%S%f}.backup")
        create_folder(copy.parent)
        write_text(copy, change.before)
    known = _read_record(change)
    apply(change)
    if uninstall or change.after is None:
        record.unlink(missing_ok=True)
    elif not change.own:
        original = change.before if known is None else known["original"]
        create_folder(record.parent)
        write_text(record, json.dumps({"original": original, "installed": _digest(change.after)}, ensure_ascii=False))
    return copy


def _restored(change: FileChange) -> FileChange:
    """Return the change of an uninstallation; a file that is unchanged since gets its exact old content."""
    known = _read_record(change)
    return change if known is None else change._replace(after=known["original"])


def _read_record(change: FileChange) -> dict[str, Any] | None:
    """Return the record of a file, if the last installation left it as it is now."""
    try:
        values = json.loads(_backup_file(change.path, "json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    known = isinstance(values, dict) and "original" in values and values.get("installed") == _digest(change.before)
    return values if known else None


def _backup_file(path: Path, suffix: str) -> Path:
    """Return a file in the data folder that belongs to a file of another program."""
    key = hashlib.sha256(os.path.realpath(path).encode()).hexdigest()[:12]
    return data_home() / "backups" / f"{key}-{path.name}.{suffix}"


def _digest(text: str | None) -> str:
    return hashlib.sha256((text or "").encode()).hexdigest()
