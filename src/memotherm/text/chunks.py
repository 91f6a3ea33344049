"""Chunks of a Markdown text: whole lines, split along its structure, with the headings above them.

A text is split before a heading, between blocks, between items, between lines, and inside of code or of a
line only when nothing else fits. After a split inside a section, the next chunk repeats some lines.
Appending to a text changes its last chunk and leaves the others as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from memotherm.errors import InvalidInput
from memotherm.text.markdown import LineRole, Outline, outline, split_lines

#: Changes when the same text is split differently; notes are then chunked again.
_VERSION = 1
#: A chunk of at least 1/4 of its size ends at the next heading.
_MIN_FRACTION = 4
#: A line with more characters per token of the chunk size is split without counting its tokens.
_MAX_CHARS_PER_TOKEN = 32
_LONGEST_HEADING = 200

Count = Callable[[str], int]


#: The share of a chunk that the next one repeats.
_SHARE = 0.2


@dataclass(frozen=True, kw_only=True, slots=True)
class ChunkSize:
    """The maximum tokens of a chunk, and of the overlap with the next one."""

    size: int = 400
    overlap: int = -1

    def __post_init__(self) -> None:
        if self.overlap < 0:
            object.__setattr__(self, "overlap", int(self.size * _SHARE))
        if self.size < 1 or self.overlap >= self.size:
            raise InvalidInput(f"chunks of {self.size} tokens cannot repeat {self.overlap}: overlap must be smaller")

    @property
    def name(self) -> str:
        """An identifier of the size, the overlap and the version of the algorithm."""
        return f"{self.size}/{self.overlap}/{_VERSION}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Chunk:
    """A range of lines, numbered from 1, both ends included."""

    start: int
    end: int
    #: The headings above its first line.
    heading: str
    #: The lines, or a part of a line that is too long for one chunk.
    text: str

    @property
    def content(self) -> str:
        """The text that is stored and searched: the headings and the lines."""
        return f"{self.heading}\n\n{self.text}" if self.heading else self.text


def chunks(text: str, count: Count, size: ChunkSize | None = None) -> list[Chunk]:
    """Split a text into chunks, in order."""
    lines = split_lines(text)
    size = size or ChunkSize()
    return list(_Splitter(lines, outline(lines), count, size).chunks())


class _Splitter:
    """Splits lines into chunks."""

    def __init__(self, lines: Sequence[str], structure: Outline, count: Count, size: ChunkSize) -> None:
        self._lines = lines
        self._outline = structure
        self._stop = len(lines)
        self._count = count
        self._chunk_size = size
        self._size = size.size
        #: The tokens of each line.
        self._costs = [_cost(line, count, size.size) for line in lines]

    def chunks(self) -> Iterator[Chunk]:
        """Yield the chunks."""
        lines = self._lines
        start = after = 0
        while start < self._stop:
            heading = _heading(self._outline, start)
            if not lines[start].strip():
                start, after = start + 1, max(after, start + 1)
            elif self._costs[start] > self._size:
                yield from _split_line(lines[start], start, heading, self._count, self._chunk_size)
                start = after = start + 1
            else:
                end = last = self._end(start, after)
                while last > start + 1 and not lines[last - 1].strip():
                    last -= 1
                if not self._only_headings(start, end):
                    yield Chunk(start=start + 1, end=last, heading=heading, text="\n".join(lines[start:last]))
                start, after = self._next_start(start, end), end

    def _only_headings(self, start: int, end: int) -> bool:
        """Return whether lines are only headings that are also headings of what follows them."""
        lines, above = self._lines, self._outline.headings_above
        following = next((number for number in range(end, len(lines)) if lines[number].strip()), None)
        if following is None or len(above[following]) <= len(above[start]):
            return False
        return all(number in self._outline.headings or not lines[number].strip() for number in range(start, end))

    def _end(self, start: int, after: int) -> int:
        """Return the end of the chunk that starts at `start`; it must be after `after`."""
        total, number = 0, start
        costs, roles = self._costs, self._outline.roles
        while number < self._stop and total + costs[number] <= self._size:
            if number > after and total * _MIN_FRACTION >= self._size and roles[number] is LineRole.HEADING:
                return number
            total += costs[number]
            number += 1
        if number == self._stop or costs[number] > self._size:
            return number
        return self._best(start, after, number)

    def _best(self, start: int, after: int, full: int) -> int:
        """Return the best line to split before, preferring chunks of a fair size, and the last of equals."""
        roles = self._outline.roles
        total = sum(self._costs[number] for number in range(start, max(after, start)))
        fair: list[tuple[LineRole, int]] = []
        small: list[tuple[LineRole, int]] = []
        for number in range(max(after, start), full):
            total += self._costs[number]
            if number + 1 > after:
                ends = fair if total * _MIN_FRACTION >= self._size else small
                ends.append((roles[number + 1], number + 1))
        good = [(role, line) for role, line in fair if role >= LineRole.LINE]
        fitting = [
            (role, line)
            for role, line in small
            if role >= LineRole.BELOW_HEADING and self._block_cost(line) <= self._size
        ]
        best = max(good, default=None) or max(fitting, default=None)
        return full if best is None else best[1]

    def _block_cost(self, number: int) -> int:
        end = min(self._outline.block_ends.get(number, number + 1), self._stop)
        return sum(self._costs[line] for line in range(number, end))

    def _next_start(self, start: int, end: int) -> int:
        """Return the start of the next chunk: some lines back, unless a section ended or they would not fit."""
        roles = self._outline.roles
        if end >= self._stop or roles[end] is LineRole.HEADING or self._costs[end] > self._size:
            return end
        block = self._block_cost(end)
        available = min(self._chunk_size.overlap, self._size - (block if block <= self._size else self._costs[end]))
        number, chosen = end, end
        while number - 1 > start and (available := available - self._costs[number - 1]) >= 0:
            number -= 1
            if roles[number] in (LineRole.HEADING, LineRole.BELOW_HEADING):
                break
            if roles[number] >= min(LineRole.LINE, roles[end]):
                chosen = number
        return chosen


def _cost(line: str, count: Count, size: int) -> int:
    """Return the tokens of a line; for a very long one, more than the size of a chunk."""
    if len(line) > _MAX_CHARS_PER_TOKEN * size:
        return size + 1
    # A blank line is part of the token of the line break before it.
    return count(f"{line}\n") if line else 0


def _heading(structure: Outline, number: int) -> str:
    """Return the headings above a line; only the innermost one if all are too long."""
    path = " > ".join(structure.headings_above[number])
    return path if len(path) <= _LONGEST_HEADING else structure.headings_above[number][-1]


def _split_line(line: str, number: int, heading: str, count: Count, size: ChunkSize) -> Iterator[Chunk]:
    """Yield the chunks of a line that is too long for one chunk, split at spaces where possible."""
    start = 0
    while start < len(line):
        end = _part_end(line, start, count, size)
        text = line[start:end].strip()
        if text:
            yield Chunk(start=number + 1, end=number + 1, heading=heading, text=text)
        if end >= len(line):
            return
        back = (end - start) * size.overlap // (size.size * 2)
        space = line.find(" ", end - back, end) if back else -1
        start = space + 1 if space >= 0 else end - back


def _part_end(line: str, start: int, count: Count, size: ChunkSize) -> int:
    width = min(6 * size.size, len(line) - start)
    while width > 1 and (tokens := count(line[start : start + width])) > size.size:
        width = max(1, min(width - 1, width * size.size // tokens))
    end = start + width
    if end >= len(line):
        return end
    space = line.rfind(" ", start + width // 2, end)
    return space + 1 if space > start else end
