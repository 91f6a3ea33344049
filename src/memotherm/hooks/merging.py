"""Add entries to the settings files of other programs, and remove them, without changing anything else."""

from __future__ import annotations

import difflib
import json
import os
import re
import tomllib
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

from memotherm.errors import SettingsError
from memotherm.hooks.jsonc import edited, parse

__all__ = [
    "FileChange",
    "apply",
    "merged_json",
    "merged_toml",
    "with_hooks",
    "with_server",
    "without_hooks",
    "without_server",
]

Json = dict[str, Any]

#: Recognises our hooks by their command.
_OURS = re.compile(r"memotherm\S*\s+hook\s+--client\s")
_BEGIN = "# >>> memotherm: written by `memotherm install`, removed by `--uninstall`"
_END = "# <<< memotherm"
_BLOCK = re.compile(rf"(?:\r?\n)?{re.escape(_BEGIN)}\r?\n.*?{re.escape(_END)}\r?\n", re.DOTALL)


class FileChange(NamedTuple):
    """The content of a file before and after a change; None means no file."""

    path: Path
    before: str | None
    after: str | None
    #: Whether the file belongs to Memotherm, so that no backup is needed.
    own: bool = False

    @property
    def diff(self) -> str:
        """The change as a unified diff."""
        old, new = ((text or "").splitlines(keepends=True) for text in (self.before, self.after))
        return "".join(difflib.unified_diff(old, new, str(self.path), str(self.path)))


def apply(change: FileChange) -> None:
    """Write a file atomically, or delete it."""
    target = Path(os.path.realpath(change.path))
    if change.after is None:
        target.unlink(missing_ok=True)
        if change.own and not any(target.parent.iterdir()):
            target.parent.rmdir()
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.{os.getpid()}.part")
    _write(partial, change.after, target)
    partial.replace(target)


def _write(path: Path, text: str, like: Path) -> None:
    mode = like.stat().st_mode & 0o777 if like.exists() else 0o600
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
        file.write(text)


# JSON


def merged_json(path: Path, alter: Callable[[Json], Json]) -> FileChange | None:
    """Return the change that `alter` makes to a JSON file; None if it changes nothing."""
    before = _read(path)
    try:
        values = parse(before) if before and before.strip() else {}
    except (ValueError, RecursionError) as exc:
        raise SettingsError(f"{path} is not valid JSON ({exc}): correct it and try again; nothing was changed") from exc
    if not isinstance(values, dict):
        raise SettingsError(f"{path} is not a JSON object: correct it and try again; nothing was changed")
    altered = alter(deepcopy(values))
    if altered == values:
        return None
    if not altered:
        return FileChange(path, before, None)
    try:
        after = edited(before, altered) if before and before.strip() else json.dumps(altered, indent=2) + "\n"
    except ValueError as exc:
        raise SettingsError(f"{path} cannot be changed ({exc}): edit it yourself; nothing was changed") from exc
    return FileChange(path, before, after)


def with_hooks(values: Json, entries: dict[str, Json]) -> Json:
    """Add our hooks; replace older ones."""
    values = without_hooks(values)
    hooks = _section(values, "hooks", {})
    for event, entry in entries.items():
        _section(hooks, event, []).append(entry)
    return values


def without_hooks(values: Json) -> Json:
    """Remove our hooks, and entries that are empty without them."""
    hooks = values.get("hooks")
    if not isinstance(hooks, dict):
        return values
    for event in [event for event, groups in hooks.items() if isinstance(groups, list)]:
        others = [rest for group in hooks[event] if (rest := _without_ours(group)) is not None]
        if others:
            hooks[event] = others
        elif hooks[event]:
            del hooks[event]
    if not hooks:
        del values["hooks"]
    return values


def _without_ours(group: Any) -> Any:  # noqa: ANN401 - whatever another program's settings hold
    """Return a group of hooks without ours; None if it has no others."""
    if not isinstance(group, dict) or not isinstance(group.get("hooks"), list):
        return group
    others = [hook for hook in group["hooks"] if not _is_ours(hook)]
    if len(others) == len(group["hooks"]):
        return group
    return {**group, "hooks": others} if others else None


def _is_ours(hook: object) -> bool:
    command = hook.get("command") if isinstance(hook, dict) else None
    return isinstance(command, str) and _OURS.search(command.replace("'", " ").replace('"', " ")) is not None


def with_server(values: Json, entry: Json) -> Json:
    """Add our MCP server; replace an older one."""
    servers = _section(values, "mcpServers", {})
    existing = servers.get("memotherm")
    if existing is not None and not _is_our_server(existing):
        raise SettingsError("another MCP server has the name memotherm: rename it and try again")
    servers["memotherm"] = entry
    return values


def without_server(values: Json) -> Json:
    """Remove our MCP server."""
    servers = values.get("mcpServers")
    if isinstance(servers, dict) and _is_our_server(servers.get("memotherm")):
        del servers["memotherm"]
        if not servers:
            del values["mcpServers"]
    return values


def _is_our_server(entry: object) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("args"), list):
        return False
    words = [str(entry.get("command", "")), *map(str, entry["args"])]
    return "mcp" in words and any("memotherm" in word for word in words)


def _section(values: Json, name: str, empty: Any) -> Any:  # noqa: ANN401
    section = values.setdefault(name, empty)
    if not isinstance(section, type(empty)):
        raise SettingsError(
            f"{name!r} must be a JSON {'object' if empty == {} else 'array'}: correct it and try again; "
            "nothing was changed"
        )
    return section


# TOML: the file is not rewritten, our lines are between two comments


def merged_toml(path: Path, lines: str | None) -> FileChange | None:
    """Return the change that appends our table to a TOML file, or removes it if `lines` is None."""
    before = _read(path)
    others = _BLOCK.sub("", before or "")
    _require_toml(path, others)
    if lines is None:
        after = others
    else:
        newline = "\r\n" if "\r\n" in others else "\n"
        start = "" if not others else newline if others.endswith("\n") else newline * 2
        after = others + start + f"{_BEGIN}\n{lines}{_END}\n".replace("\n", newline)
        _require_toml(path, after)
    if after == (before or ""):
        return None
    return FileChange(path, before, after or None)


def _require_toml(path: Path, text: str) -> None:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        raise SettingsError(
            f"{path} would not be valid TOML ({exc}): correct it and try again; nothing was changed"
        ) from exc


def _read(path: Path) -> str | None:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as exc:
        raise SettingsError(f"cannot read {path}: {exc}") from exc
