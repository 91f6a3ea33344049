"""How our entries get into another program's settings, and out again, with everything else left as it is."""

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
from memotherm.model.clock import system_clock

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

#: What tells a hook of ours from all others: no one else calls `memotherm hook --client`.
_OURS = re.compile(r"memotherm\S*\s+hook\s+--client\s")
_BEGIN = "# >>> memotherm: written by `memotherm install`, removed by `--uninstall`"
_END = "# <<< memotherm"
_BLOCK = re.compile(rf"\n?{re.escape(_BEGIN)}\n.*?{re.escape(_END)}\n", re.DOTALL)


class FileChange(NamedTuple):
    """A file as it is and as it shall be; None where there is none."""

    path: Path
    before: str | None
    after: str | None
    #: Whether the file is ours alone, so that nobody misses the old one.
    own: bool = False

    @property
    def diff(self) -> str:
        """The difference, as a patch."""
        old, new = ((text or "").splitlines(keepends=True) for text in (self.before, self.after))
        return "".join(difflib.unified_diff(old, new, str(self.path), str(self.path)))


def apply(change: FileChange) -> Path | None:
    """Write a file whole or not at all, and return where a copy of the old one is."""
    target = Path(os.path.realpath(change.path))
    backup = None
    if change.before is not None and not change.own:
        stamp = system_clock().strftime("%Y%m%dT%H%M%S%f")
        backup = target.with_name(f"{target.name}.{stamp}.backup")
        _write(backup, change.before, target)
    if change.after is None:
        target.unlink(missing_ok=True)
        if change.own and not any(target.parent.iterdir()):
            target.parent.rmdir()
        return backup
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.{os.getpid()}.part")
    _write(partial, change.after, target)
    partial.replace(target)
    return backup


def _write(path: Path, text: str, like: Path) -> None:
    mode = like.stat().st_mode & 0o777 if like.exists() else 0o600
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
        file.write(text)


# JSON


def merged_json(path: Path, alter: Callable[[Json], Json]) -> FileChange | None:
    """Return the change that `alter` makes to a file of JSON; None when it makes none."""
    before = _read(path)
    try:
        values = json.loads(before) if before and before.strip() else {}
    except ValueError as exc:
        raise SettingsError(f"{path} is no valid JSON ({exc}): mend it and try again; nothing was changed") from exc
    if not isinstance(values, dict):
        raise SettingsError(f"{path} holds no JSON object: mend it and try again; nothing was changed")
    wanted = alter(deepcopy(values))
    if wanted == values:
        return None
    indent = re.search(r"\n([ \t]+)\S", before or "")
    after = json.dumps(wanted, ensure_ascii=False, indent=indent[1] if indent else 2) + "\n"
    return FileChange(path, before, after if wanted else None)


def with_hooks(values: Json, entries: dict[str, Json]) -> Json:
    """Put our hooks in, in place of our older ones."""
    values = without_hooks(values)
    hooks = _part(values, "hooks", {})
    for event, entry in entries.items():
        _part(hooks, event, []).append(entry)
    return values


def without_hooks(values: Json) -> Json:
    """Take our hooks out, and what is empty without them."""
    hooks = values.get("hooks")
    if not isinstance(hooks, dict):
        return values
    for event in [event for event, groups in hooks.items() if isinstance(groups, list)]:
        kept = [left for group in hooks[event] if (left := _without_ours(group)) is not None]
        if kept:
            hooks[event] = kept
        elif hooks[event]:
            del hooks[event]
    if not hooks:
        del values["hooks"]
    return values


def _without_ours(group: Any) -> Any:  # noqa: ANN401 - whatever another program's settings hold
    """Return a group of hooks without ours; None when nothing is left of it."""
    if not isinstance(group, dict) or not isinstance(group.get("hooks"), list):
        return group
    kept = [hook for hook in group["hooks"] if not _is_ours(hook)]
    if len(kept) == len(group["hooks"]):
        return group
    return {**group, "hooks": kept} if kept else None


def _is_ours(hook: object) -> bool:
    command = hook.get("command") if isinstance(hook, dict) else None
    return isinstance(command, str) and _OURS.search(command.replace("'", " ").replace('"', " ")) is not None


def with_server(values: Json, entry: Json) -> Json:
    """Put our MCP server in, in place of our older one."""
    servers = _part(values, "mcpServers", {})
    known = servers.get("memotherm")
    if known is not None and not _is_our_server(known):
        raise SettingsError("another MCP server is called memotherm there: rename it and try again")
    servers["memotherm"] = entry
    return values


def without_server(values: Json) -> Json:
    """Take our MCP server out."""
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


def _part(values: Json, name: str, empty: Any) -> Any:  # noqa: ANN401
    found = values.setdefault(name, empty)
    if not isinstance(found, type(empty)):
        raise SettingsError(f"{name!r} there is not what it should be: mend it and try again; nothing was changed")
    return found


# TOML, of which nothing is rewritten: our lines stand between two marks


def merged_toml(path: Path, lines: str | None) -> FileChange | None:
    """Return the change that puts our table at the end of a file of TOML, or takes it out."""
    before = _read(path)
    others = _BLOCK.sub("", before or "")
    _toml(path, others)
    if lines is None:
        after = others
    else:
        space = "" if not others or others.endswith("\n") else "\n"
        gap = "\n" if others else ""
        after = f"{others}{space}{gap}{_BEGIN}\n{lines}{_END}\n"
        _toml(path, after)
    if after == (before or ""):
        return None
    return FileChange(path, before, after or None)


def _toml(path: Path, text: str) -> None:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        raise SettingsError(
            f"{path} would be no valid TOML ({exc}): mend it and try again; nothing was changed"
        ) from exc


def _read(path: Path) -> str | None:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as exc:
        raise SettingsError(f"cannot read {path}: {exc}") from exc
