"""Edit the settings files of other programs (JSON with comments, TOML) without changing anything else."""

from __future__ import annotations

import difflib
import json
import os
import re
import tomllib
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from memotherm.errors import SettingsError

__all__ = [
    "FileChange",
    "apply",
    "edited",
    "merged_json",
    "merged_toml",
    "parse",
    "with_hooks",
    "with_server",
    "without_hooks",
    "without_server",
]

# JSON with comments

_COMMENT = r"//[^\n]*|/\*.*?\*/"
_BLANK = re.compile(rf"(?:\s+|{_COMMENT})*", re.DOTALL)
_COMMENTS = re.compile(_COMMENT, re.DOTALL)
_CLOSERS = {"{": "}", "[": "]"}
_DECODER = json.JSONDecoder()


@dataclass(slots=True)
class _Node:
    """A value and its place in the text; an entry of an object begins with its key."""

    start: int
    end: int
    value: Any
    key: str | None = None
    #: Where the value begins; for an entry of an object, after the key.
    value_start: int = 0
    entries: list[_Node] = field(default_factory=list)


@dataclass(slots=True)
class _Edits:
    """Replacements of spans of a text."""

    text: str
    unit: str
    newline: str
    spans: list[tuple[int, int, str]] = field(default_factory=list)

    def replace(self, start: int, end: int, replacement: str = "") -> None:
        self.spans.append((start, end, replacement))

    def apply(self) -> str:
        text = self.text
        for start, end, replacement in sorted(self.spans, reverse=True):
            text = text[:start] + replacement + text[end:]
        return text

    def written(self, value: Any, depth: int, key: str | None = None) -> str:  # noqa: ANN401 - any JSON value
        text = json.dumps(value, ensure_ascii=False, indent=self.unit).replace("\n", self.newline + self.unit * depth)
        return text if key is None else f"{json.dumps(key, ensure_ascii=False)}: {text}"

    def line(self, depth: int) -> str:
        return self.newline + self.unit * depth


