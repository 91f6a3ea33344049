"""The forms that a memory can have in a context, and what each of them costs.

A memory is included in full, as some of its sentences, or as its title: the first sentences of a memory that
was not searched for, those about the query of one that was. A form is rendered and counted when it is first
needed, and a very long content is never counted to its end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from memotherm.context.focus import WordFocus
from memotherm.context.packing.formats import FULL, SHORTENED, TITLE, Format, cost_line
from memotherm.model import Memory, Why
from memotherm.model.memory import StoredFields
from memotherm.model.value import Lazy
from memotherm.text.content import sentence_ends, title

__all__ = ["PARTS", "Candidate", "Count", "Form", "Item", "Renderer"]

Count = Callable[[str], int]

#: The most characters per token of ordinary text; a longer content is not counted.
_CHARS_PER_TOKEN = 12
#: The most characters of a content in which sentences about the query are looked for.
_FOCUS_CHARS = 20_000
_OMISSION = "… "
_TITLE_CHARS = 56
#: Allowances are counted in parts of a token, so that sums of them are exact.
PARTS = 60
#: For a larger one, the last memory may be left out for the line of the cost.
_LARGEST_BUDGET = 999_999


class Scored(Protocol):
    """What has a score for the query, and explains it."""

    @property
    def why(self) -> Why:
        """The parts of the score."""


class Candidate(NamedTuple):
    """A memory that may be included in a context. Candidates are passed in order of importance."""

    memory: Memory | StoredFields
    section: str
    #: The sort key inside its section.
    order: tuple[int, ...]
    #: Why it is a candidate, in words.
    reason: str
    score: float | None = None
    #: What explains the score.
    scored: Scored | None = None
    #: The number of the memory in its store, a short form of its id.
    number: int | None = None
    #: When it was last verified, in words; empty for what is not old.
    verified: str = ""

    @property
    def why(self) -> Lazy[Why] | None:
        """The parts of the score; None for a memory that was not searched for."""
        scored = self.scored
        return None if scored is None else Lazy(lambda: scored.why)

    @property
    def handle(self) -> str:
        """What `get` accepts for the whole memory, as short as it can be."""
        return self.memory.id if self.number is None else f"#{self.number}"


class Form(NamedTuple):
    """A memory rendered in one form: full, shortened or title."""

    name: str
    lines: str
    cost: int


class Renderer:
    """Renders memories in one format and counts their tokens."""

    def __init__(
        self, text_format: Format, count: Count, focus: WordFocus | None = None, *, by_line: bool = False
    ) -> None:
        self.format = text_format
        self.count = count
        self.focus = focus
        #: Whether the tokens of the text are the sum of those of its lines.
        self.by_line = by_line and text_format.whole is str
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
        whole = "" if form == FULL else candidate.handle
        lines = self.format.entry(candidate.memory, content, whole, candidate.score, candidate.verified)
        return Form(form, lines, self.cost(lines))


class Item:
    """A candidate with its forms; each form is rendered when it is first needed."""

    __slots__ = (
        "_first", "_full", "_least", "_renderer", "_title", "candidate", "chosen", "cost", "section_cost",
    )  # fmt: skip
    #: The longest form that the limits allow, and its cost with `section_cost`; there is none before it is chosen.
    chosen: Form | None
    cost: int

    def __init__(self, candidate: Candidate, renderer: Renderer) -> None:
        self.candidate = candidate
        self._renderer = renderer
        self._full: Form | None = None
        self._title: Form | None = None
        self._least: int | None = None
        #: The number of the sentence to begin with.
        self._first: int | None = None
        #: Tokens of the frame of its section, for the first item in it; else 0.
        self.section_cost = 0
        self.chosen = None

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
            content, ends = self._sentences()
            first = self._first_sentence(content, ends)
            passage = content[ends[first - 1] if first else 0 : ends[first]]
            self._title = self._renderer.render(self.candidate, title(passage, _TITLE_CHARS), TITLE)
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
        if not self._exceeds(available):
            full = self.full
            if full.cost <= available:
                return full
        least = self.title
        if least.cost > available:
            return None
        shortened = self._shortened(available)
        return shortened if shortened is not None and shortened.cost > least.cost else least

    @property
    def min_cost(self) -> int:
        """Tokens of its smallest form, the frame of its section included."""
        if self._least is None:
            least = self.title.cost
            if not self._exceeds(least) and not self._exceeds(self.full.cost):
                least = min(least, self.full.cost)
            self._least = least
        return self._least + self.section_cost

    def _exceeds(self, available: int) -> bool:
        """Return whether the content is so long that it costs more, without counting it."""
        if self._renderer.format.titles_only:
            return False
        return len(self.candidate.memory.content) > _CHARS_PER_TOKEN * (max(available, 0) + 1)

    def exceeds(self, limit: int | None) -> bool:
        """Return whether its chosen form costs more than `limit`, in parts of a token."""
        return limit is not None and PARTS * (self.cost - self.section_cost) > limit

    def allowance(self, limit: int | None) -> int:
        """Return its cost where it may cost `limit`, but at least that of its smallest form, in parts of a token."""
        if limit is None or PARTS * (self.cost - self.section_cost) <= limit:
            return PARTS * self.cost
        allowance, least = limit + PARTS * self.section_cost, PARTS * self.min_cost
        if allowance < least:  # faster than `max`
            allowance = least
        return allowance

    def _shortened(self, available: int) -> Form | None:
        """Return the longest passage that fits."""
        content, passages = self.candidate.memory.content, self._passages()
        low, high, best = 0, len(passages), None
        while low < high:
            middle = (low + high + 1) // 2
            start, end = passages[middle - 1]
            text = f"{_OMISSION if start else ''}{content[start:end].strip()}"
            form = self._renderer.render(self.candidate, text, SHORTENED)
            if form.cost <= available:
                low, best = middle, form
            else:
                high = middle - 1
        return best

    def _passages(self) -> list[tuple[int, int]]:
        """Return passages of whole sentences, each one containing the one before it.

        The first is the sentence that tells the most about the query, or the first sentence; then those that
        follow it are added, then those before it. The whole content is not among them.
        """
        content, ends = self._sentences()
        first, starts = self._first_sentence(content, ends), (0, *ends[:-1])
        after = [(starts[first], end) for end in ends[first:]]
        before = [(start, ends[-1]) for start in reversed(starts[:first])]
        passages = [*after, *before]
        return passages if len(passages) == 1 else passages[:-1]

    def _sentences(self) -> tuple[str, tuple[int, ...]]:
        """Return the content as far as sentences are looked for, and where they end."""
        content = self.candidate.memory.content[:_FOCUS_CHARS]
        return content, (*sentence_ends(content), len(content))

    def _first_sentence(self, content: str, ends: tuple[int, ...]) -> int:
        """Return the number of the sentence to begin with."""
        if self._first is None:
            focus = self._renderer.focus if self.candidate.section == "recalled" and len(ends) > 1 else None
            self._first = 0 if focus is None else focus.best(content, (0, *ends[:-1]))
        return self._first
