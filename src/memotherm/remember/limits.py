"""The gate every stored or changed memory passes, inside its transaction.

Two limits hold here and nowhere else, so that no way of writing can miss them: how many
memories of a scope hold a priority, and how many tokens a session keeps hot.
"""

from __future__ import annotations

from dataclasses import replace

from memotherm.errors import LimitReached
from memotherm.model import Memory, Move, Priority, Tier
from memotherm.rules.promotion import spill
from memotherm.settings import Settings
from memotherm.storage.contract import Transaction
from memotherm.storage.values import Cause, Record

__all__ = ["admit", "make_room_in_hot", "spilled"]


def admit(
    transaction: Transaction, space: int, after: Memory, settings: Settings, cause: Cause, before: Record | None = None
) -> None:
    """Make room for a memory about to be stored, or refuse it with the limit that it would break."""
    if not after.visible_at(cause.at):
        return
    _admit_priority(transaction, space, after, settings, cause, before)
    if after.tier is Tier.HOT and after.scope.session is not None:
        _admit_hot(transaction, space, after, settings, cause, before)


def make_room_in_hot(
    transaction: Transaction,
    space: int,
    needed: int,
    settings: Settings,
    cause: Cause,
    keep: frozenset[str] = frozenset(),
) -> tuple[bool, list[Move]]:
    """Spill hot memories of a session until `needed` tokens fit; tell whether they do, and what moved.

    Nothing moves when it would not help: pinned memories and those to keep are never spilled.
    """
    free = settings.hot_token_limit - transaction.hot_tokens(space, cause.at)
    if free < needed and not settings.auto_spill:
        return False, []
    chosen: list[Record] = []
    for record in _spillable(transaction, space, cause, keep) if free < needed else ():
        chosen.append(record)
        free += record.memory.tokens
        if free >= needed:
            break
    if free < needed:
        return False, []
    if chosen:
        transaction.tally(space, "spill", len(chosen))
    return True, [spilled(transaction, record, settings, cause, "made room in hot") for record in chosen]


def spilled(transaction: Transaction, record: Record, settings: Settings, cause: Cause, why: str) -> Move:
    """Carry out the spill of one memory."""
    move = spill(record.memory, settings, why)
    after = replace(record.memory, tier=move.to, tier_rule=move.rule)
    transaction.change(record, after, replace(cause, action="move", rule=move.rule, why=why))
    return move


def _spillable(transaction: Transaction, space: int, cause: Cause, keep: frozenset[str]) -> list[Record]:
    everything = transaction.spillable(space, cause.at, -1)
    return [record for record in everything if record.memory.id not in keep]


def _admit_hot(
    transaction: Transaction, space: int, after: Memory, settings: Settings, cause: Cause, before: Record | None
) -> None:
    limit = settings.hot_token_limit
    if after.tokens > limit:
        raise LimitReached(
            f"{after.tokens} tokens cannot be hot in a session whose limit is {limit}: "
            "store it warm, or raise the setting hot_token_limit"
        )
    counted = before.memory.tokens if before is not None and _is_hot_there(before, space, cause) else 0
    fits, _ = make_room_in_hot(transaction, space, after.tokens - counted, settings, cause, keep=frozenset({after.id}))
    if not fits:
        raise LimitReached(
            f"hot is full: {after.tokens} tokens do not fit into the {limit} of this session "
            "beside what may not be spilled: spill, unpin, or raise the setting hot_token_limit"
        )


def _is_hot_there(before: Record, space: int, cause: Cause) -> bool:
    memory = before.memory
    return before.space == space and memory.tier is Tier.HOT and memory.visible_at(cause.at)


def _admit_priority(
    transaction: Transaction, space: int, after: Memory, settings: Settings, cause: Cause, before: Record | None
) -> None:
    limit = {Priority.PINNED: settings.max_pinned, Priority.CRITICAL: settings.max_critical}.get(after.priority)
    if limit is None or (before is not None and _holds(before, space, after.priority, cause)):
        return
    while transaction.count_priority(space, after.priority, cause.at) >= limit:
        oldest = transaction.oldest_of_priority(space, after.priority, cause.at)
        if settings.on_tier_limit == "reject" or oldest is None:
            raise LimitReached(
                f"{limit} memories of this scope are {after.priority} already, and max_{after.priority} is {limit}: "
                "lower another one first, or set on_tier_limit = 'demote_oldest'"
            )
        why = f"made room for another {after.priority} memory"
        demotion = replace(cause, action="prioritize", rule="limit.demote_oldest", why=why)
        transaction.change(oldest, replace(oldest.memory, priority=Priority.NORMAL), demotion)


def _holds(before: Record, space: int, priority: Priority, cause: Cause) -> bool:
    """Tell whether the memory is counted already, so that changing it takes no new place."""
    return before.memory.visible_at(cause.at) and before.space == space and before.memory.priority is priority
