"""Markdown as lines: their structure, and list items that are linked to memories.

A line scanner, not a parser: it finds headings, fences, list items and paragraphs with exact line numbers in texts of
any size and validity. Nothing in a file is an error: bytes that are not UTF-8 are replaced; a byte order mark and
carriage returns are not part of the text. Line n of a file is `split_lines(text)[n - 1]`, as in editors. The blocks
of markdown-it-py take 2.8 times as long for 1 MB of notes, 50 times for a deeply nested list, and 0.2 s to import.

A linked list item has `<!-- mem_... -->` at the end of one of its lines, which is invisible in rendered Markdown.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def decode(data: bytes) -> str:
    """Return the text of a file; undecodable bytes are replaced."""
    if data.startswith(_UTF_16):
        text = data.decode("utf-16", errors="replace")
    else:
        text = data.decode("utf-8-sig", errors="replace")
    return text.replace("\x00", "\ufffd")


def split_lines(text: str) -> list[str]:
    """Return the lines without their line breaks; a final line break does not start another line."""
    if not text:
        return []
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


#: The start of a list item: its indent, and the marker with the space after it.
ITEM = re.compile(r"(?P<indent>[ \t]*)(?P<mark>(?:[-*+]|\d{1,9}[.)])[ \t]+)(?=\S)")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#*)?[ \t]*$")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r" {0,12}(`{3,}|~{3,})")
_FRONT = re.compile(r"---[ \t]*$")
#: A longer line is not a heading, fence or item, whatever it starts with.
_LONGEST_LINE = 2000
_LONGEST_TITLE = 120


class LineRole(IntEnum):
    """The role of a line; a chunk is preferably split before a line of a higher role."""

    #: Inside a code block or front matter.
    INSIDE = 0
    #: After a heading, which a split would separate from its text.
    BELOW_HEADING = 1
    LINE = 2
    ITEM = 3
    BLOCK = 4
    HEADING = 5


#: The role of a line of text after a blank line or a heading.
_ROLE_AFTER = {"blank": LineRole.BLOCK, "heading": LineRole.BELOW_HEADING}


@dataclass(frozen=True, slots=True)
class Outline:
    """The structure of the lines of one text; lines are numbered from 0."""

    #: The role of each line.
    roles: list[LineRole]
    #: The headings above each line, without the line itself.
    headings_above: list[tuple[str, ...]]
    #: The lines that are headings.
    headings: frozenset[int]
    #: The first line of each block -> the end of the block.
    block_ends: dict[int, int]


def outline(lines: Sequence[str]) -> Outline:
    """Return the outline of a text, read once from top to bottom."""
    roles: list[LineRole] = []
    headings_above: list[tuple[str, ...]] = []
    headings: set[int] = set()
    #: The level and the title of each open section.
    sections: list[tuple[int, str]] = []
    titles: tuple[str, ...] = ()
    fence, previous = "", "blank"
    front = _front_matter_end(lines)
    for number, line in enumerate(lines):
        short = line if len(line) <= _LONGEST_LINE else ""
        after_heading = previous == "heading"
        heading = None
        if number < front:
            role = LineRole.INSIDE if number else LineRole.BLOCK
        elif fence:
            role = LineRole.INSIDE
            if _closes(line, fence):
                fence, previous = "", "blank"
        elif not line.strip():
            role = LineRole.BELOW_HEADING if after_heading else LineRole.LINE
            previous = "heading" if after_heading else "blank"
        elif (heading := _heading(lines, number, short, previous)) is not None:
            role = LineRole.BELOW_HEADING if after_heading else LineRole.HEADING
            while sections and sections[-1][0] >= heading[0]:
                sections.pop()
            titles = tuple(title for _, title in sections)
            headings.add(number)
            previous = "heading"
        elif (opening := _FENCE.match(short)) is not None:
            role = LineRole.BELOW_HEADING if after_heading else LineRole.BLOCK
            fence = opening[1]
        else:
            item = ITEM.match(short) is not None
            role = _ROLE_AFTER.get(previous, LineRole.ITEM if item else LineRole.LINE)
            previous = "item" if item else "text"
        roles.append(role)
        headings_above.append(titles)
        if heading is not None and heading[1]:
            level, title = heading[0], heading[1][:_LONGEST_TITLE]
            sections.append((level, title))
            titles = (*titles, title)
    return Outline(roles, headings_above, frozenset(headings), _block_ends(lines, roles))


def _front_matter_end(lines: Sequence[str]) -> int:
    """Return the line after a block between two `---` at the top; 0 without one."""
    if lines and _FRONT.match(lines[0][:_LONGEST_LINE]):
        for number, line in enumerate(lines[1:200], 1):
            if len(line) < _LONGEST_LINE and _FRONT.match(line):
                return number + 1
    return 0


def _closes(line: str, fence: str) -> bool:
    closing = line.strip()
    return closing.startswith(fence) and not closing.strip(fence[0])


def _heading(lines: Sequence[str], number: int, line: str, previous: str) -> tuple[int, str] | None:
    match = _HEADING.match(line)
    if match is not None:
        return len(match[1]), (match[2] or "").strip()
    following = lines[number + 1] if number + 1 < len(lines) else ""
    underline = _UNDERLINE.match(following) if line and len(following) < _LONGEST_LINE else None
    if underline is None or previous in ("text", "item") or ITEM.match(line):
        return None
    return (1 if underline[1][0] == "=" else 2), line.strip()


def _block_ends(lines: Sequence[str], roles: Sequence[LineRole]) -> dict[int, int]:
    """Return the end of each block: the start of the next one, without blank lines before it."""
    starts = [number for number, role in enumerate(roles) if role >= LineRole.ITEM]
    ends = {}
    for start, following in zip(starts, [*starts[1:], len(lines)], strict=False):
        end = following
        while end > start + 1 and not lines[end - 1].strip():
            end -= 1
        ends[start] = end
    return ends


_LINK = re.compile(r"[ \t]*<!--[ \t]*(mem_[0-9A-Za-z_]{1,64})[ \t]*-->[ \t]*$")
_ITEM_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_LONGEST_ITEM_LINE = 100_000
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
    """Yield the top-level list items of a text, with nested items as part of them; code is skipped."""
    for span in _spans(lines, _indents(lines), 0, len(lines)):
        yield _item(lines, span)


def linked_items(lines: Sequence[str]) -> Iterator[ListItem]:
    """Yield the items that are linked to a memory, nested ones included, but not those inside a linked item."""
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
        line = lines[number] if len(lines[number]) <= _LONGEST_ITEM_LINE else ""
        start, number = number, number + 1
        if fence:
            fence = "" if _closes(line, fence) else fence
        elif (opening := _ITEM_FENCE.match(line)) is not None:
            fence = opening[1]
        elif (item := ITEM.match(line)) is not None:
            # It ends before the next line that is neither blank nor indented deeper.
            for following in range(start + 1, stop):
                indent = indents[following]
                if indent is not None and indent <= len(item["indent"]):
                    break
                if indent is not None:
                    number = following + 1
            yield _Span(start, number, len(item[0]))


def _link(lines: Sequence[str], span: _Span) -> tuple[int, str] | None:
    """Return the line number and the memory id of an item's link."""
    for number in range(span.start, span.end):
        line = lines[number][span.width :] if number == span.start else lines[number]
        if number > span.start and ITEM.match(line):
            return None  # a link after this line is that of a nested item
        link = _LINK.search(line[-_LONGEST_LINK:])
        if link is not None:
            return number, link[1]
    return None


def _item(lines: Sequence[str], span: _Span) -> ListItem:
    rest = lines[span.start + 1 : span.end]
    dedented = (line[min(span.width, len(line) - len(line.lstrip(" \t"))) :] for line in rest)
    text = [lines[span.start][span.width :], *dedented]
    link = _link(lines, span)
    if link is not None:
        text[link[0] - span.start] = without_link(text[link[0] - span.start])
    return ListItem(span.start, span.end, "\n".join(text).strip(), "" if link is None else link[1])
