"""The forms that one memory can take in a context, and what each of them costs.

Whole, as many whole sentences as fit, or its title: each is written and counted when somebody first
asks for it, and a huge content is never counted to its end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from memotherm.context.rendering import FULL, SHORTENED, TITLE, Format
from memotherm.model import Memory, Why
from memotherm.text.cutting import sentence_ends, title

__all__ = ["Count", "Offer", "Press", "Shown", "Slot"]

Count = Callable[[str], int]

#: Characters that are looked at for each token that is free: no ordinary text has longer tokens.
_CHARS_PER_TOKEN = 12


class Offer(NamedTuple):
    """A memory that asks for a place."""

    memory: Memory
    section: str
    #: Where it stands in its section; the order of importance is that of the offers themselves.
    place: tuple[int, ...]
    #: Why it is offered, in words.
    reason: str
    score: float | None = None
    #: Works out the parts of the score.
    explain: Callable[[], Why] | None = None


class Shown(NamedTuple):
    """One form of a memory, as lines, and what they cost."""

    form: str
    lines: str
    cost: int


class Press:
    """Writes memories in one format and counts what they cost."""

    def __init__(self, form: Format, count: Count) -> None:
        self.form = form
        self.count = count
        #: What the frame of the whole costs.
        self.wrapper = count(form.whole(form.opening + form.closing))
        self._headings: dict[str, int] = {}

    def heading(self, section: str) -> int:
        """Return what the frame of a section costs."""
        if section not in self._headings:
            self._headings[section] = sum(
                self.cost(line) for line in (self.form.head(section), self.form.tail(section)) if line
            )
        return self._headings[section]

    def cost(self, lines: str) -> int:
        """Return what lines cost."""
        return self.count(self.form.counted(lines))

    def shown(self, offer: Offer, text: str, form: str) -> Shown:
        """Return a memory in one of its forms."""
        lines = self.form.entry(offer.memory, text, form, offer.score)
        return Shown(form, lines, self.cost(lines))


class Slot:
    """An offer in the making: its forms are written when they are first asked for."""

    __slots__ = ("_full", "_press", "_title", "cost", "heading", "offer", "top")

    def __init__(self, offer: Offer, press: Press) -> None:
        self.offer = offer
        self._press = press
        self._full: Shown | None = None
        self._title: Shown | None = None
        #: What the frame of its section costs, if it is the first to enter there.
        self.heading = 0
        #: The form it takes when there is space, and what it costs in it, its section's frame included.
        self.top: Shown | None = None
        self.cost = 0

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.offer.memory.id

    @property
    def full(self) -> Shown:
        """The memory as a whole, in formats that show more than titles."""
        if self._full is None:
            form = TITLE if self._press.form.titles_only else FULL
            self._full = self._press.shown(self.offer, self.offer.memory.content, form)
        return self._full

    @property
    def title(self) -> Shown:
        """Its title alone."""
        if self._press.form.titles_only:
            return self.full
        if self._title is None:
            self._title = self._press.shown(self.offer, title(self.offer.memory.content), TITLE)
        return self._title

    def settle(self, room: int) -> bool:
        """Take the longest form that costs at most so much; tell whether there is one."""
        self.top = self.within(room)
        if self.top is None:
            return False
        self.cost = self.top.cost + self.heading
        return True

    def within(self, room: int) -> Shown | None:
        """Return the longest form that costs at most so much, its section's frame included."""
        room -= self.heading
        if not self._surely_longer(room) and self.full.cost <= room:
            return self.full
        if self.title.cost > room:
            return None
        sentences = self._sentences(room)
        return sentences if sentences is not None and sentences.cost > self.title.cost else self.title

    @property
    def smallest(self) -> int:
        """What it costs in the smallest form that it can take."""
        least = self.title.cost
        if not self._surely_longer(least) and not self._surely_longer(self.full.cost):
            least = min(least, self.full.cost)
        return least + self.heading

    def _surely_longer(self, room: int) -> bool:
        """Tell without counting that the whole content costs more, so that a huge one is never counted."""
        if self._press.form.titles_only:
            return False
        return len(self.offer.memory.content) > _CHARS_PER_TOKEN * (max(room, 0) + 1)

    def _sentences(self, room: int) -> Shown | None:
        """Return as many whole sentences as fit."""
        content = self.offer.memory.content[: _CHARS_PER_TOKEN * (room + 1)]
        ends = sentence_ends(content)
        low, high, best = 0, len(ends), None
        while low < high:
            middle = (low + high + 1) // 2
            shown = self._press.shown(self.offer, content[: ends[middle - 1]], SHORTENED)
            if shown.cost <= room:
                low, best = middle, shown
            else:
                high = middle - 1
        return best
