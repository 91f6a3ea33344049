"""Conflicts: statements about the same thing that say something else, of which none has replaced the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from datetime import datetime
from functools import cache
from itertools import combinations
from typing import NamedTuple

from memotherm.errors import InvalidInput, NotFound
from memotherm.model import Memory, Retention, Scope
from memotherm.model.marks import outdated_sentences
from memotherm.model.results import Conflict
from memotherm.remember.authority import outranks, require_visible
from memotherm.remember.changes import archive_superseded
from memotherm.remember.proposals import propose_decision
from memotherm.remember.summaries import remake, summaries_of
from memotherm.statements.kinds import kind_by_phrases
from memotherm.storage.store import Store, Transaction
from memotherm.storage.values import Cause, ClaimRow
from memotherm.text.claims import is_outline, sentence_of, slot_hash, statement_of
from memotherm.text.corrections import is_hedged
from memotherm.text.versions import Difference, Statement
from memotherm.tiers.rules.properties import is_closed
from memotherm.tiers.rules.retention import require_active

#: A slot with more values than this takes several of them: "Ana has been to ...".
_MOST_VALUES = 4
#: Of a slot with more than this, the statements are not even read.
_MOST_DISTINCT = 4 * _MOST_VALUES


class _Said(NamedTuple):
    """A sentence of a memory that another one may contradict."""

    memory: Memory
    statement: Statement


def conflicts_in(store: Store, spaces: Sequence[int], now: datetime, *, together: bool) -> list[Conflict]:
    """Return the conflicts among the memories of some spaces, newest first.

    For each slot with several values, they are the newest statement with each of the others. Two memories that were
    both verified after the newer one was stated hold both, and so do two of which one had ceased to hold before the
    other one began to. Unless one scope sees all of them `together`, one must be visible from the scope of the other.
    """
    with store.snapshot():
        claims = list(_disputed(store, spaces, together=together))
        records = store.records(list({claim.no for claim in claims}))
    slots = {claim.slot for claim in claims}
    said = [
        _Said(memory, statement_of(memory.content, number))
        for no, number in dict.fromkeys((claim.no, claim.sentence) for claim in claims)
        if no in records and _is_compared(memory := records[no].memory, number, now)
    ]
    return _conflicts_among(said, slots, together=together)


def _disputed(store: Store, spaces: Sequence[int], *, together: bool) -> Iterator[ClaimRow]:
    """Yield the claims about each slot with several values, unless it takes many of them."""
    holders: defaultdict[tuple[int, int], list[ClaimRow]] = defaultdict(list)
    for claim in store.disputed_claims(spaces):
        holders[claim.slot, 0 if together else claim.space].append(claim)
    for (slot, _), claims in holders.items():
        if is_outline(slot) or len({claim.value for claim in claims}) <= _MOST_DISTINCT:
            yield from claims


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


def _conflicts_among(said: Sequence[_Said], slots: Set[int], *, together: bool) -> list[Conflict]:
    """Return the conflicts of some statements about some slots."""
    stated = sorted(said, key=lambda each: (each.memory.updated_at, each.memory.id))
    memories, statements = [each.memory for each in stated], [each.statement for each in stated]
    wider_of = cache(_wider)
    found: dict[tuple[str, str], tuple[int, Conflict]] = {}
    for slot, numbers in _shared_slots(statements, slots):
        for seen in [numbers] if together else _by_scope(memories, numbers, wider_of):
            for (older, newer), difference in _differences(statements, slot, seen):
                conflict = _conflict(memories[older], memories[newer], difference)
                pair = conflict.older.id, conflict.newer.id
                # The longest slot has the shortest values.
                if pair[0] != pair[1] and (pair not in found or len(slot) > found[pair][0]):
                    found[pair] = len(slot), conflict
    conflicts = sorted((each for _, each in found.values()), key=_recency, reverse=True)
    return [
        each
        for each in conflicts
        if (together or _one_sees_the_other(each.older.scope, each.newer.scope))
        and not _hold_one_after_another(each.older, each.newer)
        and not _both_hold(each)
    ]


def _recency(conflict: Conflict) -> tuple[datetime, str, datetime, str]:
    newer, older = conflict.newer, conflict.older
    return newer.updated_at, newer.id, older.updated_at, older.id


def _hold_one_after_another(older: Memory, newer: Memory) -> bool:
    """Return whether one of two memories had ceased to hold before the other one began to."""
    return any(
        one.valid_until is not None and one.valid_until <= (other.valid_from or other.updated_at)
        for one, other in ((older, newer), (newer, older))
    )


def _is_compared(memory: Memory, sentence: int, now: datetime) -> bool:
    """Return whether a sentence of a memory can be in a conflict: the memory is no closed task, and has not expired.

    A sentence of a message can be if it is of a known kind; one that was superseded, and a wish or guess, cannot.
    """
    said = sentence_of(memory.content, sentence)
    return (
        memory.visible_at(now)
        and not is_closed(memory)
        and said not in outdated_sentences(memory)
        and not is_hedged(said)
        and (memory.kind != "message" or kind_by_phrases(said) is not None)
    )


def _shared_slots(statements: Sequence[Statement], slots: Set[int]) -> Iterator[tuple[str, list[int]]]:
    """Yield those of some slots that several statements have, with the places of these in the list.

    Of the loose slots, only those count that a statement has which says that something has changed.
    """
    holders: defaultdict[str, list[int]] = defaultdict(list)
    changed = [statement for statement in statements if statement.changed]
    outlines = {outline for statement in changed for outline in statement.outlines}
    loose = {slot for statement in changed for slot in statement.loose_slots}
    for number, statement in enumerate(statements):
        for slot in statement.slots:
            if slot_hash(slot) in slots:
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
