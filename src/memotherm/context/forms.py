"""The forms that a memory can have in a context, and what each of them costs.

A memory is included in full, as some of its sentences, or as its title. A recalled memory is shortened to the
sentences about the query, another one to its first sentences. Each form is rendered and counted at most once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from memotherm.context.formats import FULL, SHORTENED, TITLE, Format, cost_line, label
from memotherm.context.values import Entry
from memotherm.model import Memory, Why
from memotherm.model.receipts import Reason
from memotherm.model.value import Lazy
from memotherm.recall.values import Ranked
from memotherm.text.content import sentence_ends, title
from memotherm.text.relative_days import with_dates
from memotherm.text.words import is_unspaced, weighed_words

Count = Callable[[str], int]

#: The most characters per token of ordinary text; a longer content is not counted.
_CHARS_PER_TOKEN = 12
#: The most characters of a content in which sentences about the query are looked for.
_FOCUS_CHARS = 20_000
_OMISSION = "… "
_TITLE_CHARS = 56
#: Allowances are counted in parts of a token, so that sums of them are exact.
PARTS = 60
#: For a larger budget, the last memory may be left out for the line of the cost.
_LARGEST_BUDGET = 999_999
#: How many passages are estimated before the search for the longest one that fits bisects.
_MOST_ESTIMATES = 4
#: About the tokens of a shortened form beside the passage.
_MARK_TOKENS = 10
#: More words of a query cost time and change little.
_MOST_TERMS = 64
#: The weight of a word that frames a question, against 1 for other words.
_FRAMING_WORD = 0.25


class Candidate(NamedTuple):
    """A memory that may be included in a context. Candidates are passed in order of importance."""

    memory: Memory
    section: str
    #: The sort key inside its section.
    order: tuple[int, ...]
    #: Why it is a candidate; None for a hit of the search, which `cause` describes.
    reason: Reason | None
    score: float | None = None
    #: What explains the score.
    scored: Ranked | None = None
    #: The number of the memory in its store, a short form of its id.
    number: int | None = None
    #: outdated or conflict, if another version of the same statement was found; of a task, that it is overdue.
    mark: str = ""

    @property
    def why(self) -> Lazy[Why] | None:
        """The parts of the score; None for a memory that was not searched for."""
        scored = self.scored
        return None if scored is None else Lazy(lambda: scored.why)

    @property
    def cause(self) -> Reason:
        """Why it is a candidate."""
        place = self.order[-1] + 1 if self.reason is None else 0
        return self.reason or Reason(code="hit" if place > 1 else "best_hit", details=(place, str(self.memory.tier)))

    def entry(self, *reasons: Reason, form: Form | None = None, tokens: int = 0, fits_at: int | None = None) -> Entry:
        """Return the entry of a receipt; without a form, it is left out."""
        return Entry(
            memory=self.memory, section=self.section, form=form and form.name, tokens=form.cost if form else tokens,
            reasons=reasons, score=self.score, lines=form.lines if form else "", fits_at=fits_at, _why=self.why,
        )  # fmt: skip

    @property
    def handle(self) -> str:
        """The shortest identifier that `get` accepts."""
        return self.memory.id if self.number is None else f"#{self.number}"


class Form(NamedTuple):
    """A memory rendered in one form: full, shortened or title."""

    name: str
    lines: str
    cost: int


class QueryFocus:
    """Finds the sentence with the most words of a query; words match by their beginning."""

    def __init__(self, query: str) -> None:
        terms = list(islice(weighed_words(query, _FRAMING_WORD).items(), _MOST_TERMS))
        self._weights = [weight for _, weight in terms]
        #: Beginnings of words, with the numbers of their terms; single characters of an unspaced script stand anywhere.
        self._beginnings = [
            (beginning, number)
            for number, (term, _) in enumerate(terms)
            for beginning in (term, f"{term[:-1]}y")[: 1 + term.endswith("i")]
        ]

    def best(self, content: str, starts: Sequence[int]) -> int:
        """Return the number of the sentence, the first of equals; `starts` are where the sentences begin."""
        found = {(bisect_right(starts, position) - 1, number) for position, number in self._found(content)}
        scores = [0.0] * len(starts)
        for sentence, number in found:
            scores[sentence] += self._weights[number]
        return scores.index(max(scores))

    def _found(self, content: str) -> Iterable[tuple[int, int]]:
        """Return the positions of the query's words and their numbers."""
        lowered = content.lower()
        if len(lowered) != len(content):  # such as with a capital I with a dot
            lowered = "".join(lower if len(lower := each.lower()) == 1 else each for each in content)
        found: dict[int, int] = {}
        for beginning, number in self._beginnings:
            anywhere = is_unspaced(beginning)
            position = lowered.find(beginning)
            while position >= 0:
                before = lowered[position - 1 : position]
                if anywhere or not (before.isalnum() or before == "_"):
                    found.setdefault(position, number)
                position = lowered.find(beginning, position + 1)
        return found.items()


