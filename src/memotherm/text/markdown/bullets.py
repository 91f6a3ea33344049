"""List items, and the mark that says which memory an item is.

A linked item carries `<!-- mem_... -->` at the end of a line of its own text: invisible where Markdown
is rendered, and enough for a note and a memory to stay one thing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memotherm.text.markdown.shape import ITEM

__all__ = ["ListItem", "bullet_of", "item_at", "items", "linked", "links", "mark_of", "unlinked"]

_LINK = re.compile(r"[ \t]*<!--[ \t]*(mem_[0-9A-Za-z_]{1,64})[ \t]*-->[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_LONGEST_LINE = 100_000
_LONGEST_LINK = 200


class ListItem(NamedTuple):
    """A list item: the lines from `start` up to `end` (from 0), what it says, and whose id it carries."""

    start: int
    end: int
    text: str
    memory_id: str


def bullet_of(content: str, memory_id: str, mark: str = "- ") -> str:
    """Return a content as a list item that is linked to a memory, without a final line end."""
    first, *rest = content.strip().replace("\r\n", "\n").split("\n")
    margin = " " * len(mark)
    more = (f"{margin}{line}" if line.strip() else "" for line in rest)
    return "\n".join([f"{mark}{first.rstrip()} <!-- {memory_id} -->", *more])


def mark_of(line: str) -> str:
    """Return how a list item begins: its indent, its mark and the space after it."""
    found = ITEM.match(line)
    return found[0] if found else "- "


def linked(line: str, memory_id: str) -> str:
    """Return the first line of an item with a link to a memory."""
    return f"{_LINK.sub('', line).rstrip()} <!-- {memory_id} -->"


def unlinked(line: str) -> str:
    """Return a line without its link."""
    return _LINK.sub("", line)


def items(lines: Sequence[str]) -> Iterator[ListItem]:
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


def links(lines: Sequence[str]) -> Iterator[ListItem]:
    """Yield the items that are linked to a memory, nested ones too; what is inside a linked item is its text."""
    for item in items(lines):
        if item.memory_id:
            yield item
        elif item.end > item.start + 1:
            for inner in links(lines[item.start + 1 : item.end]):
                yield _shifted(inner, item.start + 1)


def item_at(lines: Sequence[str], line: int) -> ListItem | None:
    """Return the list item that a line (from 1) belongs to, the innermost one."""
    found = next((item for item in items(lines) if item.start < line <= item.end), None)
    if found is None:
        return None
    inner = lines[found.start + 1 : found.end]
    below = item_at(inner, line - found.start - 1) if line > found.start + 1 else None
    return found if below is None else _shifted(below, found.start + 1)


def _shifted(item: ListItem, lines: int) -> ListItem:
    return item._replace(start=item.start + lines, end=item.end + lines)


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


def _item(lines: Sequence[str], start: int, end: int, width: int) -> ListItem:
    told = [lines[start][width:], *(_dedented(line, width) for line in lines[start + 1 : end])]
    for number, line in enumerate(told):
        if number and ITEM.match(line):
            break  # from here on a link would be that of a nested item
        link = _LINK.search(line[-_LONGEST_LINK:])
        if link is not None:
            told[number] = _LINK.sub("", line)
            return ListItem(start, end, "\n".join(told).strip(), link[1])
    return ListItem(start, end, "\n".join(told).strip(), "")


def _dedented(line: str, width: int) -> str:
    spaces = len(line) - len(line.lstrip(" \t"))
    return line[min(width, spaces) :]
