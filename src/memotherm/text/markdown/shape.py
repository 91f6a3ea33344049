"""What each line of a Markdown text is: how good it is to cut before it, and under which headings it stands.

A line scanner, not a parser: it needs headings, fences, list items and paragraphs, with exact line
numbers, in texts of any size and any validity. Anything it does not know is a paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

__all__ = ["ITEM", "LineRole", "Shape", "shape"]

#: Where a line begins a list item: its indent, and the mark with the space after it.
ITEM = re.compile(r"(?P<indent>[ \t]*)(?P<mark>(?:[-*+]|\d{1,9}[.)])[ \t]+)(?=\S)")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#*)?[ \t]*$")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r" {0,12}(`{3,}|~{3,})")
_FRONT = re.compile(r"---[ \t]*$")
#: A longer line is no heading, fence or item, whatever it begins with.
_LONGEST_LINE = 2000
_LONGEST_TITLE = 120


class LineRole(IntEnum):
    """How good it is to cut before a line."""

    #: Inside code, or a table of front matter: only when nothing else is left.
    INSIDE = 0
    #: After a heading: it would stand alone.
    BELOW_HEADING = 1
    LINE = 2
    ITEM = 3
    BLOCK = 4
    HEADING = 5


@dataclass(frozen=True, slots=True)
class Shape:
    """What is known of the lines of one text."""

    #: How good it is to cut before each line.
    places: list[LineRole]
    #: The headings above each line, the line itself not among them.
    above: list[tuple[str, ...]]
    #: The lines that are headings.
    headings: frozenset[int]
    #: Where the block that begins at a line ends, for lines that begin one.
    ends: dict[int, int]


def shape(lines: Sequence[str]) -> Shape:
    """Scan the lines once."""
    scanner = _Scanner(lines)
    scanner.scan()
    return Shape(scanner.places, scanner.above, frozenset(scanner.headings), _ends(lines, scanner.places))


class _Scanner:
    """Goes down the lines with what it must remember of those above."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._stack: list[tuple[int, str]] = []
        self._fence = ""
        self._previous = "blank"
        self.places: list[LineRole] = []
        self.above: list[tuple[str, ...]] = []
        self._above: tuple[str, ...] = ()
        self.headings: set[int] = set()

    def scan(self) -> None:
        start = self._front_matter()
        for number in range(start, len(self._lines)):
            self._line(number)

    def _front_matter(self) -> int:
        """Take a block between two `---` at the very top as one piece."""
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
            self._rise(level)
            self._add(LineRole.BELOW_HEADING if self._previous == "heading" else LineRole.HEADING)
            self._sink(level, title)
            self.headings.add(number)
            self._previous = "heading"
        elif (fence := _FENCE.match(short)) is not None:
            self._add(self._fresh(LineRole.BLOCK))
            self._fence = fence[1]
        else:
            item = ITEM.match(short) is not None
            self._add(self._fresh(LineRole.ITEM if item and self._previous != "blank" else self._kind(item=item)))
            self._previous = "item" if item else "text"

    def _kind(self, *, item: bool) -> LineRole:
        if self._previous == "blank":
            return LineRole.BLOCK
        return LineRole.ITEM if item else LineRole.LINE

    def _fresh(self, place: LineRole) -> LineRole:
        return LineRole.BELOW_HEADING if self._previous == "heading" else place

    def _heading(self, line: str, number: int) -> tuple[int, str] | None:
        found = _HEADING.match(line)
        if found is not None:
            return len(found[1]), (found[2] or "").strip()
        following = self._lines[number + 1] if number + 1 < len(self._lines) else ""
        under = _UNDERLINE.match(following) if line and len(following) < _LONGEST_LINE else None
        if under is None or self._previous in ("text", "item") or ITEM.match(line):
            return None
        return (1 if under[1][0] == "=" else 2), line.strip()

    def _rise(self, level: int) -> None:
        """Leave the sections that a heading of this level ends."""
        while self._stack and self._stack[-1][0] >= level:
            self._stack.pop()
        self._above = tuple(title for _, title in self._stack)

    def _sink(self, level: int, title: str) -> None:
        """Enter the section that a heading begins."""
        if title:
            self._stack.append((level, title[:_LONGEST_TITLE]))
        self._above = tuple(title for _, title in self._stack)

    def _add(self, place: LineRole) -> None:
        self.places.append(place)
        self.above.append(self._above)


def _ends(lines: Sequence[str], places: Sequence[LineRole]) -> dict[int, int]:
    """Return where each block ends: before the next line that begins another one, without blank lines."""
    starts = [number for number, place in enumerate(places) if place >= LineRole.ITEM]
    ends = {}
    for start, following in zip(starts, [*starts[1:], len(lines)], strict=False):
        end = following
        while end > start + 1 and not lines[end - 1].strip():
            end -= 1
        ends[start] = end
    return ends