class Renderer:
    """Renders memories in one format and counts their tokens."""

    def __init__(
        self, text_format: Format, count: Count, focus: QueryFocus | None = None, *, by_line: bool = False
    ) -> None:
        self.format = text_format
        self.count = count
        self.focus = focus
        #: Whether the tokens of the text are the sum of those of its lines.
        self.by_line = by_line and text_format.whole is str
        #: Tokens of the opening and closing lines of the text, without the line of its cost.
        self.bare_frame_cost = count(text_format.whole(text_format.opening + text_format.closing))
        #: The same with that line, which is assumed to be as long as for the largest budget: then the smallest
        #: budget that includes a memory can be computed.
        self.frame_cost = self.bare_frame_cost + self.cost(cost_line(_LARGEST_BUDGET, _LARGEST_BUDGET))

    def section_cost(self, section: str) -> int:
        """Return the tokens of the first and last line of a section."""
        return sum(self.cost(line) for line in (self.format.head(section), self.format.tail(section)) if line)

    def cost(self, lines: str) -> int:
        """Return the tokens of lines as part of the text."""
        return self.count(self.format.counted(lines))


class Item:
    """A candidate with its forms; each form is rendered and counted when it is first needed."""

    __slots__ = (
        "_chosen", "_ends", "_first", "_full", "_label", "_most", "_renderer", "_title", "candidate",
        "section_cost",
    )  # fmt: skip

    def __init__(self, candidate: Candidate, renderer: Renderer) -> None:
        self.candidate = candidate
        self._renderer = renderer
        self._full: Form | None = None
        self._title: Form | None = None
        self._chosen: Form | None = None
        self._label: str | None = None
        #: The most tokens of the chosen form, the frame of its section included; None before `limit`.
        self._most: int | None = None
        #: Where the sentences of the content end, and the number of the sentence to begin with.
        self._ends: tuple[int, ...] = ()
        self._first = 0
        #: Tokens of the frame of its section, for the first item in it; else 0.
        self.section_cost = 0

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.candidate.memory.id

    @property
    def full(self) -> Form:
        """The whole content; in a format that has only titles, the title."""
        if self._full is None:
            form = TITLE if self._renderer.format.titles_only else FULL
            self._full = self._rendered(self.candidate.memory.content, form)
        return self._full

    @property
    def title(self) -> Form:
        """The title."""
        if self._title is None:
            self._title = self.full if self._renderer.format.titles_only else self._rendered_title()
        return self._title

    def _rendered_title(self) -> Form:
        self._find_sentences()
        passage = self.candidate.memory.content[
            self._ends[self._first - 1] if self._first else 0 : self._ends[self._first]
        ]
        return self._rendered(title(passage, _TITLE_CHARS), TITLE)

    def _rendered(self, content: str, form: str) -> Form:
        """Return the form that has this part of the content."""
        candidate, renderer = self.candidate, self._renderer
        if self._label is None:
            self._label = label(candidate.memory, candidate.mark)
        whole = "" if form == FULL else candidate.handle
        memory, content = candidate.memory, with_dates(content, candidate.memory.updated_at.date())
        lines = renderer.format.entry(memory, content, whole, candidate.score, self._label)
        return Form(form, lines, renderer.count(renderer.format.counted(lines)))

    def limit(self, most: int) -> bool:
        """Limit the tokens of its chosen form, the frame of its section included; return whether a form fits."""
        self._most, self._chosen = most, None
        return self.chosen is not None

    @property
    def chosen(self) -> Form | None:
        """The longest form within its limit; None if there is none, and before `limit`."""
        if self._chosen is None and self._most is not None:
            self._chosen = self.longest(self._most)
        return self._chosen

    @property
    def cost(self) -> int:
        """Tokens of its chosen form, the frame of its section included."""
        return (self.chosen or self.title).cost + self.section_cost

    def exceeds(self, tokens: int) -> bool:
        """Return whether its chosen form costs more than `tokens`, the frame of its section not included."""
        return self.cost > tokens + self.section_cost

    def longest(self, available: int) -> Form | None:
        """Return the longest form that costs at most `available` tokens, the frame of its section included."""
        available -= self.section_cost
        if not self._is_long(available) and self.full.cost <= available:
            return self.full
        if self.title.cost > available:
            return None
        shortened = self._shortened(available)
        return shortened if shortened is not None and shortened.cost > self.title.cost else self.title

    @property
    def min_cost(self) -> int:
        """Tokens of its smallest form, the frame of its section included."""
        least = self.title.cost
        if not self._is_long(least) and not self._is_long(self.full.cost):
            least = min(least, self.full.cost)
        return least + self.section_cost

    def _is_long(self, available: int) -> bool:
        """Return whether the content is too long for `available` tokens, without counting it."""
        if self._renderer.format.titles_only:
            return False
        return len(self.candidate.memory.content) > _CHARS_PER_TOKEN * (max(available, 0) + 1)

    def allowance(self, limit: int | None) -> int:
        """Return its cost where it may cost `limit`, but at least that of its smallest form, in parts of a token."""
        if limit is None or not self.exceeds(limit // PARTS):
            return PARTS * self.cost
        return max(limit + PARTS * self.section_cost, PARTS * self.min_cost)

    def _shortened(self, available: int) -> Form | None:
        """Return the longest passage that fits.

        A longer passage never costs less. The search begins where the passage is expected to fit, by the tokens per
        character that were counted when the memory was stored: a context of memories of 20 sentences takes 4.1 ms, and
        6.7 by bisection alone.
        """
        memory, passages = self.candidate.memory, self._passages()
        content = memory.content
        tokens_per_character = max(memory.tokens, 1) / max(len(content), 1)
        length = (available - _MARK_TOKENS) / tokens_per_character
        low, high, best = 0, len(passages), None
        for attempt in range(high):
            if low >= high:
                break
            estimate = bisect_right(passages, length, key=_length)
            place = (low + high + 1) // 2 if attempt >= _MOST_ESTIMATES else min(max(estimate, low + 1), high)
            start, end = passages[place - 1]
            text = f"{_OMISSION if start else ''}{content[start:end].strip()}"
            form = self._rendered(text, SHORTENED)
            length = end - start + (available - form.cost) / tokens_per_character
            if form.cost <= available:
                low, best = place, form
            else:
                high = place - 1
        return best

    def _passages(self) -> list[tuple[int, int]]:
        """Return passages of whole sentences, each one containing the one before it.

        The first is the sentence that tells the most about the query, or the first sentence; then those that
        follow it are added, then those before it. The whole content is not among them.
        """
        self._find_sentences()
        ends, first = self._ends, self._first
        starts = (0, *ends[:-1])
        after = [(starts[first], end) for end in ends[first:]]
        before = [(start, ends[-1]) for start in reversed(starts[:first])]
        passages = [*after, *before]
        return passages if len(passages) == 1 else passages[:-1]

    def _find_sentences(self) -> None:
        """Find where sentences end, in the beginning of a very long content, and the one to begin with."""
        if self._ends:
            return
        content = self.candidate.memory.content[:_FOCUS_CHARS]
        self._ends = (*sentence_ends(content), len(content))
        focus = self._renderer.focus
        if focus is not None and self.candidate.section == "recalled" and len(self._ends) > 1:
            self._first = focus.best(content, (0, *self._ends[:-1]))


def _length(passage: tuple[int, int]) -> int:
    start, end = passage
    return end - start
