"""Shadow policies: the moves that another policy would make are recorded, and nothing moves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from memotherm.model import Memory, Move
from memotherm.storage.store import Store
from memotherm.storage.values import Record, ShadowTier
from memotherm.tiers.active_policy import rules_of
from memotherm.tiers.rules import Situation
from memotherm.tiers.rules.rule import ACTIVE_HOT, RuleSet, decide_all

if TYPE_CHECKING:
    from memotherm.tiers.policy import Policy


class ShadowRun:
    """What a shadow policy decides in one run of the rules."""

    def __init__(
        self,
        store: Store,
        policy: Policy,
        during: str,
        situation: Situation,
        records: Iterable[Record],
        spaces: Sequence[int],
        own: Callable[[Memory], bool],
    ) -> None:
        """Decide about active memories, given in order of number; those outside of `spaces` stay."""
        self._store = store
        self._policy = policy.digest
        self._records = {record.memory.id: record for record in records}
        self._known = store.shadow_tiers(tuple({record.space for record in self._records.values()}), self._policy)
        inside: list[Memory] = []
        beside: list[Memory] = []
        for record in self._records.values():
            (inside if record.space in spaces else beside).append(self._in_shadow(record))
        now, settings = situation.now, policy.settings(situation.settings)
        self._decisions = decide_all(
            RuleSet(rules_of(policy)(), during, settings),
            replace(situation, settings=settings),
            lambda selects: (memory for memory in inside if selects.matches(memory, now)),
            own=own,
            beside=[memory for memory in beside if ACTIVE_HOT.matches(memory, now)],
        )

    def _in_shadow(self, record: Record) -> Memory:
        tier = self._known.get(record.no)
        if tier is None:
            return record.memory
        return replace(record.memory, tier=tier.tier, tier_rule=tier.rule, tier_since=tier.since)

    def record(self, made: Iterable[Move], at: datetime) -> None:
        """Store the tiers that memories have under the shadow policy after a run that made some moves."""
        tiers: dict[int, ShadowTier] = {}
        for _, move in self._decisions:
            if move.retention is None:
                no = self._records[move.id].no
                tiers[no] = ShadowTier(no, move.to, move.rule, at)
        for move in made:
            record = self._records.get(move.id)
            if move.retention is None and record is not None and record.no not in tiers:
                # The shadow would not have moved it; restore the shadow tier, which the move has deleted.
                no, memory = record.no, record.memory
                tiers[no] = self._known.get(no) or ShadowTier(no, memory.tier, memory.tier_rule, memory.tier_since)
        if tiers:
            ordered = [tier for _, tier in sorted(tiers.items())]
            self._store.transact(lambda transaction: transaction.put_shadow_tiers(self._policy, ordered))
