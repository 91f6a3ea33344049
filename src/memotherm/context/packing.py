"""Packing memories under a hard budget of tokens.

Pure functions: what is offered, in order of importance, goes in; what is in the text, and what a
larger budget would add, comes out. The rules are few enough to predict:

1. Pinned memories take the budget first. If they exceed it, the oldest are shortened first, then
   left out, and nothing else enters.
2. The hot memories and the recalled ones share what is left. A part of it, `reserve` tokens but at
   most half, is kept for what was recalled. What one group does not need because all of it is in
   goes to the other.
3. In each group memories enter in their order, each as long as it is. The first that does not fit
   whole is shortened, or left out, and ends its group. So a larger budget never takes a memory away,
   and the smallest budget at which a memory enters is a sum.
4. Low priority enters when everything else has.

Costs are added up line by line, and the guarantee does not rest on that: the tokens of the final text
are counted, and as long as they exceed the budget the least important memory leaves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from memotherm.context.items import Count, Offer, Press, Shown, Slot
from memotherm.context.rendering import FULL, SECTIONS, SHORTENED, TITLE, Format
from memotherm.context.values import Entry, Later
from memotherm.errors import BudgetTooSmall
from memotherm.model import Priority

__all__ = ["Limits", "Packed", "pack"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What a context may cost, and its parts."""

    budget: int
    #: The hot block: tokens, its frame included, and memories.
    hot_tokens: int
    hot_memories: int
    #: Kept for what was recalled, if that needs it.
    reserve: int
    #: The most that recalled memories may cost; None = what is left.
    recalled_tokens: int | None = None
    #: The most that one memory may cost, pinned ones excepted.
    entry_tokens: int = 500
    #: When the pinned memories alone exceed the budget: cut the oldest, or error.
    on_pinned_overflow: str = "cut"


@dataclass(frozen=True, kw_only=True, slots=True)
class Packed:
    """The text that fits, and what became of every offer."""

    text: str
    tokens: int
    included: tuple[Entry, ...]
    #: Works out what became of the others.
    rest: Later[tuple[Entry, ...]]
    shares: dict[str, int]
    #: Whether pinned memories were shortened or left out for want of space.
    pinned_cut: bool = False
    notes: tuple[str, ...] = ()

    @property
    def left_out(self) -> tuple[Entry, ...]:
        """What is not in the text, most important first."""
        return self.rest.value


def pack(listed: Sequence[Offer], recalled: Iterable[Offer], form: Format, count: Count, limits: Limits) -> Packed:
    """Put the offers into a text that costs at most the budget.

    Args:
        listed: The pinned and the hot memories, each kind most important first.
        recalled: What was recalled, most important first; taken only as far as somebody comes to it.
        form: How they are written.
        count: Counts tokens.
        limits: What the text may cost, and its parts.
    """
    press = Press(form, count)
    table = _Table(press, limits, listed, recalled)
    placed, notes = table.placed()
    return _finished(placed, table, press, limits, notes)


class _Group:
    """Slots that enter in their order, without what can never enter; each is settled when somebody comes to it."""

    def __init__(self) -> None:
        self._settled: list[Slot] = []
        #: Settles one slot after the other, and tells which of them can never enter.
        self.coming: Iterator[Slot] = iter(())
        #: What no budget lets in, and the rule that says so; complete when all slots are settled.
        self.never: list[tuple[Slot, str, str]] = []

    def __iter__(self) -> Iterator[Slot]:
        yield from self._settled
        for slot in self.coming:
            self._settled.append(slot)
            yield slot

    @property
    def slots(self) -> list[Slot]:
        """All slots, settled."""
        return list(self)

    @property
    def total(self) -> int:
        """What all slots cost in the forms they take when there is space."""
        return sum(slot.cost for slot in self)

    def total_within(self, room: int) -> int:
        """Return the same as `total` if it is at most so much, and else any number that is more."""
        total = 0
        for slot in self:
            total += slot.cost
            if total > room:
                break
        return total

    def needs(self, inside: frozenset[str]) -> Iterator[tuple[Slot, int]]:
        """Yield each slot that is not inside, and the space at which it enters in its smallest form."""
        before = 0
        for slot in self:
            if slot.id not in inside:
                yield slot, before + slot.smallest
            before += slot.cost

    def filled(self, room: int) -> list[tuple[Slot, Shown]]:
        """Return what enters into so much space, and in which form."""
        placed: list[tuple[Slot, Shown]] = []
        for slot in self:
            shown = slot.top if slot.cost <= room else slot.within(room)
            if shown is None:
                break
            placed.append((slot, shown))
            room -= shown.cost + slot.heading
            if shown is not slot.top:
                break
        return placed


