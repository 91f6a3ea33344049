"""Files of Anthropic's memory tool: the arguments of their memories, edits, and the texts that the tool shows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from anthropic.lib.tools import ToolError

from memotherm.model import Memory

# Files

#: The key of the directory that holds all files.
ROOT = "memories"

_MOUNT = f"/{ROOT}"
#: Longer files are indexed by words only; embedding them takes minutes.
_LONGEST_INDEXED = 100_000


def key_of(path: str) -> str:
    """Return the key of a path such as "/memories/plan.md", or refuse one that leads out of the directory."""
    if not path.startswith(_MOUNT):
        raise ToolError(f"Path must start with {_MOUNT}, got: {path}")
    parts = [ROOT]
    for part in path.removeprefix(_MOUNT).split("/"):
        if part == "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
        if not parts:
            raise ToolError(f"Path {path} would escape {_MOUNT} directory")
    return "/".join(parts)


def text_of(memory: Memory) -> str:
    """Return the text of the file that a memory holds."""
    text = memory.metadata.get("text")
    return text if isinstance(text, str) else memory.content


def arguments_of(key: str, text: str) -> dict[str, Any]:
    """Return the arguments of `remember` for a file."""
    blank = not text.strip()
    return {
        "content": f"(blank file /{key})" if blank else text,
        "kind": "file",
        "key": key,
        "metadata": {"text": text} if blank else {},
        "source": "anthropic",
        "index": not blank and len(text) <= _LONGEST_INDEXED,
    }


# Views and edits

_MOST_LINES = 999_999
#: Lines shown before and after a change.
_AROUND = 2
#: How deep a directory is shown.
_LEVELS = 2
_UNITS = "BKMG"


def file_view(path: str, text: str, view_range: Sequence[int] | None) -> str:
    """Return the lines of a file with their numbers, all of them or a range."""
    lines = text.split("\n")
    if len(lines) > _MOST_LINES:
        raise ToolError(f"File {path} exceeds maximum line limit of {_MOST_LINES:,} lines.")
    first, last = 1, len(lines)
    if view_range and len(view_range) == 2:
        first = max(1, view_range[0])
        last = last if view_range[1] == -1 else view_range[1]
    shown = lines[first - 1 : last]
    return f"Here's the content of {path} with line numbers:\n" + "\n".join(_numbered(shown, first))


def directory_view(path: str, sizes: Mapping[str, int]) -> str:
    """Return the files and directories of two levels; `sizes` are the bytes of files by their relative paths."""
    entries: dict[tuple[str, ...], int] = {}
    directories: set[tuple[str, ...]] = set()
    for name, size in sizes.items():
        parts = tuple(name.split("/"))
        for depth in range(1, min(_LEVELS, len(parts)) + 1):
            if parts[depth - 1].startswith("."):
                break
            entries[parts[:depth]] = entries.get(parts[:depth], 0) + size
            if depth < len(parts):
                directories.add(parts[:depth])
    listed = [
        f"{_size(entries[parts])}\t{path}/{'/'.join(parts)}{'/' if parts in directories else ''}"
        for parts in sorted(entries)
    ]
    header = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
    return "\n".join([header, f"{_size(sum(sizes.values()))}\t{path}", *listed])


def replaced(path: str, text: str, old: str, new: str) -> str:
    """Return a text with the only occurrence of a part replaced."""
    count = text.count(old)
    if count == 0:
        raise ToolError(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
    if count > 1:
        # Overlapping occurrences are named, too.
        places = (match.start() for match in re.finditer(f"(?={re.escape(old)})", text))
        lines = ", ".join(str(text.count("\n", 0, place) + 1) for place in places)
        raise ToolError(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. "
            "Please ensure it is unique"
        )
    return text.replace(old, new)


def snippet(before: str, after: str, old: str) -> str:
    """Return the lines around a replacement."""
    changed = before[: before.find(old)].count("\n") + 1
    first = max(1, changed - _AROUND)
    lines = _numbered(after.split("\n")[first - 1 : changed + _AROUND], first)
    message = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
    return f"{message}\n" + "\n".join(lines)


def inserted(text: str, line: int, new: str) -> str:
    """Return a text with lines inserted behind a line; it ends with a line feed."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if line < 0 or line > len(lines):
        raise ToolError(f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}].")
    lines.insert(line, new.rstrip("\n"))
    result = "\n".join(lines)
    return result if result.endswith("\n") else f"{result}\n"


def _numbered(lines: Sequence[str], first: int) -> list[str]:
    return [f"{number:>6}\t{line}" for number, line in enumerate(lines, first)]


def _size(count: int) -> str:
    """Return a number of bytes as `ls -h` does."""
    unit = min(max(count.bit_length() - 1, 0) // 10, len(_UNITS) - 1)
    size = count / 1024**unit
    return f"{int(size) if size == int(size) else format(size, '.1f')}{_UNITS[unit]}"
