"""What a correction supersedes: memories that say something else about the same thing.

A memory that holds is superseded if a newer one says in words that something has changed (`text/corrections.py`), and
both have the same slot with another value, or one denies the other. It stays active and ceases to hold at that moment:
contexts leave it out, and searches put it behind its successor.

What a turn of a conversation replaces less clearly (`statements/replacing.py`) is marked as perhaps outdated, and is
still in contexts, behind its successor.

The turns of past sessions are stored as one memory each, and read for their statements later (`as_read`); they correct
what was said before them (`correct_past`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from memotherm.model import Memory, Priority, Scope, Tier
from memotherm.model.actions import Action
from memotherm.model.marks import OUTDATED, PERHAPS_OUTDATED, SUPERSEDED_BY, doubtful_parts, outdated_sentences
from memotherm.remember.authority import outranks
from memotherm.remember.proposals import propose_decision
from memotherm.storage.store import Transaction
from memotherm.storage.values import Cause, Record
from memotherm.text.claims import Claims, hashed_slots, sentence_of
from memotherm.text.corrections import Correction, corrections, statements
from memotherm.text.versions import Difference
from memotherm.tiers.rules.properties import in_file, is_closed


class Superseded(NamedTuple):
    """A memory that a correction supersedes, and what both say."""

    record: Record
    difference: Difference
    #: The sentence, if the memory says something else as well.
    sentence: str = ""


def superseded_by(
    transaction: Transaction, spaces: Sequence[int], memory: Memory, corrections: Sequence[Correction], cause: Cause
) -> list[Superseded]:
    """Return the memories of some spaces that the corrections in a new memory supersede; nothing is changed.

    If several values may be meant, none is.
    """
    found: dict[int, Superseded] = {}
    for correction in corrections:
        strict, loose = list[Superseded](), list[Superseded]()
        claims = transaction.claims_about(spaces, hashed_slots(correction.statement))
        for no, sentence in dict.fromkeys((claim.no, claim.sentence) for claim in claims):
            record = transaction.numbered(no)
            if record is None or not _may_be_superseded(record.memory, memory, cause):
                continue
            content, outdated = record.memory.content, outdated_sentences(record.memory)
            stated, said = statements(content), sentence_of(content, sentence)
            difference = stated[sentence].difference(correction.statement)
            if difference is not None and said not in outdated:
                held = sum(bool(each.slots) for each in stated) - len(outdated)
                shared = stated[sentence].slots.keys() & correction.statement.slots.keys()
                (strict if shared else loose).append(Superseded(record, difference, said if held > 1 else ""))
        if len({each.difference.values[0] for each in loose}) > 1:
            loose = []
        # Of one memory, one sentence at a time: the others follow from what is stored then.
        found |= {each.record.no: each for each in (*strict, *loose)}
    return list(found.values())


def _may_be_superseded(old: Memory, new: Memory, cause: Cause) -> bool:
    """Return whether a memory holds, is older than another one, and may be changed from its scope."""
    return (
        old.visible_at(cause.at)
        and old.id != new.id
        and old.created_at <= new.created_at
        and (old.valid_until is None or old.valid_until > cause.at)
        and _may_change(new.scope, old.scope)
        and not in_file(old)
        and not is_closed(old)
    )


def _may_change(scope: Scope, other: Scope) -> bool:
    return scope.sees(other) and scope.may_change(other) and scope.owner in (None, other.user)


def mark_superseded(transaction: Transaction, each: Superseded, successor: Memory, cause: Cause) -> None:
    """Let a memory cease to hold when its successor was said.

    Instead of one of more trust than the caller, a proposal is stored.
    """
    old = each.record.memory
    if outranks(old, cause.by):
        propose_decision(transaction, successor, old, cause)
        return
    # The reason quotes neither of them, because it stays when they are purged.
    because = replace(cause, action=Action.UPDATE, rule="superseded", why=f"{successor.id} says otherwise")
    if each.sentence:
        outdated = {**outdated_sentences(old), each.sentence: successor.id}
        transaction.change(each.record, replace(old, metadata={**old.metadata, OUTDATED: outdated}), because)
        return
    after = replace(
        old,
        valid_until=successor.created_at,
        tier=Tier.WARM if old.tier is Tier.HOT else old.tier,
        tier_rule="superseded" if old.tier is Tier.HOT else old.tier_rule,
        metadata={**old.metadata, SUPERSEDED_BY: successor.id},
    )
    transaction.change(each.record, after, because)


def mark_doubtful(transaction: Transaction, memory_id: str, part: str, successor: Memory, cause: Cause) -> None:
    """Mark a part of a memory as perhaps outdated, unless it has more trust than the caller."""
    record = transaction.get(memory_id)
    if record is None or not _may_be_superseded(record.memory, successor, cause) or outranks(record.memory, cause.by):
        return
    from memotherm.statements.replacing import is_all_of

    old = record.memory
    # The empty part is all of it.
    whole = is_all_of(part, old.content)
    doubtful = {**doubtful_parts(old), "" if whole else part: successor.id}
    why = f"{successor.id} perhaps replaces {'it' if whole else 'a part of it'}"
    because = replace(cause, action=Action.UPDATE, rule="perhaps_outdated", why=why)
    transaction.change(record, replace(old, metadata={**old.metadata, PERHAPS_OUTDATED: doubtful}), because)


def as_read(turn: Memory, said: Memory) -> Memory:
    """Return what a stored turn becomes that was read as a statement; what was done with it meanwhile stays."""
    moved = turn.tier_rule != said.tier_rule
    return replace(
        turn,
        content=said.content,
        tokens=said.tokens,
        digest=said.digest,
        kind=said.kind,
        tags=tuple(dict.fromkeys((*turn.tags, *said.tags))),
        tier=turn.tier if moved else said.tier,
        priority=said.priority if turn.priority is Priority.LOW else turn.priority,
        scope=said.scope,
        metadata={**turn.metadata, **said.metadata},
        trust=said.trust,
        valid_until=turn.valid_until or said.valid_until,
    )


def correct_past(
    transaction: Transaction, spaces: Sequence[int], memory_id: str, known: Claims, cause: Cause
) -> list[str]:
    """Let memories of some spaces cease to hold that a stored text of a past session corrects; return their ids.

    It corrects what was said before it; what was said later may be stored already.
    """
    record = transaction.get(memory_id)
    if record is None or not record.memory.visible_at(cause.at) or SUPERSEDED_BY in record.memory.metadata:
        return []
    own = {(claim.slot, claim.value) for claim in known.claims if claim.sentence in known.corrects}
    about = transaction.claims_about(spaces, {slot for slot, _ in own})
    if all((claim.slot, claim.value) in own for claim in about):
        # As for nearly every one, nothing else was said about the same.
        return []
    memory = record.memory
    found = superseded_by(transaction, spaces, memory, corrections(memory.content), cause)
    first = next((each.record.memory.id for each in found if not outranks(each.record.memory, cause.by)), None)
    if first is not None and memory.supersedes is None:
        because = replace(cause, action=Action.UPDATE, rule="superseded", why=f"it corrects {first}")
        record = transaction.change(record, replace(memory, supersedes=first), because)
    for each in found:
        mark_superseded(transaction, each, record.memory, cause)
    return [each.record.memory.id for each in found]
