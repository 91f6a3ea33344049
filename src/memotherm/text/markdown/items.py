"""List items, and their links to memories.

A linked item has `<!-- mem_... -->` at the end of one of its lines, which is invisible where Markdown is
rendered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memotherm.text.markdown.outline import ITEM

__all__ = ["ListItem", "format_item", "item_at", "item_marker", "items", "linked_items", "with_link", "without_link"]

_LINK = re.compile(r"[ \t]*<!--[ \t]*(mem_[0-9A-Za-z_]{1,64})[ \t]*-->[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_LONGEST_LINE = 100_000
_LONGEST_LINK = 200


class ListItem(NamedTuple):
    """A list item: the lines from `start` up to `end` (from 0), its text, and the memory id in its link, or `""`."""

    start: int
    end: int
    text: str
    memory_id: str


def format_item(content: str, memory_id: str, marker: str = "- ") -> str:
    """Return a content as a list item that is linked to a memory, without a final line break."""
    first, *rest = content.strip().replace("\r\n", "\n").split("\n")
    indent = " " * len(marker)
    more = (f"{indent}{line}" if line.strip() else "" for line in rest)
    return "\n".join([f"{marker}{first.rstrip()} <!-- {memory_id} -->", *more])


def item_marker(line: str) -> str:
    """Return the indent, the list marker and the space at the start of a list item."""
    match = ITEM.match(line)
    return match[0] if match else "- "


def with_link(line: str, memory_id: str) -> str:
    """Return the first line of an item with a link to a memory."""
    return f"{_LINK.sub('', line).rstrip()} <!-- {memory_id} -->"


def without_link(line: str) -> str:
    """Return a line without its link."""
    return _LINK.sub("", line)


def items(lines: Sequence[str]) -> Iterator[ListItem]:
    """Yield the list items of a text, nested ones as part of the item around them, none inside code."""
    number, fence = 0, ""
    while number < len(lines):
        line = lines[number] if len(lines[number]) <= _LONGEST_LINE else ""
        opening = _FENCE.match(line)
        if fence or opening is not None:
            if fence:
                fence = "" if line.strip().startswith(fence) and not line.strip().strip(fence[0]) else fence
            elif opening is not None:
                fence = opening[1]
            number += 1
            continue
        item = ITEM.match(line)
        if item is None:
            number += 1
            continue
        end = _end(lines, number, len(item["indent"]))
        yield _item(lines, number, end, len(item[0]))
        number = end


def linked_items(lines: Sequence[str]) -> Iterator[ListItem]:
    """Yield the items that are linked to a memory, also nested ones, but none inside a linked item."""
    for item in items(lines):
        if item.memory_id:
            yield item
        elif item.end > item.start + 1:
            for inner in linked_items(lines[item.start + 1 : item.end]):
                yield _shifted(inner, item.start + 1)


def item_at(lines: Sequence[str], line: int) -> ListItem | None:
    """Return the list item that a line (from 1) belongs to, the innermost one."""
    outer = next((item for item in items(lines) if item.start < line <= item.end), None)
    if outer is None:
        return None
    nested = None
    if line > outer.start + 1:
        nested = item_at(lines[outer.start + 1 : outer.end], line - outer.start - 1)
    return outer if nested is None else _shifted(nested, outer.start + 1)


def _shifted(item: ListItem, lines: int) -> ListItem:
    return item._replace(start=item.start + lines, end=item.end + lines)


def _end(lines: Sequence[str], start: int, indent: int) -> int:
    """Return the end of an item: the next line that is neither blank nor indented deeper."""
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
    text = [lines[start][width:], *(_dedented(line, width) for line in lines[start + 1 : end])]
    for number, line in enumerate(text):
        if number and ITEM.match(line):
            break  # a link after this line is that of a nested item
        link = _LINK.search(line[-_LONGEST_LINK:])
        if link is not None:
            text[number] = _LINK.sub("", line)
            return ListItem(start, end, "\n".join(text).strip(), link[1])
    return ListItem(start, end, "\n".join(text).strip(), "")


def _dedented(line: str, width: int) -> str:
    spaces = len(line) - len(line.lstrip(" \t"))
    return line[min(width, spaces) :]
