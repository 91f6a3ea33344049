"""Packing memories into a text of at most `budget` tokens.

Candidates, in order of importance, go in; the text, what it contains and what a larger budget would add come out.
No function has side effects. The rules:

1. Pinned memories come first. If they exceed the budget, the oldest are shortened first, then left
   out, and nothing else is included.
2. Hot and recalled memories share what is left. `reserve` tokens of it, but at most half, are reserved
   for recalled memories. Tokens that one group does not need go to the other.
3. Each group is filled in its order, each memory in full. The first memory that does not fit in full is
   shortened, or left out, and ends its group.
4. Recalled memories share their space: the first may take a third of it, the second a sixth, each other a
   fifteenth. One that is longer is shortened to the sentences about the query, unless space is left. The
   shares grow with the space. So a larger budget never removes a memory, and the smallest budget at which
   a memory is included can be computed.
5. Memories of low priority are included when everything else is.

Costs are summed line by line. Where the vocabulary does not guarantee that the sum is exact, the tokens
of the final text are counted, and the least important memory is removed until the text fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from memotherm.context.formats import FULL, SECTIONS, SHORTENED, TITLE, Format, cost_line
from memotherm.context.forms import Candidate, Count, Form, Item, QueryFocus, Renderer
from memotherm.context.groups import Exclusion, Group, limited, min_rest_for_hot, min_rest_for_recalled, split
from memotherm.context.values import Entry
from memotherm.errors import BudgetTooSmall
from memotherm.model import Priority
from memotherm.model.receipts import Reason
from memotherm.model.value import Lazy

#: How often a text is counted until the number in its last line is right.
_MOST_COUNTS = 4
_PLACES = {section: place for place, section in enumerate(SECTIONS)}
_LOW = Priority.LOW
_LOW_PRIORITY = Reason(code="low")
_HOW_SHORTENED = {FULL: (), SHORTENED: (Reason(code="shortened"),), TITLE: (Reason(code="title"),)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """The most tokens that a context, and its parts, may cost."""

    budget: int
    #: The hot section: its tokens, frame included, and its memories.
    hot_tokens: int
    hot_memories: int
    #: Reserved for recalled memories, if they need it.
    reserve: int
    #: The most tokens of the recalled section; None for no limit of its own.
    recalled_tokens: int | None = None
    #: The most tokens of one memory, except pinned ones.
    entry_tokens: int = 500
    #: When the pinned memories exceed the budget: `cut` the oldest, or raise an `error`.
    on_pinned_overflow: str = "cut"


@dataclass(frozen=True, kw_only=True, slots=True)
class Packed:
    """The text that fits the budget, and every candidate: included or left out."""

    text: str
    tokens: int
    #: What is in the text, in its order.
    chosen: Sequence[tuple[Candidate, Form]]
    #: What is not in the text, most important first; computed when it is first read.
    left_out: Lazy[tuple[Entry, ...]]
    #: The reason for each memory that is not in the text, by its id; without the budget that it needs, which costs
    #: more than the text to compute.
    obstacles: Lazy[dict[str, Reason]]
    #: Tokens of each part of the text.
    shares: dict[str, int]
    #: Whether pinned memories were shortened or left out because they did not fit.
    pinned_cut: bool
    notes: tuple[str, ...]

    @property
    def included(self) -> tuple[Entry, ...]:
        """What is in the text, in its order."""
        return tuple(candidate.entry(*reasons_for(candidate, form), form=form) for candidate, form in self.chosen)


def pack(
    listed: Sequence[Candidate],
    recalled: Iterable[Candidate],
    text_format: Format,
    count: Count,
    limits: Limits,
    focus: QueryFocus | None = None,
    *,
    by_line: bool = False,
) -> Packed:
    """Render candidates as a text that costs at most the budget.

    In both lists, the most important ones come first. `focus` finds the sentence about the query. With `by_line`, the
    tokens of a text are known to be the sum of those of its lines.
    """
    renderer = Renderer(text_format, count, focus, by_line=by_line)
    packer = _Packer(renderer, limits, [*listed, *recalled])
    included, notes = packer.fill()
    # Where the sums of lines are not known to be exact, the whole text decides.
    too_large_at: dict[str, int] = {}
    while True:
        ordered = sorted(included, key=_position)
        text, tokens, most_tokens = text_of(ordered, renderer, limits.budget)
        if most_tokens <= limits.budget:
            break
        too_large_at[included.pop()[0].id] = most_tokens

    def left_out() -> tuple[Entry, ...]:
        ids = frozenset(item.id for item, _ in included)
        return tuple(
            item.candidate.entry(
                item.candidate.cause, reason, tokens=(item.chosen or item.title).cost,
                fits_at=too_large_at.get(item.id, fits_at),
            )
            for item, fits_at, reason in packer.exclusions(ids)
            if item.id not in ids
        )  # fmt: skip

    return Packed(
        text=text,
        tokens=tokens,
        chosen=[(item.candidate, form) for item, form in ordered],
        left_out=Lazy(left_out),
        obstacles=Lazy(lambda: packer.obstacles(empty=not included)),
        shares=_shares(ordered, renderer, tokens, limits.budget),
        pinned_cut=packer.pinned_total > limits.budget - renderer.frame_cost and bool(packer.pinned),
        notes=tuple(notes) if included else (*notes, *_empty_note(renderer, limits)),
    )


class _Packer:
    """The candidates of one context in their groups."""

    def __init__(self, renderer: Renderer, limits: Limits, candidates: Sequence[Candidate]) -> None:
        self.renderer = renderer
        self.limits = limits
        self._section_costs = {section: renderer.section_cost(section) for section in SECTIONS}
        usual: dict[str, list[Item]] = {section: [] for section in SECTIONS}
        #: Items of low priority enter when everything else is in.
        self._low_items: dict[str, list[Item]] = {section: [] for section in SECTIONS}
        for candidate in candidates:
            is_low = candidate.memory.priority is _LOW and candidate.section != "pinned"
            (self._low_items if is_low else usual)[candidate.section].append(Item(candidate, renderer))
        self._ids = {section: [item.id for item in items] for section, items in usual.items()}
        self.pinned = usual["pinned"]
        self.pinned_frame = self._section_costs["pinned"] if self.pinned else 0
        #: Tokens of the pinned section with all memories in full.
        self.pinned_total = self.pinned_frame + sum(item.full.cost for item in self.pinned)
        #: Tokens of the frame and of the pinned section.
        self.base = renderer.frame_cost + self.pinned_total
        self.hot = self._hot_group(usual["hot"])
        self.recalled = self._recalled_group(usual["recalled"])
        self._low: Group | None = None

    @property
    def low(self) -> Group:
        """The group of low priority; its limits are what the other groups leave of theirs."""
        if self._low is None:
            hot = self._hot_group(self._low_items["hot"], list(self.hot))
            recalled = self._recalled_group(self._low_items["recalled"], list(self.recalled))
            items = [*hot, *recalled]
            self._low = Group(items, [*hot.excluded(), *recalled.excluded()])
        return self._low

    def _hot_group(self, items: Sequence[Item], before: Sequence[Item] = ()) -> Group:
        """Return a group of hot items; those in `before` count towards the limits of the section."""
        most = max(0, self.limits.hot_memories - len(before))
        excluded: list[Exclusion] = []
        allowed = limited(
            items[:most],
            excluded,
            section_cost=0 if before or not items else self._section_costs["hot"],
            entry_tokens=self.limits.entry_tokens,
            available=self.limits.hot_tokens - self.renderer.frame_cost - sum(item.cost for item in before),
            full=Reason(code="hot_max_tokens", details=(self.limits.hot_tokens,)),
            beyond=items[most:],
            too_many=self._too_many,
        )
        return Group(allowed, excluded)

    def _recalled_group(self, items: Sequence[Item], before: Sequence[Item] | None = None) -> Group:
        """Return a group of recalled items, which share its space.

        Those of low priority share nothing: the others, `before` them, count towards the limit of the section.
        """
        most, excluded, shared = self.limits.recalled_tokens, list[Exclusion](), before is None
        allowed = limited(
            items,
            excluded,
            section_cost=0 if before else self._section_costs["recalled"],
            entry_tokens=self.limits.entry_tokens,
            available=None if before is None or most is None else most - sum(item.cost for item in before),
            full=self._recalled_full,
        )
        return Group(allowed, excluded, shared=shared, most=most if shared else None, full=self._recalled_full)

    @property
    def _too_many(self) -> Reason:
        return Reason(code="hot_max_facts", details=(self.limits.hot_memories,))

    @property
    def _recalled_full(self) -> Reason:
        return Reason(code="recall_max_tokens", details=(self.limits.recalled_tokens or 0,))

    def fill(self) -> tuple[list[tuple[Item, Form]], list[str]]:
        """Return the included items and their forms, most important first, and notes for the receipt."""
        available = self.limits.budget - self.renderer.frame_cost
        if self.pinned_total > available:
            return self._fill_pinned(available)
        pinned = [(item, item.full) for item in self.pinned]
        rest = available - self.pinned_total
        hot_total, recalled_total = self.hot.total_up_to(rest), self.recalled.total_up_to(rest)
        for_hot, for_recalled = split(rest, hot_total, recalled_total, self.limits.reserve)
        hot, recalled = self.hot.fill(for_hot), self.recalled.fill(for_recalled)
        for_low = rest - hot_total - recalled_total
        low = self.low.fill(for_low) if for_low >= 0 else []
        return [*pinned, *hot, *recalled, *low], []

    def _fill_pinned(self, available: int) -> tuple[list[tuple[Item, Form]], list[str]]:
        """Return the pinned items in forms that fit, the oldest shortened or left out first."""
        if self.limits.budget == 0 or not self.pinned:
            return [], []
        if self.limits.on_pinned_overflow == "error":
            raise BudgetTooSmall(
                f"the pinned memories need {self.base} tokens and the budget is {self.limits.budget}: "
                "unpin some, raise the budget, or set on_pinned_overflow = 'cut'"
            )
        available -= self.pinned_frame
        items = list(self.pinned)
        while items and sum(item.min_cost for item in items) > available:
            items.pop(0)
        if not items:
            return [], [f"the pinned memories need {self.base} tokens: all of them were left out"]
        included: list[tuple[Item, Form]] = []
        newer = sum(item.full.cost for item in items)
        for item in items:
            newer -= item.full.cost
            # What the newer ones leave in full, but at least the smallest form.
            form = item.longest(max(item.min_cost, available - newer)) or item.title
            available -= form.cost
            included.append((item, form))
        cut = "shortened" if len(items) == len(self.pinned) else "left out"
        return included, [f"the pinned memories need {self.base} tokens: the oldest were {cut}"]

    def _no_room(self, reason: Reason, *, empty: bool) -> Reason:
        """Return why the budget leaves an item out; if it leaves out everything, nothing else is the reason."""
        if not empty:
            return reason
        if self.limits.budget == 0:
            return Reason(code="off")
        if self.pinned and self.limits.budget > self.renderer.frame_cost:
            return Reason(code="on_pinned_overflow", details=(self.base, self.limits.budget))
        code = "frame" if self.limits.budget <= self.renderer.frame_cost else "beside"
        return Reason(code=code, details=(self.renderer.frame_cost, self.limits.budget))

    def _spent(self, *, empty: bool) -> Reason:
        return self._no_room(Reason(code="budget", details=(self.limits.budget,)), empty=empty)

    def _pinned_overflow(self, *, empty: bool) -> Reason:
        return self._no_room(Reason(code="on_pinned_overflow", details=(self.base, self.limits.budget)), empty=empty)

    def obstacles(self, *, empty: bool) -> dict[str, Reason]:
        """Return the reason for each item if it is not included, by its id; with `empty`, nothing is included.

        Hot items are counted as far as the limit of their section allows, others not.
        """
        self.hot.excluded()
        found = dict.fromkeys([item.id for item in self.pinned], self._pinned_overflow(empty=empty))
        low = self._no_room(_LOW_PRIORITY, empty=empty)
        for section, group in (("hot", self.hot), ("recalled", self.recalled)):
            own, others = group.limits()
            found |= dict.fromkeys(self._ids[section], others or self._spent(empty=empty)) | own
            found |= {item.id: low for item in self._low_items[section]}
        if self._low is not None:
            found |= self._low.limits()[0]
        else:
            low_in_hot = self._hot_group(self._low_items["hot"], list(self.hot))
            found |= {each.item.id: each.reason for each in low_in_hot.excluded()}
        return found | dict.fromkeys(self._ids["hot"][self.limits.hot_memories :], self._too_many)

    def exclusions(self, included: frozenset[str]) -> Iterator[Exclusion]:
        """Yield what is not included, with the smallest budget that includes it and the rule that excluded it."""
        yield from self._pinned_exclusions(included)
        empty = not included
        spent = self._spent(empty=empty)
        hot, recalled, reserve = self.hot.total, self.recalled.total, self.limits.reserve
        for item, needed in self.hot.needed(included):
            yield Exclusion(item, self.base + min_rest_for_hot(needed, recalled, reserve), spent)
        for item, needed in self.recalled.needed(included):
            yield Exclusion(item, self.base + min_rest_for_recalled(needed, hot, reserve), spent)
        for item, needed in self.low.needed(included):
            fits_at = self.base + hot + recalled + needed
            yield Exclusion(item, fits_at, self._no_room(_LOW_PRIORITY, empty=empty))
        for group in (self.hot, self.recalled, self.low):
            yield from group.excluded()

    def _pinned_exclusions(self, included: frozenset[str]) -> Iterator[Exclusion]:
        """A pinned memory is included when it fits beside all newer ones in their smallest forms."""
        if all(item.id in included for item in self.pinned):
            return
        needed, why = self.renderer.frame_cost + self.pinned_frame, self._pinned_overflow(empty=not included)
        for item in reversed(self.pinned):
            needed += item.min_cost
            if item.id not in included:
                yield Exclusion(item, needed, why)


def _position(included: tuple[Item, Form]) -> tuple[int, bool, tuple[int, ...]]:
    """Return where a memory stands in the text: low priority last in its section, recalled memories as in a search."""
    candidate = included[0].candidate
    return _PLACES[candidate.section], candidate.memory.priority is _LOW, candidate.order


def text_of(ordered: Sequence[tuple[Item, Form]], renderer: Renderer, budget: int) -> tuple[str, int, int]:
    """Return the text, its tokens, and its tokens with or without its wrapping, whichever are more."""
    if not ordered:
        return "", 0, 0
    sections: dict[str, list[str]] = {}
    for item, form in ordered:
        sections.setdefault(item.candidate.section, []).append(form.lines)
    frames = sum(renderer.section_cost(section) for section in sections)
    inner = renderer.bare_frame_cost + frames + sum([form.cost for _, form in ordered])
    stated = inner + renderer.cost(cost_line(inner, budget))
    for _ in range(_MOST_COUNTS):
        last = cost_line(stated, budget)
        lines = renderer.format.lines(sections, last)
        text = renderer.format.whole(lines)
        tokens = inner + renderer.cost(last) if renderer.by_line else renderer.count(text)
        if tokens == stated:
            break
        # The longer number has more tokens, or the vocabulary has a token across lines.
        stated = tokens
    return text, tokens, tokens if text is lines else max(tokens, renderer.count(lines))


def _shares(ordered: Sequence[tuple[Item, Form]], renderer: Renderer, tokens: int, budget: int) -> dict[str, int]:
    if not ordered:
        return {"frame": 0}
    shares = {"frame": renderer.bare_frame_cost + renderer.cost(cost_line(tokens, budget))}
    for section, entries in groupby(ordered, key=lambda included: included[0].candidate.section):
        shares[section] = renderer.section_cost(section) + sum(form.cost for _, form in entries)
    return shares


def _empty_note(renderer: Renderer, limits: Limits) -> list[str]:
    """Return why a text is empty, where the budget is the reason."""
    if limits.budget == 0:
        return ["a budget of 0 turns the context off"]
    if limits.budget <= renderer.frame_cost:
        return [f"the frame alone costs {renderer.frame_cost} tokens, so that nothing fits into {limits.budget}"]
    return []


def reasons_for(candidate: Candidate, form: Form) -> tuple[Reason, ...]:
    """Return why a memory is included, and how."""
    return (candidate.cause, *_HOW_SHORTENED[form.name])
