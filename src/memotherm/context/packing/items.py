"""The forms that a memory can have in a context, and what each of them costs.

A memory is included in full, as its first sentences, or as its title. A form is rendered and counted
when it is first needed, and a very long content is never counted to its end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from memotherm.context.packing.formats import FULL, SHORTENED, TITLE, Format, cost_line
from memotherm.model import Memory, Why
from memotherm.model.value import Lazy
from memotherm.text.truncation import sentence_ends, title

__all__ = ["Candidate", "Count", "Form", "Item", "Renderer"]

Count = Callable[[str], int]

#: The most characters per token of ordinary text; a longer content is not counted.
_CHARS_PER_TOKEN = 12
#: For a larger one, the last memory may be left out for the line of the cost.
_LARGEST_BUDGET = 999_999


class Candidate(NamedTuple):
    """A memory that may be included in a context. Candidates are passed in order of importance."""

    memory: Memory
    section: str
    #: The sort key inside its section.
    order: tuple[int, ...]
    #: Why it is a candidate, in words.
    reason: str
    score: float | None = None
    #: The parts of the score.
    why: Lazy[Why] | None = None
    #: When it was last verified, in words; empty for what is not old.
    verified: str = ""


class Form(NamedTuple):
    """A memory rendered in one form: full, shortened or title."""

    name: str
    lines: str
    cost: int


class Renderer:
    """Renders memories in one format and counts their tokens."""

    def __init__(self, text_format: Format, count: Count) -> None:
        self.format = text_format
        self.count = count
        #: Tokens of the opening and closing lines of the text, without the line of its cost.
        self.bare_frame_cost = count(text_format.whole(text_format.opening + text_format.closing))
        #: The same with that line. It is longest for the largest budget, and the same for all of them, so that the
        #: smallest budget that includes a memory can be computed.
        self.frame_cost = self.bare_frame_cost + self.cost(cost_line(_LARGEST_BUDGET, _LARGEST_BUDGET))
        self._section_costs: dict[str, int] = {}

    def section_cost(self, section: str) -> int:
        """Return the tokens of the first and last line of a section."""
        if section not in self._section_costs:
            self._section_costs[section] = sum(
                self.cost(line) for line in (self.format.head(section), self.format.tail(section)) if line
            )
        return self._section_costs[section]

    def cost(self, lines: str) -> int:
        """Return the tokens of lines as part of the text."""
        return self.count(self.format.counted(lines))

    def render(self, candidate: Candidate, content: str, form: str) -> Form:
        """Return the form of a candidate that has this part of its content."""
        lines = self.format.entry(candidate.memory, content, form, candidate.score, candidate.verified)
        return Form(form, lines, self.cost(lines))


class Item:
    """A candidate with its forms; each form is rendered when it is first needed."""

    __slots__ = ("_full", "_renderer", "_title", "candidate", "chosen", "cost", "section_cost")

    def __init__(self, candidate: Candidate, renderer: Renderer) -> None:
        self.candidate = candidate
        self._renderer = renderer
        self._full: Form | None = None
        self._title: Form | None = None
        #: Tokens of the frame of its section, for the first item in it; else 0.
        self.section_cost = 0
        #: The longest form that the limits allow, and its cost with `section_cost`.
        self.chosen: Form | None = None
        self.cost = 0

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.candidate.memory.id

    @property
    def full(self) -> Form:
        """The whole content; in a format that has only titles, the title."""
        if self._full is None:
            form = TITLE if self._renderer.format.titles_only else FULL
            self._full = self._renderer.render(self.candidate, self.candidate.memory.content, form)
        return self._full

    @property
    def title(self) -> Form:
        """The title."""
        if self._renderer.format.titles_only:
            return self.full
        if self._title is None:
            self._title = self._renderer.render(self.candidate, title(self.candidate.memory.content), TITLE)
        return self._title

    def choose(self, available: int) -> bool:
        """Choose the longest form that costs at most `available` tokens; return whether there is one."""
        self.chosen = self.longest(available)
        if self.chosen is None:
            return False
        self.cost = self.chosen.cost + self.section_cost
        return True

    def longest(self, available: int) -> Form | None:
        """Return the longest form that costs at most `available` tokens, the frame of its section included."""
        available -= self.section_cost
        if not self._exceeds(available) and self.full.cost <= available:
            return self.full
        if self.title.cost > available:
            return None
        shortened = self._shortened(available)
        return shortened if shortened is not None and shortened.cost > self.title.cost else self.title

    @property
    def min_cost(self) -> int:
        """Tokens of its smallest form, the frame of its section included."""
        least = self.title.cost
        if not self._exceeds(least) and not self._exceeds(self.full.cost):
            least = min(least, self.full.cost)
        return least + self.section_cost

    def _exceeds(self, available: int) -> bool:
        """Return whether the content is so long that it costs more, without counting it."""
        if self._renderer.format.titles_only:
            return False
        return len(self.candidate.memory.content) > _CHARS_PER_TOKEN * (max(available, 0) + 1)

    def _shortened(self, available: int) -> Form | None:
        """Return as many whole sentences as fit."""
        content = self.candidate.memory.content[: _CHARS_PER_TOKEN * (available + 1)]
        ends = sentence_ends(content)
        low, high, best = 0, len(ends), None
        while low < high:
            middle = (low + high + 1) // 2
            form = self._renderer.render(self.candidate, content[: ends[middle - 1]], SHORTENED)
            if form.cost <= available:
                low, best = middle, form
            else:
                high = middle - 1
        return best
