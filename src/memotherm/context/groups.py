"""Groups of memories that are filled in order, and how hot and recalled memories share the budget."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from memotherm.context.forms import PARTS, Form, Item
from memotherm.model.receipts import Reason

#: In a shared group, the most of the space that the first, the second and each later memory may cost. A later one
#: may cost a quarter of what is left at most: the last memories that fit are shortened, so that more of them do.
_SHARES = (PARTS // 3, PARTS // 6, PARTS // 15)
_LATER = len(_SHARES) - 1
_PART_OF_REST = 4
#: But at least so many parts of a token.
_LEAST_PARTS = 20 * PARTS
_TITLE_TOO_LONG = Reason(code="entry_tokens")
_NO_REASON = Reason(code="")


class Exclusion(NamedTuple):
    """An item that is not included, and why."""

    item: Item
    #: The smallest budget at which it would be included; None if no budget helps.
    fits_at: int | None
    reason: Reason


def split(rest: int, hot: int, recalled: int, reserve: int) -> tuple[int, int]:
    """Return the tokens for hot and for recalled memories, which need `hot` and `recalled` tokens in full."""
    reserved = min(reserve, rest // 2)
    if recalled <= reserved:
        return rest - recalled, recalled
    if hot <= rest - reserved:
        return hot, rest - hot
    return rest - reserved, reserved


def min_rest_for_hot(needed: int, recalled: int, reserve: int) -> int:
    """Return the smallest `rest` of which `split` gives hot memories `needed` tokens."""
    least = min(needed + reserve, 2 * needed - 1)
    return min(least, max(2 * recalled, needed + recalled)) if recalled <= reserve else least


def min_rest_for_recalled(needed: int, hot: int, reserve: int) -> int:
    """Return the smallest `rest` of which `split` gives recalled memories `needed` tokens."""
    return min(hot + needed, 2 * needed) if needed <= reserve else hot + needed


class Group:
    """Items in order of importance; they are read from an iterator as far as needed.

    In a shared group, a memory that is longer than its part of the space enters as some of its sentences, if
    others need the space. The part grows with the space, so that a larger space still never removes a memory.
    """

    def __init__(
        self,
        items: Iterable[Item],
        excluded: list[Exclusion],
        *,
        shared: bool = False,
        most: int | None = None,
        full: Reason = _NO_REASON,
    ) -> None:
        self._shared = shared
        #: The most tokens of the group, and the reason for items that exceed them.
        self._most = math.inf if most is None else most
        self._full = full
        self._read: list[Item] = []
        self._unread = iter(items)
        #: The last space that was filled: what is not included then needs a larger one.
        self._filled = 0
        #: Whether the group could have had more tokens than its own limit allows.
        self._limited = False
        self._excluded = excluded

    def __iter__(self) -> Iterator[Item]:
        yield from self._read
        for item in self._unread:
            self._read.append(item)
            yield item

    def limits(self) -> tuple[dict[str, Reason], Reason | None]:
        """Return the reasons for items that its own limits exclude, and for others; nothing is counted."""
        own = {exclusion.item.id: exclusion.reason for exclusion in self._excluded}
        return own, self._full if self._limited else None

    def excluded(self) -> list[Exclusion]:
        """Return the items that no budget includes; those that exceed `most` are known after `needed`."""
        self._read.extend(self._unread)
        return self._excluded

    @property
    def total(self) -> int:
        """Tokens of all items in their chosen forms, as far as the group may have them."""
        return self._at_most(sum(item.cost for item in self))

    def total_up_to(self, most: int) -> int:
        """Return `total` if it is at most `most`, else a larger number."""
        total, enough = 0, min(most, self._most)
        for item in self:
            total += item.cost
            if total > enough:
                break
        return self._at_most(total)

    def fill(self, available: int) -> list[tuple[Item, Form]]:
        """Return the items that fit into `available` tokens, and their forms."""
        admitted: list[tuple[Item, int]] = []
        self._limited = available > self._most
        available = self._filled = self._at_most(available)
        left = PARTS * available
        for position, item in enumerate(self):
            allowance = item.allowance(self._limit(position, available, left))
            if allowance > left:
                if PARTS * item.min_cost <= left:
                    admitted.append((item, left))
                    left = 0
                break
            admitted.append((item, allowance))
            left -= allowance
        return _forms(admitted, left)

    def needed(self, included: frozenset[str]) -> Iterator[tuple[Item, int]]:
        """Yield each item that is not included, and the tokens of the group at which it would be."""
        before: list[Item] = []
        # The first of them that have their chosen form in the last space, and so in every larger one, and the tokens
        # of these and of all.
        whole = whole_tokens = tokens = 0
        least = self._filled
        for item in self:
            if item.id not in included:
                most = tokens + item.min_cost
                least = self._least_space(item, before[whole:], whole, whole_tokens, min(least, most), most)
                if least > self._most:
                    self._excluded.append(Exclusion(item, None, self._full))
                else:
                    yield item, least
                for earlier in before[whole:]:
                    limit = self._limit(whole, least, PARTS * (least - whole_tokens))
                    if limit is not None and earlier.exceeds(limit // PARTS):
                        break
                    whole, whole_tokens = whole + 1, whole_tokens + earlier.cost
            before.append(item)
            tokens += item.cost

    def _at_most(self, tokens: int) -> int:
        return int(min(tokens, self._most))

    def _limit(self, position: int, available: int, left: int) -> int | None:
        """Return the most that one memory may cost, in parts of a token.

        Args:
            position: Its place in the group.
            available: The space of the group, in tokens.
            left: What the memories before it leave of the space, in parts of a token.
        """
        if not self._shared:
            return None
        if position < _LATER:
            limit, rest = available * _SHARES[position], left
        else:
            limit, rest = available * _SHARES[_LATER], left // _PART_OF_REST
        # `min` and `max` would take as long as all the rest, and a receipt asks a thousand times.
        if limit > rest:
            limit = rest
        if limit < _LEAST_PARTS:
            limit = _LEAST_PARTS
        return limit

    def _least_space(
        self, item: Item, limited: Sequence[Item], whole: int, whole_tokens: int, least: int, most: int
    ) -> int:
        """Return the smallest space, from `least` to `most`, in which an item has its smallest form after others.

        Args:
            item: The item.
            limited: The items before it, without the first ones that have their chosen form in all these spaces.
            whole: The number of those.
            whole_tokens: The tokens of those.
            least: The smallest space to consider.
            most: The tokens of all items before it in their chosen forms, and of its smallest form.
        """
        # A larger space never leaves less.
        needed = PARTS * item.min_cost
        return bisect_left(
            range(most), needed, least, most, key=lambda space: self._left(limited, whole, space, whole_tokens)
        )

    def _left(self, limited: Iterable[Item], whole: int, space: int, whole_tokens: int) -> int:
        """Return what items leave of a space, in parts of a token; the arguments are those of `_least_space`."""
        left = PARTS * (space - whole_tokens)
        for place, item in enumerate(limited, whole):
            left -= item.allowance(self._limit(place, space, left))
        return left


def _forms(admitted: Sequence[tuple[Item, int]], left: int) -> list[tuple[Item, Form]]:
    """Return the longest form of each item; what one does not need goes to the next."""
    included: list[tuple[Item, Form]] = []
    for item, allowance in admitted:
        left += allowance
        rest = left // PARTS
        form = item.longest(rest) if item.exceeds(rest - item.section_cost) else item.chosen
        if form is None:
            break
        included.append((item, form))
        left -= PARTS * (form.cost + item.section_cost)
    return included


def limited(
    items: Iterable[Item],
    excluded: list[Exclusion],
    *,
    section_cost: int,
    entry_tokens: int,
    available: int | None,
    full: Reason,
    beyond: Sequence[Item] = (),
    too_many: Reason = _NO_REASON,
) -> Iterator[Item]:
    """Yield the items that a group's own limits allow, each in its longest form; append the others to `excluded`.

    The first item pays for the frame of the section. Items that exceed the tokens that are `available` are left out as
    `full`, and those `beyond` the number of items as `too_many`.
    """
    spent = 0
    unread = iter(items)
    for item in unread:
        item.section_cost = section_cost
        if not item.limit(entry_tokens + section_cost):
            excluded.append(Exclusion(item, None, _TITLE_TOO_LONG))
            continue
        if available is not None and spent + item.cost > available:
            if item.limit(available - spent):
                yield item
            else:
                excluded.append(Exclusion(item, None, full))
            excluded += [Exclusion(later, None, full) for later in unread]
            break
        section_cost = 0
        if available is not None:
            spent += item.cost
        yield item
    excluded += [Exclusion(item, None, too_many) for item in beyond]
