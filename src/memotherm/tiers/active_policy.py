"""The active rules and limits of a store: given to `open`, from the adopted policy, or built in.

A policy is adopted for a store, and can be rolled back with all its moves.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from logging import getLogger
from typing import TYPE_CHECKING

from memotherm.errors import LimitReached, NotFound, PolicyError
from memotherm.model import Event, Move, Retention, Tier
from memotherm.model.actions import Action
from memotherm.model.results import Adoption
from memotherm.model.value import Value
from memotherm.remember.changes import Changes
from memotherm.settings import Settings
from memotherm.storage.rows import apply_changes
from memotherm.storage.store import Store, Transaction
from memotherm.storage.values import Cause, Record
from memotherm.tiers.rules import Rule
from memotherm.tiers.rules.retention import RETENTION_RULES
from memotherm.tiers.rules.rule import RuleSource

if TYPE_CHECKING:
    # Loaded with the first policy: most stores have none.
    from memotherm.tiers.policy import Policy


_log = getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class ActiveRules:
    """The rules and settings that apply from one adoption to the next."""

    #: The number of the adoption; 0 without one.
    adoption: int
    rules: RuleSource = field(compare=False)
    settings: Settings
    #: The adopted policy; None for the built-in rules and those of plugins.
    policy: Policy | None = None
    #: Why an adopted policy cannot be used.
    problem: str = ""


class ActivePolicy:
    """Which rules and settings apply to a store now."""

    def __init__(self, store: Store, rules: RuleSource | None, settings: Settings) -> None:
        self._store = store
        #: The rules that were given to `open`, which take precedence over an adopted policy.
        self.given = rules
        self._settings = settings
        self._lock = threading.Lock()
        #: The rules and settings of the policy that was read last.
        self.last = ActiveRules(adoption=-1, rules=rules or _installed_rules, settings=settings)

    def rules(self) -> ActiveRules:
        """Return the active rules as of the last read of the store; cheap enough for every call."""
        if self.last.adoption != self._store.adopted:
            self.refresh()
        return self.last

    def refresh(self) -> ActiveRules:
        """Read the active policy from the store."""
        with self._lock:
            adoptions = self._store.adoptions()
            number = adoptions[-1].number if adoptions else 0
            if self.last.adoption == number:
                return self.last
            active = self._read(number, adoptions)
            # A greater number is that of a unit of work that may still be rolled back.
            if number <= self._store.adopted:
                self.last = active
            return active

    def _read(self, adoption: int, adoptions: Sequence[Adoption]) -> ActiveRules:
        rules, settings, problem = self.given or _installed_rules, self._settings, ""
        policy = None
        try:
            policy = _last_policy(adoptions)
        except PolicyError as exc:
            _log.warning("the adopted policy cannot be read, and the built-in rules are used: %s", exc)
            problem = f"the adopted policy cannot be read: {exc}"
        if policy is not None and self.given is None:
            rules, settings = rules_of(policy), policy.settings(settings)
        return ActiveRules(adoption=adoption, rules=rules, settings=settings, policy=policy, problem=problem)

    def current(self) -> Policy:
        """Return the adopted policy, or the built-in one."""
        from memotherm.tiers.policy import load

        return self.refresh().policy or load("builtin")

    def notice(self) -> str | None:
        """Return why an adopted policy is not used; None if it is."""
        policy = self.rules().policy
        if policy is None or self.given is None:
            return self.rules().problem or None
        return f"the adopted policy {policy.name} ({policy.digest}) is not used: rules were given to open()"


def _last_policy(adoptions: Sequence[Adoption]) -> Policy | None:
    """Return the policy of the last adoption; None for the built-in one."""
    if not adoptions or not adoptions[-1].document:
        return None
    from memotherm.tiers.policy import unpacked

    return unpacked(adoptions[-1].document)


def _installed_rules() -> Sequence[Rule]:
    # Loaded when rules first run, because hooks start faster without them.
    from memotherm.tiers.rules.defaults import installed_rules

    return installed_rules()


def rules_of(policy: Policy) -> RuleSource:
    """Return the retention rules, the rules of a policy marked with its hash, and the rules of plugins."""
    from memotherm.tiers.rules.defaults import DEFAULT_RULES

    own = tuple(replace(rule, policy=policy.digest) for rule in policy.tier_rules)
    known = {rule.id for rule in (*DEFAULT_RULES, *own)}

    @cache
    def rules() -> Sequence[Rule]:
        # Plugins are looked up when rules first run.
        plugins = tuple(rule for rule in _installed_rules() if rule.id not in known)
        return (*RETENTION_RULES, *own, *plugins)

    return rules


# Adoptions


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
    if not store.adopted or (oldest_first and past is not None and past >= store.adopted):
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
