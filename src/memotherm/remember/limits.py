"""The limits that every stored or changed memory passes, inside its transaction.

Two limits hold here and nowhere else, so that no way of writing can bypass them: how many of the
memories that a scope sees hold a priority, and how many tokens a session keeps hot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from logging import getLogger

from memotherm.errors import LimitReached
from memotherm.model import Memory, Move, Priority, Scope, Tier
from memotherm.model.actions import Action
from memotherm.model.memory import placed_in
from memotherm.settings import Settings
from memotherm.storage.store import Transaction
from memotherm.storage.values import Cause, Record
from memotherm.tiers.rules import Select, Situation
from memotherm.tiers.rules.rule import RuleSet, RuleSource

_log = getLogger(__name__)


class Limits:
    """The limits of a store, and the spill rules that make room under them."""

    def __init__(self, settings: Settings, rules: RuleSource) -> None:
        self._settings = settings
        self._rules = rules

    def admit(
        self, transaction: Transaction, space: int, after: Memory, cause: Cause, before: Record | None = None
    ) -> None:
        """Make room for a memory about to be stored, or raise `LimitReached` if it would break a limit."""
        if not after.visible_at(cause.at):
            return
        was = before.memory if before is not None and before.memory.visible_at(cause.at) else None
        if was is None or was.priority is not after.priority or not after.scope.sees(was.scope):
            self._admit_priority(transaction, space, after, cause)
        if after.tier is Tier.HOT and after.scope.session is not None:
            here = before is not None and before.space == space
            freed = was.tokens if was is not None and here and was.tier is Tier.HOT else 0
            self._admit_hot(transaction, space, after, after.tokens - freed, cause)

    def make_room(
        self,
        transaction: Transaction,
        space: int,
        needed: int,
        cause: Cause,
        keep: frozenset[str] = frozenset(),
    ) -> bool:
        """Spill hot memories of a session until `needed` tokens fit; return whether they do.

        Nothing moves when it would not help: pinned memories and those to keep are never spilled.
        """
        free = self._settings.hot_token_limit - transaction.hot_tokens(space, cause.at)
        if free >= needed:
            return True
        if not self._settings.auto_spill:
            return False
        chosen: list[tuple[Record, Move]] = []
        for record, move in self.spills(transaction, space, cause, "made room in hot"):
            if record.memory.id in keep:
                continue
            chosen.append((record, move))
            free += record.memory.tokens
            if free >= needed:
                self.spill(transaction, space, chosen, cause)
                return True
        return False

    def spills(self, transaction: Transaction, space: int, cause: Cause, reason: str) -> Iterator[tuple[Record, Move]]:
        """Yield the hot memories of a session that the spill rules would move out, in the order of the rules."""
        situation = Situation(now=cause.at, settings=self._settings, reason=reason)
        rules, hot = RuleSet(self._rules(), "spill"), dict[str, Record]()

        def selected(selects: Select, situation: Situation) -> Iterator[Memory]:
            for record in transaction.select((space,), replace(selects, tiers=(Tier.HOT,)), situation):
                hot[record.memory.id] = record
                yield record.memory

        for memory, move in rules.decisions(selected, situation):
            if move.to is not Tier.HOT:
                yield hot[memory.id], move
        for line in rules.degraded():
            _log.warning("%s", line)

    def is_spill_rule(self, rule_id: str) -> bool:
        """Return whether a rule moves memories out of a full session."""
        return any(rule.id == rule_id for rule in self._rules() if rule.selects.during == "spill")

    def spill(
        self, transaction: Transaction, space: int, spills: Sequence[tuple[Record, Move]], cause: Cause
    ) -> list[Move]:
        """Move memories out of hot and count them as spilled."""
        for record, move in spills:
            after = replace(record.memory, tier=move.to, tier_rule=move.rule)
            transaction.change(record, after, cause.for_move(move))
        if spills:
            transaction.tally(space, "spill", len(spills))
        return [move for _, move in spills]

    def _admit_hot(self, transaction: Transaction, space: int, after: Memory, needed: int, cause: Cause) -> None:
        limit = self._settings.hot_token_limit
        if after.tokens > limit:
            raise LimitReached(
                f"{after.tokens} tokens cannot be hot in a session whose limit is {limit}: "
                "store it warm, or raise the setting hot_token_limit"
            )
        if not self.make_room(transaction, space, needed, cause, keep=frozenset({after.id})):
            raise LimitReached(
                f"hot is full: {after.tokens} tokens do not fit into the {limit} of this session "
                "beside what may not be spilled: spill, unpin, or raise the setting hot_token_limit"
            )

    def _admit_priority(self, transaction: Transaction, space: int, after: Memory, cause: Cause) -> None:
        """Admit a priority; only memories of the same scope give way, since narrower scopes do not decide for wider."""
        priority, limit = after.priority, _most(after.priority, self._settings)
        demotes = self._settings.on_tier_limit == "demote_oldest"
        while is_full(transaction, after.scope, priority, cause.at, self._settings):
            oldest = transaction.oldest_of_priority(space, priority, cause.at) if demotes else None
            if oldest is None:
                hint = "none of them belongs to this scope" if demotes else "or set on_tier_limit = 'demote_oldest'"
                raise LimitReached(
                    f"{limit} memories that this scope sees are {priority} already, and max_{priority} is "
                    f"{limit}: lower another one first, {hint}"
                )
            why = f"made room for another {priority} memory"
            demotion = replace(cause, action=Action.PRIORITIZE, rule="limit.demote_oldest", why=why)
            transaction.change(oldest, prioritized(oldest.memory, Priority.NORMAL), demotion)


def prioritized(memory: Memory, priority: Priority) -> Memory:
    """Return a memory with another priority; a `tier` in its metadata that names the old one names the new one."""
    metadata = memory.metadata
    if placed_in(metadata)[1] is not None:
        named = priority.rank if isinstance(metadata["tier"], int) else str(priority)
        metadata = {**metadata, "tier": named}
    return replace(memory, priority=priority, metadata=metadata)


def is_full(transaction: Transaction, scope: Scope, priority: Priority, now: datetime, settings: Settings) -> bool:
    """Return whether a scope sees as many memories of a priority as it may."""
    most = _most(priority, settings)
    return most is not None and transaction.count_priority(scope, priority, now) >= most


def _most(priority: Priority, settings: Settings) -> int | None:
    return {Priority.PINNED: settings.max_pinned, Priority.CRITICAL: settings.max_critical}.get(priority)


def duplicate_of(
    transaction: Transaction, space: int, memory: Memory, at: datetime, settings: Settings
) -> Record | None:
    """Return the visible memory of a space with the same content and kind; None for keyed memories."""
    if memory.key is not None or not settings.duplicate_window_hours:
        return None
    since = at - timedelta(hours=settings.duplicate_window_hours)
    return transaction.duplicate(space, memory.digest, memory.kind, at, since)
