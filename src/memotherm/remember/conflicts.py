"""Conflicts: statements about the same thing that say something else, of which none has replaced the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from memotherm.errors import InvalidInput, NotFound
from memotherm.model import Memory, Retention, Scope, Trust
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
from memotherm.text.words import as_written
from memotherm.tiers.rules.properties import is_closed
from memotherm.tiers.rules.retention import require_active

#: A slot with more values than this takes several of them: "Ana has been to ...".
_MOST_VALUES = 4
#: Of a slot with more than this, the statements are not even read.
_MOST_DISTINCT = 4 * _MOST_VALUES
#: Nor those of an outline that more statements have: it is not about one thing.
_MOST_OUTLINED = 64
#: Who stands behind a memory, in words.
_WHO = {
    Trust.PERSON: "a person",
    Trust.AGENT: "an agent",
    Trust.IMPORT: "an import",
    Trust.DOCUMENT: "a document",
    Trust.WEB: "the web",
}
#: How many slots are compared before it is asked whether there are conflicts enough.
_AT_ONCE = 50


class _Said(NamedTuple):
    """A sentence of a memory that another one may contradict."""

    memory: Memory
    sentence: str
    statement: Statement
    #: The slots of the statement by their hashes.
    slots: dict[int, str]


#: Conflicts by the ids of their memories, each with the length of its slot: the longest slot has the shortest values.
_Found = dict[tuple[str, str], tuple[int, Conflict]]


def conflicts_in(
    store: Store,
    spaces: Sequence[int],
    now: datetime,
    *,
    together: bool,
    most: int | None = None,
    of: Sequence[str] = (),
) -> list[Conflict]:
    """Return the conflicts among the memories of some spaces, newest first.

    For each slot with several values, they are the newest statement with each of the others. Two memories that were
    both verified after the newer one was stated hold both, and so do two of which one had ceased to hold before the
    other one began to. Unless one scope sees all of them `together`, one must be visible from the scope of the other.

    Args:
        store: The store.
        spaces: Where the memories are.
        now: The time: what has expired is in no conflict.
        together: Whether one scope sees all the spaces.
        most: The most conflicts; no more is read than they need. None for all of them.
        of: The ids of the memories of which a conflict must have one; none for all conflicts.
    """
    found: _Found = {}
    with store.snapshot():
        disputed = _disputed(store, spaces, of, together=together)
        read: dict[tuple[int, int], _Said | None] = {}
        for start in range(0, len(disputed), _AT_ONCE):
            batch = disputed[start : start + _AT_ONCE]
            records = store.records(list({claim.no for claims in batch for claim in claims}))
            # The first claim about a slot is the newest one.
            newest = _age(records[batch[0][0].no].memory)
            if most is not None and not of and sum(_age(each.newer) > newest for _, each in found.values()) >= most:
                break
            for claims in batch:
                places = dict.fromkeys((claim.no, claim.sentence) for claim in claims)
                for no, sentence in places:
                    if (no, sentence) not in read:
                        read[no, sentence] = _said(records[no].memory, sentence, now)
                said = [each for place in places if (each := read[place]) is not None]
                _add_conflicts(found, claims[0].slot, said, together=together)
    wanted = (each for pair, (_, each) in found.items() if not of or not set(pair).isdisjoint(of))
    return sorted(wanted, key=_recency, reverse=True)[:most]


def _disputed(store: Store, spaces: Sequence[int], of: Sequence[str], *, together: bool) -> list[list[ClaimRow]]:
    """Return the claims about each slot with several values, unless it takes many of them, by the newest of them."""
    holders: defaultdict[tuple[int, int], list[ClaimRow]] = defaultdict(list)
    for claim in store.disputed_claims(spaces, of, _MOST_DISTINCT, _MOST_OUTLINED):
        holders[claim.slot, 0 if together else claim.space].append(claim)
    slots: defaultdict[int, list[ClaimRow]] = defaultdict(list)
    for (slot, _), claims in holders.items():
        if len({claim.value for claim in claims}) <= _MOST_DISTINCT:
            slots[slot] += claims
    return list(slots.values())


def _said(memory: Memory, sentence: int, now: datetime) -> _Said | None:
    """Return what a sentence of a memory says; None if it cannot be in a conflict.

    The memory may be no closed task, and not have expired. A sentence of a message must be of a known kind; it may
    not be superseded, and no wish or guess.
    """
    said = sentence_of(memory.content, sentence)
    if (
        not memory.visible_at(now)
        or is_closed(memory)
        or said in outdated_sentences(memory)
        or is_hedged(said)
        or (memory.kind == "message" and kind_by_phrases(said) is None)
    ):
        return None
    statement = statement_of(memory.content, sentence)
    return _Said(memory, said, statement, {slot_hash(slot): slot for slot in statement.slots})


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


def _add_conflicts(found: _Found, slot: int, said: Sequence[_Said], *, together: bool) -> None:
    """Add the conflicts of statements that have a slot in common, or an outline."""
    stated = sorted(said, key=lambda each: _age(each.memory))
    for name, numbers in _shared_slots(stated, slot):
        for seen in [numbers] if together else _by_scope([each.memory for each in stated], numbers):
            for (older, newer), difference in _differences([each.statement for each in stated], name, seen):
                conflict = _conflict(stated[older], stated[newer], difference)
                pair = conflict.older.id, conflict.newer.id
                if (
                    pair[0] != pair[1]
                    and len(name) > found.get(pair, (0, None))[0]
                    and (together or _one_sees_the_other(conflict.older.scope, conflict.newer.scope))
                    and not _hold_one_after_another(conflict.older, conflict.newer)
                    and not _both_hold(conflict)
                ):
                    found[pair] = len(name), conflict


def _age(memory: Memory) -> tuple[datetime, str]:
    """Return what sorts memories by when they were stated, the oldest first; an import states many at once."""
    return memory.updated_at, memory.id


def _recency(conflict: Conflict) -> tuple[datetime, str, datetime, str]:
    return (*_age(conflict.newer), *_age(conflict.older))


def _hold_one_after_another(older: Memory, newer: Memory) -> bool:
    """Return whether one of two memories had ceased to hold before the other one began to."""
    return any(
        one.valid_until is not None and one.valid_until <= (other.valid_from or other.updated_at)
        for one, other in ((older, newer), (newer, older))
    )


def _shared_slots(stated: Sequence[_Said], slot: int) -> list[tuple[str, list[int]]]:
    """Return the slots with a hash that several statements have, with the places of these in the list.

    Statements with an outline in common may share loose slots, of which those count that a statement has which says
    that something has changed.
    """
    holders: defaultdict[str, list[int]] = defaultdict(list)
    if is_outline(slot):
        loose = {name for each in stated if each.statement.changed for name in each.statement.loose_slots}
        for number, each in enumerate(stated):
            for name in loose.intersection(each.statement.loose_slots) if loose else ():
                holders[name].append(number)
    else:
        for number, each in enumerate(stated):
            if slot in each.slots:
                holders[each.slots[slot]].append(number)
    return [(name, numbers) for name, numbers in holders.items() if len(numbers) > 1]


def _by_scope(stated: Sequence[Memory], numbers: Sequence[int]) -> list[list[int]]:
    """Return what each scope of some memories sees of them."""
    held: defaultdict[Scope, list[int]] = defaultdict(list)
    for number in numbers:
        held[stated[number].scope].append(number)
    if len(held) < 2:
        return [list(numbers)]
    return [sorted(number for wider in _wider(scope) for number in held.get(wider, ())) for scope in held]


@lru_cache(maxsize=1000)  # the same few scopes for each slot
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


def _conflict(older: _Said, newer: _Said, difference: Difference) -> Conflict:
    # Of equal ones, the first is taken.
    winner, loser = sorted((newer.memory, older.memory), key=lambda memory: -memory.trust.rank)
    who, other = _WHO[winner.trust], _WHO[loser.trust]
    said, says = (
        as_written(value, each.sentence) for value, each in zip(difference.values, (older, newer), strict=True)
    )
    return Conflict(
        older=older.memory,
        newer=newer.memory,
        about=" ".join(word for word in as_written(difference.about, older.sentence) if word not in said),
        values=(" ".join(said), " ".join(says)),
        winner=winner.id,
        why=f"it is newer, and both are by {who}" if who == other else f"{who} is trusted more than {other}",
    )


def _both_hold(conflict: Conflict) -> bool:
    """Return whether both memories were verified since the newer one was stated."""
    stated = conflict.newer.updated_at
    return all(each.verified_at is not None and each.verified_at >= stated for each in (conflict.older, conflict.newer))