def parse(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value of a text: JSON with comments and trailing commas; raise ValueError for any other text."""
    return _parsed(text).value


def edited(text: str, wanted: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return the text with new values; unchanged values keep their text and comments."""
    node = _parsed(text)
    indent = re.search(r"\n([ \t]+)\S", text)
    edits = _Edits(text, indent[1] if indent else "  ", "\r\n" if "\r\n" in text else "\n")
    _change(edits, node, wanted, 0)
    result = edits.apply()
    if parse(result) != wanted:
        raise ValueError("it has a form that cannot be changed safely")
    return result


# Reading


def _parsed(text: str) -> _Node:
    start = _blank(text, 1 if text.startswith("\ufeff") else 0)
    node = _value(text, start)
    if (rest := _blank(text, node.end)) != len(text):
        raise ValueError(f"unexpected text in line {_line(text, rest)}")
    return node


def _value(text: str, start: int) -> _Node:
    opening = text[start : start + 1]
    if opening in _CLOSERS:
        return _container(text, start)
    try:
        value, end = _DECODER.raw_decode(text, start)
    except ValueError as exc:
        raise ValueError(f"no value in line {_line(text, start)}") from exc
    return _Node(start, end, value, value_start=start)


def _container(text: str, start: int) -> _Node:
    is_object, closer = text[start] == "{", _CLOSERS[text[start]]
    entries: list[_Node] = []
    at = _blank(text, start + 1)
    while text[at : at + 1] != closer:
        entry = _entry(text, at) if is_object else _value(text, at)
        entries.append(entry)
        at = _blank(text, entry.end)
        if text[at : at + 1] == ",":
            at = _blank(text, at + 1)
        elif text[at : at + 1] != closer:
            raise ValueError(f"a comma or {closer} is missing in line {_line(text, at)}")
    value = {entry.key: entry.value for entry in entries} if is_object else [entry.value for entry in entries]
    return _Node(start, at + 1, value, value_start=start, entries=entries)


def _entry(text: str, start: int) -> _Node:
    key = _value(text, start)
    colon = _blank(text, key.end)
    if not isinstance(key.value, str) or text[colon : colon + 1] != ":":
        raise ValueError(f"a key and a colon are missing in line {_line(text, start)}")
    value = _value(text, _blank(text, colon + 1))
    value.start, value.key = start, key.value
    return value


def _blank(text: str, start: int) -> int:
    """Return where white space and comments end."""
    match = _BLANK.match(text, start)
    return match.end() if match else start


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


# Changing


def _change(edits: _Edits, node: _Node, wanted: Any, depth: int) -> None:  # noqa: ANN401
    if node.value == wanted:
        return
    if isinstance(node.value, dict) and isinstance(wanted, dict):
        kept = [entry for entry in node.entries if entry.key in wanted]
        pairs = [(entry, wanted[entry.key]) for entry in kept]
        new = [edits.written(value, depth + 1, key) for key, value in wanted.items() if key not in node.value]
    elif isinstance(node.value, list) and isinstance(wanted, list):
        pairs = _aligned(node.entries, wanted)
        new = [edits.written(value, depth + 1) for value in wanted[len(pairs) :]]
    else:
        edits.replace(node.value_start, node.end, edits.written(wanted, depth))
        return
    for entry, value in pairs:
        _change(edits, entry, value, depth + 1)
    _change_entries(edits, node, [entry for entry, _ in pairs], new, depth)


def _aligned(entries: list[_Node], wanted: list[Any]) -> list[tuple[_Node, Any]]:
    """Return the elements that stay, with their new values; the others are removed."""
    pairs: list[tuple[_Node, Any]] = []
    surplus = max(0, len(entries) - len(wanted))
    for entry in entries:
        if len(pairs) == len(wanted):
            break
        if entry.value != wanted[len(pairs)] and surplus:
            surplus -= 1
        else:
            pairs.append((entry, wanted[len(pairs)]))
    return pairs


def _change_entries(edits: _Edits, node: _Node, kept: list[_Node], new: list[str], depth: int) -> None:
    """Remove the entries that are not kept, and insert new ones after the last that is."""
    stays = {id(entry) for entry in kept}
    if not kept:
        _fill(edits, node, new, depth)
        return
    for entry, following in pairwise(node.entries):
        if id(entry) not in stays and entry.start < kept[-1].start:
            edits.replace(entry.start, following.start)
    last, tail = kept[-1], node.entries[-1]
    inserted = "".join(f",{edits.line(depth + 1)}{entry}" for entry in new)
    if tail is last:
        _append(edits, node, last, new, depth)
    else:
        _cut(edits, last, node.entries[node.entries.index(last) + 1], tail, inserted)


def _append(edits: _Edits, node: _Node, last: _Node, new: list[str], depth: int) -> None:
    """Insert entries after the last one and its trailing comment."""
    if not new:
        return
    lines = f",{edits.line(depth + 1)}".join(new)
    after = re.compile(r"[ \t]*(,?)[ \t]*(//[^\n\r]*|/\*[^\n]*?\*/)").match(edits.text, last.end, node.end - 1)
    if after is None:
        edits.replace(last.end, last.end, f",{edits.line(depth + 1)}{lines}")
        return
    if not after[1]:
        edits.replace(last.end, last.end, ",")
    edits.replace(after.end(), after.end(), f"{edits.line(depth + 1)}{lines}{',' if after[1] else ''}")


def _cut(edits: _Edits, last: _Node, first: _Node, tail: _Node, inserted: str) -> None:
    """Remove the entries from `first` to `tail`, but not the comments between `last` and `first`."""
    comments = list(_COMMENTS.finditer(edits.text, last.end, first.start))
    if not comments:
        edits.replace(last.end, tail.end, inserted)
        return
    trailing = re.compile(r"\s*,").match(edits.text, tail.end)
    if trailing and not inserted:
        edits.replace(comments[-1].end(), trailing.end())
        return
    comma = edits.text.index(",", last.end)
    if comma < comments[0].start():
        edits.replace(comma, comma + 1, inserted)
    edits.replace(comments[-1].end(), tail.end)


def _fill(edits: _Edits, node: _Node, new: list[str], depth: int) -> None:
    """Replace all entries; comments around them stay."""
    start, end = node.value_start + 1, node.end - 1
    lines = f",{edits.line(depth + 1)}".join(new)
    first, last = (node.entries[0].start, node.entries[-1].end) if node.entries else (end, end)
    around = edits.text[start:first] + edits.text[last:end]
    if not around.strip(" \t\r\n,"):
        edits.replace(start, end, f"{edits.line(depth + 1)}{lines}{edits.line(depth)}" if new else "")
    elif node.entries:
        comma = re.compile(r"\s*,").match(edits.text, last, end)
        edits.replace(first, comma.end() if comma else last, lines)
    elif new:
        edits.replace(start, start, f"{edits.line(depth + 1)}{lines}")


# Entries of hooks and servers

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
