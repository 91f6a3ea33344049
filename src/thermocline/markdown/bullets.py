"""List items, and the mark that says which memory an item is.

A linked item ends its first line with `<!-- mem_... -->`: invisible where Markdown is rendered, and
enough for a note and a memory to stay one thing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from thermocline.markdown.shape import ITEM

__all__ = ["Item", "bullet_of", "item_at", "items", "linked", "unlinked"]

_LINK = re.compile(r"[ \t]*<!--[ \t]*(mem_[0-9A-Za-z_]{1,64})[ \t]*-->[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_LONGEST_LINE = 100_000


class Item(NamedTuple):
    """A list item: the lines from `start` up to `end` (from 0), what it says, and whose id it carries."""

    start: int
    end: int
    text: str
    memory_id: str


def bullet_of(content: str, memory_id: str) -> str:
    """Return a content as a list item that is linked to a memory, without a final line end."""
    first, *rest = content.strip().replace("\r\n", "\n").split("\n")
    lines = [f"- {first.rstrip()} <!-- {memory_id} -->", *(f"  {line}" if line.strip() else "" for line in rest)]
    return "\n".join(lines)


def linked(line: str, memory_id: str) -> str:
    """Return the first line of an item with a link to a memory."""
    return f"{_LINK.sub('', line).rstrip()} <!-- {memory_id} -->"


def unlinked(line: str) -> str:
    """Return the first line of an item without its link."""
    return _LINK.sub("", line)


def items(lines: Sequence[str]) -> Iterator[Item]:
    """Yield the list items of a text, nested ones as part of the item around them, none inside code."""
    number, fence = 0, ""
    while number < len(lines):
        line = lines[number] if len(lines[number]) <= _LONGEST_LINE else ""
        found = _FENCE.match(line)
        if fence or found is not None:
            if fence:
                fence = "" if line.strip().startswith(fence) and not line.strip().strip(fence[0]) else fence
            elif found is not None:
                fence = found[1]
            number += 1
            continue
        item = ITEM.match(line)
        if item is None:
            number += 1
            continue
        end = _end(lines, number, len(item["indent"]))
        yield _item(lines, number, end, len(item[0]))
        number = end


def item_at(lines: Sequence[str], line: int) -> Item | None:
    """Return the list item that a line (from 1) belongs to, the innermost one."""
    found = next((item for item in items(lines) if item.start < line <= item.end), None)
    if found is None:
        return None
    inner = lines[found.start + 1 : found.end]
    below = item_at(inner, line - found.start - 1) if line > found.start + 1 else None
    if below is None:
        return found
    return below._replace(start=below.start + found.start + 1, end=below.end + found.start + 1)


def _end(lines: Sequence[str], start: int, indent: int) -> int:
    """Return where an item ends: at the next line that is not indented deeper, blank lines not counted."""
    end = start + 1
    for number in range(start + 1, len(lines)):
        line = lines[number]
        if not line.strip():
            continue
        if len(line) - len(line.lstrip(" \t")) <= indent:
            break
        end = number + 1
    return end


def _item(lines: Sequence[str], start: int, end: int, width: int) -> Item:
    first = lines[start][width:]
    link = _LINK.search(first)
    told = [_LINK.sub("", first) if link else first, *(_dedented(line, width) for line in lines[start + 1 : end])]
    return Item(start, end, "\n".join(told).strip(), link[1] if link else "")


def _dedented(line: str, width: int) -> str:
    spaces = len(line) - len(line.lstrip(" \t"))
    return line[min(width, spaces) :]
