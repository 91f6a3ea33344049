"""Adopt a policy for a store, or roll it back with all its moves."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from memotherm.errors import LimitReached, NotFound
from memotherm.model import Event, Move, Retention, Tier
from memotherm.model.actions import Action
from memotherm.model.results import Adoption
from memotherm.model.value import Value
from memotherm.remember.changes import Changes
from memotherm.storage.rows import apply_changes
from memotherm.storage.store import Store, Transaction
from memotherm.storage.values import Cause, Record

#: The reasons of the events by action.
_WHY: Mapping[str, str] = {
    Action.ADOPT: "put the policy {name} in force",
    Action.ROLLBACK: "took back a policy, and put {name} in force",
}


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Skipped(Value):
    """A memory that a rollback has skipped."""

    id: str
    why: str

    def __str__(self) -> str:
        return f"{self.id}: {self.why}"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Rollback(Value):
    """The result of a rollback."""

    #: The policy that was rolled back.
    name: str
    hash: str
    #: The policy that is active now.
    adoption: Adoption
    #: The moves that restore the former tiers.
    moves: tuple[Move, ...] = field(default=())
    #: Memories that were moved since, and skipped.
    skipped: tuple[Skipped, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}: {len(self.moves)} moves taken back, {len(self.skipped)} left, now {self.adoption.name}"


def adoption_events(store: Store, past: int | None, *, oldest_first: bool) -> list[Event]:
    """Return adoptions after or before an event as events of the ledger, which concern no memory; in any order."""
    if oldest_first and past is not None and past >= store.adopted:
        return []
    events: list[Event] = []
    before = "builtin"
    for row in store.adoptions():
        if past is None or (row.number > past if oldest_first else row.number < past):
            event = Event(
                seq=row.number,
                at=row.at,
                memory_id="",
                action=row.action,
                actor=row.actor,
                rule="explicit",
                why=_WHY[row.action].format(name=row.name),
                changes={"policy": (before, row.name)},
                policy=row.hash,
            )
            events.append(event)
        before = row.name
    return events


def record_adoption(store: Store, adoption: Adoption) -> Adoption:
    """Record an adoption, and return it with its number."""
    return replace(adoption, number=store.transact(lambda transaction: transaction.adopt(adoption)))


def adopted_policies(store: Store) -> list[Adoption]:
    """Return the adopted policies that were not rolled back, the active one last."""
    line: list[Adoption] = []
    for adoption in store.adoptions():
        if adoption.action == Action.ADOPT:
            line.append(adoption)
        elif adoption.action == Action.ROLLBACK and line:
            line.pop()
    if not line:
        raise NotFound("no adopted policy is in force: there is nothing to roll back")
    return line


def restored_moves(store: Store, changes: Changes, policy: Adoption, cause: Cause) -> tuple[list[Move], list[Skipped]]:
    """Undo all moves of a policy in one transaction, except for memories that were moved since."""
    cause = replace(
        cause, action=Action.UNDO, rule=f"rollback:{policy.hash}", why=f"took back the policy {policy.name}"
    )
    tenant = store.tenant

    def take_back(transaction: Transaction) -> list[Move | Skipped | None]:
        # Read one by one, because taking back one move can spill another memory.
        records = map(transaction.get, transaction.moved_by(policy.hash))
        # A tenant's part of a store also shows what belongs to no tenant, which is a part of its own.
        own = (record for record in records if record and tenant in (None, record.memory.scope.tenant or ""))
        return [_taken_back(transaction, changes, record, policy.hash, cause) for record in own]

    outcomes = store.transact(take_back)
    moves = [outcome for outcome in outcomes if isinstance(outcome, Move)]
    return moves, [outcome for outcome in outcomes if isinstance(outcome, Skipped)]


def _taken_back(
    transaction: Transaction, changes: Changes, record: Record, policy: str, cause: Cause
) -> Move | Skipped | None:
    """Undo the moves of one memory; return the move, why it was skipped, or None if already undone."""
    memory = record.memory
    history = [event for event in transaction.events(record) if "tier" in event.changes]
    # The latest uninterrupted moves of the policy.
    run = list(itertools.takewhile(lambda event: event.policy == policy, reversed(history)))
    if not run:
        last = history[-1]
        if last.rule == cause.rule:
            return None
        return Skipped(id=memory.id, why=f"moved since by {last.actor} to {last.changes['tier'][1]} [{last.rule}]")
    if memory.retention is not Retention.ACTIVE or not memory.visible_at(cause.at):
        return Skipped(id=memory.id, why=f"it is {memory.retention} or has expired")
    before = {name: was for name, (was, _) in run[-1].changes.items() if name in ("tier", "tier_rule")}
    if Tier.of(before["tier"]) is memory.tier:
        return None
    after = apply_changes(memory, before)
    try:
        changes.apply(transaction, record, after, cause)
    except LimitReached as exc:
        return Skipped(id=memory.id, why=str(exc))
    return Move(id=memory.id, from_tier=memory.tier, to=after.tier, rule=cause.rule, why=cause.why)
