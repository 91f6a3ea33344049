"""Cutting a Markdown text into chunks: whole lines, along its structure, with the headings above them.

A chunk ends where the text would: before a heading, between blocks, between items, between lines, and
inside code or a line only when nothing else fits. What is cut inside a section repeats some of the
lines before the cut. Appending to a text changes its last chunk and leaves the others as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from memotherm.errors import InvalidInput
from memotherm.text.markdown.bullets import links
from memotherm.text.markdown.lines import lines_of
from memotherm.text.markdown.shape import LineRole, Shape, shape

__all__ = ["Chunk", "Cut", "chunks"]

#: Changes when the same text is cut differently; notes are then cut again.
_VERSION = 1
#: A chunk with at least this share of its size ends at the next heading.
_ENOUGH = 4
#: A line with more characters per token of a chunk than this is cut without being counted.
_LONG = 32
_LONGEST_HEADING = 200

Count = Callable[[str], int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Cut:
    """How large a chunk is, and how much of it the next one repeats, in tokens."""

    size: int = 400
    overlap: int = 80

    def __post_init__(self) -> None:
        if self.size < 1 or not 0 <= self.overlap < self.size:
            raise InvalidInput(f"chunks of {self.size} tokens cannot repeat {self.overlap}: overlap must be smaller")

    @property
    def name(self) -> str:
        """What tells this way of cutting from others."""
        return f"{self.size}/{self.overlap}/{_VERSION}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Chunk:
    """A range of lines, counted from 1, both ends included."""

    start: int
    end: int
    #: The headings above its first line.
    heading: str
    #: The lines themselves, or the part of a line that is too long for one chunk.
    text: str
    #: The id of the memory that this is, for a linked list item.
    memory_id: str = ""

    @property
    def content(self) -> str:
        """What is stored and searched: the text under its headings."""
        return f"{self.heading}\n\n{self.text}" if self.heading else self.text


def chunks(text: str, count: Count, cut: Cut | None = None) -> list[Chunk]:
    """Cut a text into chunks, in order."""
    lines = lines_of(text)
    cut = cut or Cut()
    known = shape(lines)
    found: list[Chunk] = []
    start = 0
    for item in links(lines):
        if item.text:
            found += _packed(lines, known, (start, item.start), count, cut)
            heading = _heading(known, item.start)
            found.append(
                Chunk(start=item.start + 1, end=item.end, heading=heading, text=item.text, memory_id=item.memory_id)
            )
            start = item.end
    return [*found, *_packed(lines, known, (start, len(lines)), count, cut)]


def _packed(lines: Sequence[str], known: Shape, span: tuple[int, int], count: Count, cut: Cut) -> Iterator[Chunk]:
    """Yield the chunks of some lines."""
    packer = _Packer(lines, known, span[1], count, cut)
    start = after = span[0]
    while start < span[1]:
        if not lines[start].strip():
            start, after = start + 1, max(after, start + 1)
            continue
        if packer.oversized(start):
            yield from _pieces(lines[start], start, _heading(known, start), count, cut)
            start = after = start + 1
            continue
        end = packer.end(start, after)
        if not _only_headings(lines, known, start, end):
            yield _chunk(lines, known, start, end)
        start, after = packer.next_start(start, end), end


class _Packer:
    """Decides where chunks end and begin."""

    def __init__(self, lines: Sequence[str], known: Shape, stop: int, count: Count, cut: Cut) -> None:
        self._lines = lines
        self._known = known
        self._stop = stop
        self._count = count
        self._cut = cut
        self._costs: dict[int, int] = {}

    def cost(self, number: int) -> int:
        """Return the tokens of a line, or more than a chunk has."""
        known = self._costs.get(number)
        if known is None:
            line = self._lines[number]
            long = len(line) > _LONG * self._cut.size
            # A blank line joins the line end before it and costs nothing by itself.
            cost = self._count(f"{line}\n") if line and not long else 0
            known = self._costs[number] = self._cut.size + 1 if long else cost
        return known

    def oversized(self, number: int) -> bool:
        """Tell whether a line does not fit into a chunk."""
        return self.cost(number) > self._cut.size

    def end(self, start: int, after: int) -> int:
        """Return where the chunk that begins at `start` ends; it must reach beyond `after`."""
        total, number = 0, start
        while number < self._stop and total + self.cost(number) <= self._cut.size:
            enough = total * _ENOUGH >= self._cut.size
            if number > after and enough and self._known.places[number] is LineRole.HEADING:
                return number
            total += self.cost(number)
            number += 1
        if number == self._stop or self.oversized(number):
            return number
        return self._best(start, after, number)

    def _best(self, start: int, after: int, full: int) -> int:
        """Return the best place to cut among those that leave a chunk of a fair size, the last of equals."""
        places = self._known.places
        total = sum(self.cost(number) for number in range(start, max(after, start)))
        fair: list[tuple[LineRole, int]] = []
        small: list[tuple[LineRole, int]] = []
        for number in range(max(after, start), full):
            total += self.cost(number)
            if number + 1 > after:
                where = fair if total * _ENOUGH >= self._cut.size else small
                where.append((places[number + 1], number + 1))
        good = [each for each in fair if each[0] >= LineRole.LINE]
        whole = [each for each in small if each[0] >= LineRole.BELOW_HEADING and self._fits_alone(each[1])]
        best = max(good, default=None) or max(whole, default=None)
        return full if best is None else best[1]

    def _fits_alone(self, number: int) -> bool:
        """Tell whether the block that begins at a line fits into one chunk."""
        return sum(self.cost(each) for each in range(number, self._block_end(number))) <= self._cut.size

    def _block_end(self, number: int) -> int:
        return min(self._known.ends.get(number, number + 1), self._stop)

    def next_start(self, start: int, end: int) -> int:
        """Return where the next chunk begins: some lines back, unless a section ended or it would not fit."""
        if end >= self._stop or self._known.places[end] is LineRole.HEADING or self.oversized(end):
            return end
        block = sum(self.cost(each) for each in range(end, self._block_end(end)))
        room = min(self._cut.overlap, self._cut.size - (block if block <= self._cut.size else self.cost(end)))
        number, chosen = end, end
        while number - 1 > start and (room := room - self.cost(number - 1)) >= 0:
            number -= 1
            if self._known.places[number] is LineRole.HEADING or self._known.places[number] is LineRole.BELOW_HEADING:
                break
            if self._known.places[number] >= min(LineRole.LINE, self._known.places[end]):
                chosen = number
        return chosen


def _only_headings(lines: Sequence[str], known: Shape, start: int, end: int) -> bool:
    """Tell whether lines are headings that travel with what follows them anyway."""
    following = next((number for number in range(end, len(lines)) if lines[number].strip()), None)
    if following is None or len(known.above[following]) <= len(known.above[start]):
        return False
    return all(number in known.headings or not lines[number].strip() for number in range(start, end))


def _chunk(lines: Sequence[str], known: Shape, start: int, end: int) -> Chunk:
    while end > start + 1 and not lines[end - 1].strip():
        end -= 1
    return Chunk(start=start + 1, end=end, heading=_heading(known, start), text="\n".join(lines[start:end]))


def _heading(known: Shape, number: int) -> str:
    """Return the headings above a line, the innermost whole."""
    path = " > ".join(known.above[number])
    return path if len(path) <= _LONGEST_HEADING else known.above[number][-1]


def _pieces(line: str, number: int, heading: str, count: Count, cut: Cut) -> Iterator[Chunk]:
    """Cut a line that is too long for one chunk, at spaces where there are any."""
    start = 0
    while start < len(line):
        end = _piece_end(line, start, count, cut)
        text = line[start:end].strip()
        if text:
            yield Chunk(start=number + 1, end=number + 1, heading=heading, text=text)
        if end >= len(line):
            return
        back = (end - start) * cut.overlap // (cut.size * 2)
        space = line.find(" ", end - back, end) if back else -1
        start = space + 1 if space >= 0 else end - back


def _piece_end(line: str, start: int, count: Count, cut: Cut) -> int:
    width = min(6 * cut.size, len(line) - start)
    while width > 1 and (tokens := count(line[start : start + width])) > cut.size:
        width = max(1, min(width - 1, width * cut.size // tokens))
    end = start + width
    if end >= len(line):
        return end
    space = line.rfind(" ", start + width // 2, end)
    return space + 1 if space > start else end