class _Table:
    """All offers in their groups."""

    def __init__(self, press: Press, limits: Limits, listed: Sequence[Offer], recalled: Iterable[Offer]) -> None:
        self.press = press
        self.limits = limits
        self.pinned = [Slot(offer, press) for offer in listed if offer.section == "pinned"]
        #: Low priority, put aside while the others are gone through.
        self._low_hot: list[Slot] = []
        self._low_recalled: list[Slot] = []
        hot = self._insisting((offer for offer in listed if offer.section == "hot"), self._low_hot)
        self.hot = self._hot(list(hot), _Group())
        self.recalled = self._recalled(self._insisting(recalled, self._low_recalled), _Group())

    def _insisting(self, offers: Iterable[Offer], low: list[Slot]) -> Iterator[Slot]:
        """Yield a slot for each offer, and put those of low priority aside."""
        for offer in offers:
            slot = Slot(offer, self.press)
            if offer.memory.priority is Priority.LOW:
                low.append(slot)
            else:
                yield slot

    @cached_property
    def low(self) -> _Group:
        """What enters when everything else has, which tells that all of that was gone through."""
        group = _Group()
        for part in (self._hot(self._low_hot, self.hot), self._recalled(self._low_recalled, self.recalled)):
            group.coming = iter([*group.coming, *part])
            group.never += part.never
        return group

    @cached_property
    def pinned_heading(self) -> int:
        return self.press.heading("pinned") if self.pinned else 0

    @cached_property
    def pinned_total(self) -> int:
        return self.pinned_heading + sum(slot.full.cost for slot in self.pinned)

    @property
    def base(self) -> int:
        """What the frame and all pinned memories cost."""
        return self.press.wrapper + self.pinned_total

    def _hot(self, slots: Sequence[Slot], before: _Group) -> _Group:
        most = max(0, self.limits.hot_memories - len(before.slots))
        room = self.limits.hot_tokens - self.press.wrapper - before.total
        too_long = ("hot_max_tokens", f"the hot block is full at {self.limits.hot_tokens} tokens")
        too_many = ("hot_max_facts", f"the hot block is full at {self.limits.hot_memories} memories")
        group = _Group()
        beyond = [(slot, *too_many) for slot in slots[most:]]
        group.coming = self._capped(group, slots[:most], before, room, too_long, beyond)
        return group

    def _recalled(self, slots: Iterable[Slot], before: _Group) -> _Group:
        most = self.limits.recalled_tokens
        room = None if most is None else most - before.total
        too_long = ("recall_max_tokens", f"recalled memories are full at {most} tokens")
        group = _Group()
        group.coming = self._capped(group, slots, before, room, too_long)
        return group

    def _capped(
        self,
        group: _Group,
        slots: Iterable[Slot],
        before: _Group,
        room: int | None,
        too_long: tuple[str, str],
        beyond: Sequence[tuple[Slot, str, str]] = (),
    ) -> Iterator[Slot]:
        """Yield the slots that a group's own limit lets in, each in its longest form; the group notes the others."""
        spent, first = 0, not before.slots
        coming = iter(slots)
        for slot in coming:
            slot.heading = self.press.heading(slot.offer.section) if first else 0
            if not slot.settle(self.limits.entry_tokens + slot.heading):
                group.never.append((slot, *_TOO_SMALL))
                continue
            if room is not None and spent + slot.cost > room:
                if slot.settle(room - spent):
                    yield slot
                else:
                    group.never.append((slot, *too_long))
                group.never += [(each, *too_long) for each in coming]
                break
            spent, first = spent + slot.cost, False
            yield slot
        group.never += beyond

    def placed(self) -> tuple[list[tuple[Slot, Shown]], list[str]]:
        """Return what enters, most important first, and what the receipt should say of it."""
        room = self.limits.budget - self.press.wrapper
        if self.pinned_total > room:
            return self._only_pinned(room)
        pinned = [(slot, slot.full) for slot in self.pinned]
        rest = room - self.pinned_total
        # Whatever exceeds the rest by itself need not be counted to its end.
        hot_total, recalled_total = self.hot.total_within(rest), self.recalled.total_within(rest)
        hot_room, recalled_room = _shared(rest, hot_total, recalled_total, self.limits.reserve)
        hot, recalled = self.hot.filled(hot_room), self.recalled.filled(recalled_room)
        space = rest - hot_total - recalled_total
        low = self.low.filled(space) if space >= 0 else []
        return [*pinned, *hot, *recalled, *low], []

    def _only_pinned(self, room: int) -> tuple[list[tuple[Slot, Shown]], list[str]]:
        """Return the pinned memories in the forms that fit, the oldest shortened first."""
        if self.limits.budget == 0 or not self.pinned:
            return [], []
        if self.limits.on_pinned_overflow == "error":
            raise BudgetTooSmall(
                f"the pinned memories need {self.base} tokens and the budget is {self.limits.budget}: "
                "unpin some, raise the budget, or set on_pinned_overflow = 'cut'"
            )
        room -= self.pinned_heading
        kept = list(self.pinned)
        while kept and sum(slot.smallest for slot in kept) > room:
            kept.pop(0)
        cut = "shortened" if len(kept) == len(self.pinned) else "left out"
        note = f"the pinned memories need {self.base} tokens: the oldest were {cut}"
        return list(_shortened(kept, room)), [note] if kept else []

    def waiting(self, inside: frozenset[str]) -> Iterator[tuple[Slot, int | None, str, str]]:
        """Yield what is not inside, the smallest budget at which it enters, and the rule that keeps it out."""
        yield from self._waiting_pinned(inside)
        keeps = f"{self.limits.budget} tokens are spent on what is more important"
        hot, recalled, reserve = self.hot.total, self.recalled.total, self.limits.reserve
        for slot, need in self.hot.needs(inside):
            yield slot, self.base + _least_for_hot(need, recalled, reserve), "budget", keeps
        for slot, need in self.recalled.needs(inside):
            yield slot, self.base + _least_for_recalled(need, hot, reserve), "budget", keeps
        for slot, need in self.low.needs(inside):
            yield slot, self.base + hot + recalled + need, "low", "low priority enters when space is left"
        for group in (self.hot, self.recalled, self.low):
            yield from ((slot, None, rule, reason) for slot, rule, reason in group.never)

    def _waiting_pinned(self, inside: frozenset[str]) -> Iterator[tuple[Slot, int | None, str, str]]:
        """A pinned memory enters when it fits beside all newer ones in their smallest forms."""
        if all(slot.id in inside for slot in self.pinned):
            return
        need = self.press.wrapper + self.pinned_heading
        for slot in reversed(self.pinned):
            need += slot.smallest
            if slot.id not in inside:
                yield slot, need, "on_pinned_overflow", "the pinned memories alone exceed the budget"


