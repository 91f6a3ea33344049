"""What becomes of the turns of past sessions: each is stored as one memory, and read for its statements later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memotherm.model import Memory, Priority
from memotherm.model.actions import Action
from memotherm.model.marks import SUPERSEDED_BY
from memotherm.remember.authority import outranks
from memotherm.remember.superseding import mark_superseded, superseded_by
from memotherm.storage.store import Transaction
from memotherm.storage.values import Cause
from memotherm.text.claims import Claims
from memotherm.text.corrections import corrections


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
