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
    return f"{without_link(line).rstrip()} <!-- {memory_id} -->"


def without_link(line: str) -> str:
    """Return a line without its link."""
    tail = line[-_LONGEST_LINK:]
    if _LINK.search(tail) is None:
        return line
    # Only the tail is searched, because the pattern takes quadratic time for a long run of spaces.
    return (line[:-_LONGEST_LINK] + _LINK.sub("", tail)).rstrip()


def items(lines: Sequence[str]) -> Iterator[ListItem]:
    """Yield the list items of a text, nested ones as part of the item around them, none inside code."""
    for span in _spans(lines, _indents(lines), 0, len(lines)):
        yield _item(lines, span)


def linked_items(lines: Sequence[str]) -> Iterator[ListItem]:
    """Yield the items that are linked to a memory, also nested ones, but none inside a linked item."""
    if not any("<!--" in line for line in lines):
        return
    indents = _indents(lines)
    # A stack and not a recursion, because a list may be nested deeper than the recursion limit.
    nested = [_spans(lines, indents, 0, len(lines))]
    while nested:
        span = next(nested[-1], None)
        if span is None:
            nested.pop()
        elif _link(lines, span) is not None:
            yield _item(lines, span)
        elif span.end > span.start + 1:
            nested.append(_spans(lines, indents, span.start + 1, span.end))


def item_at(lines: Sequence[str], line: int) -> ListItem | None:
    """Return the list item that a line (from 1) belongs to, the innermost one."""
    indents = _indents(lines)
    innermost: _Span | None = None
    start, end = 0, len(lines)
    while start < line:
        span = next((span for span in _spans(lines, indents, start, end) if span.start < line <= span.end), None)
        if span is None:
            break
        innermost, start, end = span, span.start + 1, span.end
    return None if innermost is None else _item(lines, innermost)


class _Span(NamedTuple):
    """The lines of an item, and the width of its indent and marker."""

    start: int
    end: int
    width: int


def _indents(lines: Sequence[str]) -> list[int | None]:
    """Return the width of the white space at the start of each line; None for a blank line."""
    return [len(line) - len(line.lstrip(" \t")) if line.strip() else None for line in lines]


def _spans(lines: Sequence[str], indents: Sequence[int | None], start: int, stop: int) -> Iterator[_Span]:
    """Yield the items between two lines, without those nested in them."""
    number, fence = start, ""
    while number < stop:
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
        span = _Span(number, _end(indents, number, stop, len(item["indent"])), len(item[0]))
        yield span
        number = span.end


def _end(indents: Sequence[int | None], start: int, stop: int, indent: int) -> int:
    """Return the end of an item: the next line that is neither blank nor indented deeper."""
    end = start + 1
    for number in range(start + 1, stop):
        own = indents[number]
        if own is None:
            continue
        if own <= indent:
            break
        end = number + 1
    return end


def _link(lines: Sequence[str], span: _Span) -> tuple[int, str] | None:
    """Return the line of an item's link, and the memory id in it."""
    for number in range(span.start, span.end):
        line = lines[number][span.width :] if number == span.start else lines[number]
        if number > span.start and ITEM.match(line):
            return None  # a link after this line is that of a nested item
        link = _LINK.search(line[-_LONGEST_LINK:])
        if link is not None:
            return number, link[1]
    return None


def _item(lines: Sequence[str], span: _Span) -> ListItem:
    text = [lines[span.start][span.width :]]
    text += [_dedented(line, span.width) for line in lines[span.start + 1 : span.end]]
    link = _link(lines, span)
    if link is not None:
        text[link[0] - span.start] = without_link(text[link[0] - span.start])
    return ListItem(span.start, span.end, "\n".join(text).strip(), "" if link is None else link[1])


def _dedented(line: str, width: int) -> str:
    spaces = len(line) - len(line.lstrip(" \t"))
    return line[min(width, spaces) :]
