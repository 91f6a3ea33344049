"""Conflicts: statements about the same thing that say something else, of which none has replaced the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations, islice

from memotherm.errors import InvalidInput, NotFound
from memotherm.model import Memory, Retention, Scope
from memotherm.model.memory import SUMMARY, MemoryFields
from memotherm.model.results import Conflict
from memotherm.remember.authority import outranks
from memotherm.remember.changes import archive_superseded, propose_decision, require_visible
from memotherm.remember.summaries import remake, summaries_of
from memotherm.storage.store import Store, Transaction
from memotherm.storage.values import Cause, Search
from memotherm.text.statements import kind_of
from memotherm.text.versions import Difference, Statement
from memotherm.tiers.rules.properties import FILE_SOURCE, is_closed
from memotherm.tiers.rules.retention import require_active

_PAGE = 1000
#: A slot with more values than this takes several of them: "Ana has been to ...".
_MOST_VALUES = 4


def conflicts_in(store: Store, search: Search, newest: int, *, together: bool) -> list[Conflict]:
    """Return the conflicts among the newest memories that a listing selects.

    Args:
        store: The store.
        search: What it selects.
        newest: How many memories are compared at most.
        together: Whether one scope sees all of them.
    """
    with store.snapshot():
        memories = [record.memory for record in islice(store.each(replace(search, limit=_PAGE)), newest)]
    return conflicts_among(memories, together=together)


def supersede(
    store: Store, scope: Scope, memory_id: str, replaced: Sequence[str], cause: Cause, tokenizer: str
) -> list[Memory]:
    """Archive memories that another one replaces, all or none; each has one event, which can be undone.

    For one of more trust than the caller, the proposal to do so is stored and returned instead.
    """
    if not replaced:
        raise NotFound(f"no conflict of {memory_id} can be seen from here ({scope})")

    def change(transaction: Transaction) -> list[Memory]:
        kept = require_active(require_visible(transaction, scope, memory_id).memory)
        records = [require_visible(transaction, scope, each) for each in dict.fromkeys(replaced)]
        for memory in (record.memory for record in records):
            if memory.retention is not Retention.ACTIVE:
                raise InvalidInput(f"{memory.id} is {memory.retention} already: there is nothing to decide over")
        decided = [
            propose_decision(transaction, kept, record.memory, cause)
            if outranks(record.memory, cause.by)
            else archive_superseded(transaction, record, kept.id, kept.content, cause)
            for record in records
        ]
        remake(transaction, summaries, cause, tokenizer)
        return [record.memory for record in decided]

    summaries = summaries_of(store, scope, replaced, cause)
    return store.transact(change)


def conflicts_among(memories: Iterable[Memory], *, together: bool = True) -> list[Conflict]:
    """Return the conflicts, newest first: for each slot with several values, the newest one with each of the others.

    Two memories that were both verified after the newer one was stated hold both, and so do two of which one had ceased
    to hold before the other one began to. Unless they are seen `together`, one
    of the two must be visible from the scope of the other.
    """
    stated = sorted(filter(_is_compared, memories), key=lambda memory: (memory.updated_at, memory.id))
    statements = [Statement(memory.content) for memory in stated]
    wider_of = cache(_wider)
    found: dict[tuple[int, int], tuple[int, Difference]] = {}
    for slot, numbers in _shared_slots(statements):
        for seen in [numbers] if together else _by_scope(stated, numbers, wider_of):
            for pair, difference in _differences(statements, slot, seen):
                # The longest slot has the shortest values.
                if pair not in found or len(slot) > found[pair][0]:
                    found[pair] = len(slot), difference
    if not together:
        scopes = {pair: [stated[number].scope for number in pair] for pair in found}
        found = {pair: each for pair, each in found.items() if _one_sees_the_other(*scopes[pair])}
    pairs = sorted(found.items(), key=lambda item: item[0][::-1], reverse=True)
    conflicts = (
        _conflict(stated[older], stated[newer], each)
        for (older, newer), (_, each) in pairs
        if not _hold_one_after_another(stated[older], stated[newer])
    )
    return [each for each in conflicts if not _both_hold(each)]


def _hold_one_after_another(older: Memory, newer: Memory) -> bool:
    """Return whether one of two memories had ceased to hold before the other one began to."""
    return any(
        one.valid_until is not None and one.valid_until <= (other.valid_from or other.updated_at)
        for one, other in ((older, newer), (newer, older))
    )


def _is_compared(memory: MemoryFields) -> bool:
    """Return whether a memory can be in a conflict: no summary, part of a file or closed task, and it states something.

    A message does if its statement is of a known kind.
    """
    return (
        memory.kind != SUMMARY
        and not memory.source.startswith(FILE_SOURCE)
        and not is_closed(memory)
        and (memory.kind != "message" or kind_of(memory.content) is not None)
    )


def _shared_slots(statements: Sequence[Statement]) -> Iterator[tuple[str, list[int]]]:
    """Yield the slots that several statements have, with the places of these in the list.

    Of the loose slots, only those count that a statement has which says that something has changed.
    """
    holders: defaultdict[str, list[int]] = defaultdict(list)
    changed = [statement for statement in statements if statement.changed]
    outlines = {outline for statement in changed for outline in statement.outlines}
    loose = {slot for statement in changed for slot in statement.loose_slots}
    for number, statement in enumerate(statements):
        for slot in statement.slots:
            holders[slot].append(number)
        if outlines and not outlines.isdisjoint(statement.outlines):
            for slot in loose.intersection(statement.loose_slots):
                holders[slot].append(number)
    return ((slot, numbers) for slot, numbers in holders.items() if len(numbers) > 1)


def _by_scope(
    stated: Sequence[Memory], numbers: Sequence[int], wider_of: Callable[[Scope], Iterable[Scope]]
) -> list[list[int]]:
    """Return what each scope of some memories sees of them."""
    held: defaultdict[Scope, list[int]] = defaultdict(list)
    for number in numbers:
        held[stated[number].scope].append(number)
    if len(held) < 2:
        return [list(numbers)]
    return [sorted(number for wider in wider_of(scope) for number in held.get(wider, ())) for scope in held]


def _wider(scope: Scope) -> tuple[Scope, ...]:
    """Return the scopes whose memories a scope sees."""
    named = scope.items()
    return tuple(Scope(**dict(part)) for size in range(len(named) + 1) for part in combinations(named, size))


def _one_sees_the_other(one: Scope, other: Scope) -> bool:
    return one.sees(other) or other.sees(one)


def _differences(
    statements: Sequence[Statement], slot: str, numbers: Sequence[int]
) -> list[tuple[tuple[int, int], Difference]]:
    """Return what the newest statement of a slot and each other one say differently; none if the slot takes several."""
    found: list[tuple[tuple[int, int], Difference]] = []
    values: set[str] = set()
    for number in numbers[:-1]:
        difference = statements[number].differs(statements[numbers[-1]], slot)
        if difference is not None:
            found.append(((number, numbers[-1]), difference))
            values.add(difference.values[0])
            if len(values) == _MOST_VALUES:
                return []
    return found


def _conflict(older: Memory, newer: Memory, difference: Difference) -> Conflict:
    # Of equal ones, the first is taken.
    winner = max((newer, older), key=lambda memory: memory.trust.rank)
    return Conflict(older=older, newer=newer, about=difference.about, values=difference.values, winner=winner.id)


def _both_hold(conflict: Conflict) -> bool:
    """Return whether both memories were verified since the newer one was stated."""
    stated = conflict.newer.updated_at
    return all(each.verified_at is not None and each.verified_at >= stated for each in (conflict.older, conflict.newer))
