"""The outline of a Markdown text: the role of each line, and the headings above it.

This is a line scanner, not a parser: it finds headings, fences, list items and paragraphs with exact line
numbers in texts of any size and validity. Any other line is part of a paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

__all__ = ["ITEM", "LineRole", "Outline", "outline"]

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
    """Return the outline of a text."""
    scanner = _Scanner(lines)
    scanner.scan()
    ends = _block_ends(lines, scanner.roles)
    return Outline(scanner.roles, scanner.headings_above, frozenset(scanner.headings), ends)


class _Scanner:
    """Reads the lines once, from top to bottom."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._stack: list[tuple[int, str]] = []
        self._fence = ""
        self._previous = "blank"
        self.roles: list[LineRole] = []
        self.headings_above: list[tuple[str, ...]] = []
        self._titles: tuple[str, ...] = ()
        self.headings: set[int] = set()

    def scan(self) -> None:
        start = self._front_matter()
        for number in range(start, len(self._lines)):
            self._line(number)

    def _front_matter(self) -> int:
        """Read a block between two `---` at the top, and return the line after it."""
        if not self._lines or not _FRONT.match(self._lines[0][:_LONGEST_LINE]):
            return 0
        for number, line in enumerate(self._lines[1:200], 1):
            if len(line) < _LONGEST_LINE and _FRONT.match(line):
                self._add(LineRole.BLOCK)
                for _ in range(number):
                    self._add(LineRole.INSIDE)
                self._previous = "blank"
                return number + 1
        return 0

    def _line(self, number: int) -> None:
        line = self._lines[number]
        if self._fence:
            self._inside_fence(line)
        elif not line.strip():
            self._add(LineRole.BELOW_HEADING if self._previous == "heading" else LineRole.LINE)
            self._previous = "heading" if self._previous == "heading" else "blank"
        else:
            self._text(line, number)

    def _inside_fence(self, line: str) -> None:
        self._add(LineRole.INSIDE)
        closing = line.strip()
        if closing.startswith(self._fence) and not closing.strip(self._fence[0]):
            self._fence = ""
            self._previous = "blank"

    def _text(self, line: str, number: int) -> None:
        short = line if len(line) <= _LONGEST_LINE else ""
        heading = self._heading(short, number)
        if heading is not None:
            level, title = heading
            self._close_sections(level)
            self._add(LineRole.BELOW_HEADING if self._previous == "heading" else LineRole.HEADING)
            self._open_section(level, title)
            self.headings.add(number)
            self._previous = "heading"
        elif (fence := _FENCE.match(short)) is not None:
            self._add(LineRole.BELOW_HEADING if self._previous == "heading" else LineRole.BLOCK)
            self._fence = fence[1]
        else:
            item = ITEM.match(short) is not None
            role = LineRole.ITEM if item else LineRole.LINE
            self._add(_ROLE_AFTER.get(self._previous, role))
            self._previous = "item" if item else "text"

    def _heading(self, line: str, number: int) -> tuple[int, str] | None:
        match = _HEADING.match(line)
        if match is not None:
            return len(match[1]), (match[2] or "").strip()
        following = self._lines[number + 1] if number + 1 < len(self._lines) else ""
        underline = _UNDERLINE.match(following) if line and len(following) < _LONGEST_LINE else None
        if underline is None or self._previous in ("text", "item") or ITEM.match(line):
            return None
        return (1 if underline[1][0] == "=" else 2), line.strip()

    def _close_sections(self, level: int) -> None:
        """Close the sections that a heading of this level ends."""
        while self._stack and self._stack[-1][0] >= level:
            self._stack.pop()
        self._titles = tuple(title for _, title in self._stack)

    def _open_section(self, level: int, title: str) -> None:
        """Open the section of a heading."""
        if title:
            self._stack.append((level, title[:_LONGEST_TITLE]))
        self._titles = tuple(title for _, title in self._stack)

    def _add(self, role: LineRole) -> None:
        self.roles.append(role)
        self.headings_above.append(self._titles)


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
