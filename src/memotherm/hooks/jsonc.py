"""Read JSON with comments, and change its values without changing the text around them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

__all__ = ["edited", "parse"]

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
    """Return the text with another value; what has the same value stays as it is, comments included."""
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
    """Insert entries after the last one, and after a comment that stands in its line."""
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
