"""Groups of items: hot, recalled, and low priority. A group is filled in its order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from memotherm.context.packing.items import Form, Item

__all__ = ["Exclusion", "Group", "limited"]

_TITLE_TOO_LONG = ("context_entry_tokens", "even its title costs more than one memory may")


class Exclusion(NamedTuple):
    """An item that is not included, and why."""

    item: Item
    #: The smallest budget at which it would be included; None if no budget helps.
    fits_at: int | None
    rule: str
    reason: str


class Group:
    """Items in order of importance; they are read from an iterator as far as needed."""

    def __init__(self, items: Iterable[Item], excluded: list[Exclusion]) -> None:
        self._read: list[Item] = []
        self._unread = iter(items)
        #: Items that no budget includes; complete when all items have been read.
        self.excluded = excluded

    def __iter__(self) -> Iterator[Item]:
        yield from self._read
        for item in self._unread:
            self._read.append(item)
            yield item

    @property
    def total(self) -> int:
        """Tokens of all items in their chosen forms."""
        return sum(item.cost for item in self)

    def total_up_to(self, most: int) -> int:
        """Return `total` if it is at most `most`, else a larger number, without reading all items."""
        total = 0
        for item in self:
            total += item.cost
            if total > most:
                break
        return total

    def fill(self, available: int) -> list[tuple[Item, Form]]:
        """Return the items that fit into `available` tokens, and their forms."""
        included: list[tuple[Item, Form]] = []
        for item in self:
            form = item.chosen if item.cost <= available else item.longest(available)
            if form is None:
                break
            included.append((item, form))
            available -= form.cost + item.section_cost
            if form is not item.chosen:
                break
        return included

    def needed(self, included: frozenset[str]) -> Iterator[tuple[Item, int]]:
        """Yield each item that is not included, and the tokens of the group at which it would be."""
        before = 0
        for item in self:
            if item.id not in included:
                yield item, before + item.min_cost
            before += item.cost


def limited(
    items: Iterable[Item],
    excluded: list[Exclusion],
    *,
    section_cost: int,
    entry_tokens: int,
    available: int | None,
    full: tuple[str, str],
    beyond: Sequence[Item] = (),
    too_many: tuple[str, str] = ("", ""),
) -> Iterator[Item]:
    """Yield the items that a group's own limits allow, each in its longest form; append the others to `excluded`.

    Args:
        items: The items, most important first.
        excluded: What no budget includes.
        section_cost: Tokens of the frame of the section, added to the first item.
        entry_tokens: The most tokens of one item.
        available: The most tokens of the group; None for no limit.
        full: The rule and the reason for items that exceed `available`.
        beyond: Items that exceed the number of items in the group.
        too_many: The rule and the reason for those.
    """
    spent = 0
    unread = iter(items)
    for item in unread:
        item.section_cost = section_cost
        if not item.choose(entry_tokens + section_cost):
            excluded.append(Exclusion(item, None, *_TITLE_TOO_LONG))
            continue
        if available is not None and spent + item.cost > available:
            if item.choose(available - spent):
                yield item
            else:
                excluded.append(Exclusion(item, None, *full))
            excluded += [Exclusion(later, None, *full) for later in unread]
            break
        spent, section_cost = spent + item.cost, 0
        yield item
    excluded += [Exclusion(item, None, *too_many) for item in beyond]
