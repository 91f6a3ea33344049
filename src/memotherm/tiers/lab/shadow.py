"""Shadow policies: the moves that another policy would make are recorded, and nothing moves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from memotherm.model import Memory, Move
from memotherm.storage.store import Store
from memotherm.storage.values import ShadowTier
from memotherm.tiers.active_policy import rules_of
from memotherm.tiers.rules import Select, Situation
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
        spaces: Sequence[int],
        beside: Sequence[int],
        own: Callable[[Memory], bool],
    ) -> None:
        """Decide about the memories of some spaces; what is hot `beside` them stays and counts."""
        self._store = store
        self._policy = policy.digest
        active, everywhere = Select(expired=None), (*spaces, *beside)
        self._records = {record.memory.id: record for record in store.select(everywhere, active, situation)}
        self._known = store.shadow_tiers(everywhere, self._policy)
        situation = replace(situation, settings=policy.settings(situation.settings))
        selected, others = (store.selector(among, shadow=self._policy) for among in (spaces, beside))
        self._decisions = decide_all(
            RuleSet(rules_of(policy)(), during), situation, selected, own=own, beside=others(ACTIVE_HOT, situation)
        )

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
