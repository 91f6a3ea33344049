"""What a correction supersedes: memories that say something else about the same thing.

A memory that holds is superseded if a newer one says in words that something has changed (`text/corrections.py`), and
both have the same slot with another value, or one denies the other. It stays active and ceases to hold at that moment:
contexts leave it out, searches put it behind its successor. The event has the reason, and `undo` takes it back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from memotherm.model import Memory, Scope, Tier
from memotherm.model.actions import Action
from memotherm.model.memory import SUPERSEDED_BY
from memotherm.remember.authority import outranks
from memotherm.remember.changes import propose_decision
from memotherm.storage.store import Transaction
from memotherm.storage.values import Cause, Record
from memotherm.text.claims import hashed_slots
from memotherm.text.corrections import Correction, statements
from memotherm.text.versions import Difference
from memotherm.tiers.rules.properties import in_file, is_closed


class Superseded(NamedTuple):
    """A memory that a correction supersedes, and what both say."""

    record: Record
    difference: Difference


def superseded_by(
    transaction: Transaction, spaces: Sequence[int], memory: Memory, corrections: Sequence[Correction], cause: Cause
) -> list[Superseded]:
    """Return the memories of some spaces that the corrections in a new memory supersede; nothing is changed.

    A memory that says something else as well is not superseded. If several values may be meant, none is.
    """
    found: dict[int, Superseded] = {}
    for correction in corrections:
        strict, loose = list[Superseded](), list[Superseded]()
        claims = transaction.claims_about(spaces, hashed_slots(correction.statement))
        for no, sentence in dict.fromkeys((claim.no, claim.sentence) for claim in claims):
            record = transaction.numbered(no)
            if record is None or not _may_be_superseded(record.memory, memory, cause):
                continue
            stated = statements(record.memory.content)
            if sum(bool(each.slots) for each in stated) > 1:
                continue
            difference = stated[sentence].difference(correction.statement)
            if difference is not None:
                shared = stated[sentence].slots.keys() & correction.statement.slots.keys()
                (strict if shared else loose).append(Superseded(record, difference))
        if len({each.difference.values[0] for each in loose}) > 1:
            loose = []
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
    was, now = each.difference.values
    said = f"{each.difference.about}: {now or 'holds again'}" + (f" instead of {was}" if was else "")
    after = replace(
        old,
        valid_until=successor.created_at,
        tier=Tier.WARM if old.tier is Tier.HOT else old.tier,
        tier_rule="superseded" if old.tier is Tier.HOT else old.tier_rule,
        metadata={**old.metadata, SUPERSEDED_BY: successor.id},
    )
    because = replace(cause, action=Action.UPDATE, rule="superseded", why=f"{successor.id} says {said}")
    transaction.change(each.record, after, because)