_TOO_SMALL = ("context_entry_tokens", "even its title costs more than one memory may")


def _shared(rest: int, hot: int, recalled: int, reserve: int) -> tuple[int, int]:
    """Return the space for the hot and for the recalled memories, which ask for so much in all."""
    kept = min(reserve, rest // 2)
    if recalled <= kept:
        return rest - recalled, recalled
    if hot <= rest - kept:
        return hot, rest - hot
    return rest - kept, kept


def _least_for_hot(need: int, recalled: int, reserve: int) -> int:
    """Return the smallest rest of which the hot memories get `need`."""
    least = min(need + reserve, 2 * need - 1)
    return min(least, max(2 * recalled, need + recalled)) if recalled <= reserve else least


def _least_for_recalled(need: int, hot: int, reserve: int) -> int:
    """Return the smallest rest of which the recalled memories get `need`."""
    complete = min(hot + reserve, 2 * hot - 1) if hot else 0
    least = max(complete, hot + need)
    return min(least, 2 * need) if need <= reserve else least


def _shortened(slots: Sequence[Slot], room: int) -> Iterator[tuple[Slot, Shown]]:
    """Yield pinned slots, oldest first, in forms that fit together; the oldest give way first."""
    newer = sum(slot.full.cost for slot in slots)
    for slot in slots:
        newer -= slot.full.cost
        # What the newer ones leave when they stay whole, but at least the smallest form.
        shown = slot.within(max(slot.smallest, room - newer)) or slot.title
        room -= shown.cost
        yield slot, shown


def _finished(
    placed: list[tuple[Slot, Shown]], table: _Table, press: Press, limits: Limits, notes: list[str]
) -> Packed:
    """Count the final text, let the least important leave as long as it is too long, and write the entries."""
    dropped: dict[str, int] = {}
    while True:
        ordered = sorted(placed, key=lambda each: _position(each[0].offer))
        text, tokens, most = _written(ordered, press)
        if most <= limits.budget:
            break
        dropped[placed.pop()[0].id] = most

    def rest() -> tuple[Entry, ...]:
        inside = frozenset(slot.id for slot, _ in placed)
        return tuple(
            _left_out(slot, dropped.get(slot.id, fits_at), rule, reason)
            for slot, fits_at, rule, reason in table.waiting(inside)
            if slot.id not in inside
        )

    return Packed(
        text=text,
        tokens=tokens,
        included=tuple(_included(slot, shown) for slot, shown in ordered),
        rest=Later(rest),
        shares=_shares(placed, press),
        pinned_cut=table.pinned_total > limits.budget - press.wrapper and bool(table.pinned),
        notes=(*notes, *_empty_note(placed, press, limits)),
    )


def _written(ordered: Sequence[tuple[Slot, Shown]], press: Press) -> tuple[str, int, int]:
    """Return the whole text, what it costs, and what it costs in the form, wrapped or bare, that costs more."""
    sections: dict[str, list[str]] = {section: [] for section in SECTIONS}
    for slot, shown in ordered:
        sections[slot.offer.section].append(shown.lines)
    bare = press.form.lines(sections)
    text = press.form.whole(bare) if bare else ""
    tokens = press.count(text)
    return text, tokens, tokens if text is bare else max(tokens, press.count(bare))


def _position(offer: Offer) -> tuple[int, tuple[int, ...]]:
    return SECTIONS.index(offer.section), offer.place


def _shares(placed: Sequence[tuple[Slot, Shown]], press: Press) -> dict[str, int]:
    if not placed:
        return {"frame": 0}
    shares = {"frame": press.wrapper}
    for section in SECTIONS:
        costs = [shown.cost for slot, shown in placed if slot.offer.section == section]
        if costs:
            shares[section] = press.heading(section) + sum(costs)
    return shares


def _empty_note(placed: Sequence[tuple[Slot, Shown]], press: Press, limits: Limits) -> list[str]:
    if placed:
        return []
    if limits.budget == 0:
        return ["a budget of 0 turns the context off"]
    if limits.budget <= press.wrapper:
        return [f"the frame alone costs {press.wrapper} tokens, so that nothing fits into {limits.budget}"]
    return []


def _included(slot: Slot, shown: Shown) -> Entry:
    offer = slot.offer
    how = {FULL: "", SHORTENED: ", shortened to whole sentences", TITLE: ", title only"}[shown.form]
    return Entry(
        memory=offer.memory,
        section=offer.section,
        form=shown.form,
        tokens=shown.cost,
        rule=offer.section,
        reason=offer.reason + how,
        score=offer.score,
        explain=offer.explain,
    )


def _left_out(slot: Slot, fits_at: int | None, rule: str, reason: str) -> Entry:
    offer = slot.offer
    return Entry(
        memory=offer.memory,
        section=offer.section,
        form=None,
        tokens=(slot.top or slot.title).cost,
        rule=rule,
        reason=f"{offer.reason}; {reason}",
        score=offer.score,
        explain=offer.explain,
        fits_at=fits_at,
    )
