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
from pathlib import Path
from typing import Any, NamedTuple

from memotherm.errors import SettingsError

# JSON with comments

_COMMENT = r"//[^\n\r]*|/\*.*?\*/"
_BLANK = re.compile(rf"(?:\s+|{_COMMENT})*", re.DOTALL)
_COMMENTS = re.compile(_COMMENT, re.DOTALL)
_LINE_COMMENTS = re.compile(r"(?:[ \t]*(?:/\*[^\n]*?\*/|//[^\n\r]*))*")
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


def _edited(text: str, wanted: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return the text with new values; unchanged values keep their text and comments."""
    node = _parsed(text)
    result = text[: node.start] + _Editor(text).changed(node, wanted, 0) + text[node.end :]
    if _parsed(result).value != wanted:
        raise ValueError("it has a form that cannot be changed safely")
    return result


def _parsed(text: str) -> _Node:
    """Parse JSON with comments and trailing commas; raise ValueError for any other text."""
    start = _blank(text, 1 if text.startswith("\ufeff") else 0)
    node = _value(text, start)
    if (rest := _blank(text, node.end)) != len(text):
        raise ValueError(f"unexpected text in line {_line(text, rest)}")
    return node


def _value(text: str, start: int) -> _Node:
    if text[start : start + 1] in _CLOSERS:
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


class _Editor:
    """Writes new values in the style of a text."""

    def __init__(self, text: str) -> None:
        indent = re.search(r"\n([ \t]+)\S", text)
        self.text = text
        self.unit = indent[1] if indent else "  "
        self.newline = "\r\n" if "\r\n" in text else "\n"

    def changed(self, node: _Node, wanted: Any, depth: int) -> str:  # noqa: ANN401
        """Return the new text of a value; its entries that stay are changed in place, new ones follow them."""
        if node.value == wanted:
            return self.text[node.value_start : node.end]
        if isinstance(node.value, dict) and isinstance(wanted, dict):
            kept = [(entry, wanted[entry.key]) for entry in node.entries if entry.key in wanted]
            names = {key: json.dumps(key, ensure_ascii=False) for key in wanted if key not in node.value}
            new = [f"{name}: {self._written(wanted[key], depth + 1)}" for key, name in names.items()]
        elif isinstance(node.value, list) and isinstance(wanted, list):
            kept = _aligned(node.entries, wanted)
            new = [self._written(value, depth + 1) for value in wanted[len(kept) :]]
        else:
            return self._written(wanted, depth)
        return self._container(node, kept, new, depth)

    def _container(self, node: _Node, kept: list[tuple[_Node, Any]], new: list[str], depth: int) -> str:
        """Return the text of an object or array; its comments stay, and so does a comma after the last entry."""
        text, line = self.text, self.newline + self.unit * (depth + 1)
        values = {id(entry): value for entry, value in kept}
        last = kept[-1][0] if kept else None
        final = "," if node.entries and text[_blank(text, node.entries[-1].end)] == "," else ""
        inserted = f"{line}{f',{line}'.join(new)}{final}" if new else ""
        at, commented = node.value_start + 1, False
        result = text[node.value_start : at] + ("" if last else inserted)
        for entry in node.entries:
            before, (start, comma, rest) = text[at : entry.start], self._separator(entry)
            at = entry.end + len(start + comma + rest)
            if id(entry) not in values:
                around = before + start + rest
                if comments := list(_COMMENTS.finditer(around)):
                    commented = True
                    ends_line = comments[-1][0].startswith("//") and text[at : at + 1] not in ("\r", "\n")
                    result += around[: comments[-1].end()] + (self.newline if ends_line else "")
                continue
            result += before + text[entry.start : entry.value_start]
            result += self.changed(entry, values[id(entry)], depth + 1)
            result += start + ("," if entry is not last or new or final else "") + rest
            result += inserted if entry is last else ""
        ending = text[at : node.end - 1]
        if not (kept or commented or _COMMENTS.search(ending)):
            ending = self.newline + self.unit * depth if new else ""
        return result + ending + text[node.end - 1]

    def _separator(self, entry: _Node) -> tuple[str, str, str]:
        """Return what follows an entry: the text before its comma, the comma, and the comments in the line after it."""
        at = _blank(self.text, entry.end)
        start, comma = (self.text[entry.end : at], ",") if self.text[at] == "," else ("", "")
        rest = _LINE_COMMENTS.match(self.text, entry.end + len(start + comma))
        return start, comma, rest[0] if rest else ""

    def _written(self, value: Any, depth: int) -> str:  # noqa: ANN401
        text = json.dumps(value, ensure_ascii=False, indent=self.unit)
        return text.replace("\n", self.newline + self.unit * depth)


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
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
        file.write(change.after)
    partial.replace(target)


# JSON


def merged_json(path: Path, alter: Callable[[Json], Json]) -> FileChange | None:
    """Return the change that `alter` makes to a JSON file; None if it changes nothing."""
    before = _read(path)
    try:
        values = _parsed(before).value if before and before.strip() else {}
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
        after = _edited(before, altered) if before and before.strip() else json.dumps(altered, indent=2) + "\n"
    except (ValueError, RecursionError) as exc:
        raise SettingsError(f"{path} cannot be changed ({exc}): edit it yourself; nothing was changed") from exc
    return FileChange(path, before, after)


def settings_values(path: Path) -> Json:
    """Return the values of a JSON file; none if there is no file, or it is not valid."""
    try:
        values = _parsed(_read(path) or "{}").value
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def with_hooks(values: Json, entries: dict[str, Json]) -> Json:
    """Replace our hooks by these; remove entries that are empty without them."""
    hooks = _section(values, "hooks", {}) if entries else values.get("hooks")
    if not isinstance(hooks, dict):
        return values
    for event in [event for event, groups in hooks.items() if isinstance(groups, list)]:
        others = [rest for group in hooks[event] if (rest := _without_ours(group)) is not None]
        if others:
            hooks[event] = others
        elif hooks[event]:
            del hooks[event]
    for event, entry in entries.items():
        _section(hooks, event, []).append(entry)
    if not hooks:
        del values["hooks"]
    return values


def _without_ours(group: Any) -> Any:  # noqa: ANN401 - whatever another program's settings hold
    """Return a group of hooks without ours; None if it has no others."""
    if not isinstance(group, dict) or not isinstance(group.get("hooks"), list):
        return None if is_our_hook(group) else group
    others = [hook for hook in group["hooks"] if not is_our_hook(hook)]
    if len(others) == len(group["hooks"]):
        return group
    return {**group, "hooks": others} if others else None


def is_our_hook(hook: object) -> bool:
    """Return whether a hook of another program's settings runs `memotherm hook`, or calls our MCP server."""
    if not isinstance(hook, dict):
        return False
    if hook.get("type") == "mcp_tool":
        return hook.get("server") == "memotherm"
    command = hook.get("command")
    return isinstance(command, str) and _OURS.search(command.replace("'", " ").replace('"', " ")) is not None


def with_server(values: Json, entry: Json | None, section: str = "mcpServers") -> Json:
    """Replace our MCP server by this entry; remove it if that is None."""
    servers: Any = _section(values, section, {}) if entry else values.get(section)
    existing = servers.get("memotherm") if isinstance(servers, dict) else None
    if entry is not None:
        if existing is not None and not _is_our_server(existing):
            raise SettingsError("another MCP server has the name memotherm: rename it and try again")
        servers["memotherm"] = entry
    elif _is_our_server(existing):
        del servers["memotherm"]
        if not servers:
            del values[section]
    return values


def _is_our_server(entry: object) -> bool:
    if not isinstance(entry, dict):
        return False
    command, arguments = entry.get("command", ""), entry.get("args", [])
    words = [str(word) for part in (command, arguments) for word in (part if isinstance(part, list) else [part])]
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
    except (tomllib.TOMLDecodeError, RecursionError) as exc:
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
