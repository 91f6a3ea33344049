"""Shadow policies: decide like the active policy, but record the moves in a separate table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from memotherm.model import Memory, Move, Scope
from memotherm.remember.changes import Changes
from memotherm.settings import Settings
from memotherm.storage.store import Store
from memotherm.storage.values import Cause, Record, ShadowTier
from memotherm.tiers.active_policy import rules_of
from memotherm.tiers.engine import ClockChecks, RuleEngine
from memotherm.tiers.rules import Select, Situation
from memotherm.tiers.rules.rule import ACTIVE_HOT, RuleSet, RuleSource, Selector, decide_all
from memotherm.vectors.vectorizer import Progress, Vectorizer

if TYPE_CHECKING:
    from memotherm.tiers.policy import Policy

__all__ = ["ShadowedEngine"]

_PAGE = 5000
_ACTIVE = Select(expired=None)


class ShadowedEngine(RuleEngine):
    """Runs the active rules, and records the moves that a shadow policy would make."""

    def __init__(
        self,
        store: Store,
        changes: Changes,
        vectorizer: Vectorizer,
        rules: RuleSource,
        settings: Settings,
        clock_checks: ClockChecks,
        shadow: Policy,
    ) -> None:
        super().__init__(store, changes, vectorizer, rules, settings, clock_checks)
        self._shadow = shadow

    def _run(
        self,
        during: str,
        rules: RuleSet,
        spaces: tuple[int, ...],
        situation: Situation,
        cause: Cause,
        scope: Scope | None = None,
        beside: tuple[int, ...] = (),
        progress: Progress | None = None,
    ) -> list[Move]:
        """Record the moves of the shadow policy, then decide and apply those of the active rules."""
        store, policy = self._store, self._shadow.digest
        real = {record.memory.id: record for record in _active(store, (*spaces, *beside), situation.now)}
        known = store.shadow_tiers((*spaces, *beside), policy)
        candidate = self._shadow.settings(self._settings)
        wanted = decide_all(
            RuleSet(rules_of(self._shadow)(), during, candidate),
            replace(situation, settings=candidate),
            _selector(real.values(), known, spaces, situation.now),
            own=lambda memory: scope is None or scope.may_change(memory.scope),
            beside=_selector(real.values(), known, beside, situation.now)(ACTIVE_HOT),
        )
        done = super()._run(during, rules, spaces, situation, cause, scope, beside, progress)
        moves = [decision.move for decision in wanted if decision.move.retention is None]
        tiers = {real[move.id].no: ShadowTier(real[move.id].no, move.to, move.rule, cause.at) for move in moves}
        for move in done:
            record = real.get(move.id)
            if move.retention is None and record is not None and record.no not in tiers:
                # The shadow would not have moved it; restore the shadow tier, which the move has deleted.
                tiers[record.no] = known.get(record.no) or _where_it_was(record)
        if tiers:
            ordered = [tier for _, tier in sorted(tiers.items())]
            store.transact(lambda transaction: transaction.put_shadow_tiers(policy, ordered))
        return done


def _active(store: Store, spaces: tuple[int, ...], now: datetime) -> Iterator[Record]:
    after = 0
    while page := store.select(spaces, _ACTIVE, now, after, _PAGE):
        yield from page
        after = page[-1].no


def _where_it_was(record: Record) -> ShadowTier:
    memory = record.memory
    return ShadowTier(record.no, memory.tier, memory.tier_rule, memory.tier_since)


def _overlaid(record: Record, tiers: Mapping[int, ShadowTier]) -> Memory:
    tier = tiers.get(record.no)
    if tier is None:
        return record.memory
    return replace(record.memory, tier=tier.tier, tier_rule=tier.rule, tier_since=tier.since)


def _selector(
    records: Iterable[Record], tiers: Mapping[int, ShadowTier], spaces: Sequence[int], now: datetime
) -> Selector:
    """Return a selector over active memories with their shadow tiers, in order of number."""
    memories = [_overlaid(record, tiers) for record in sorted(records, key=_number) if record.space in spaces]
    return lambda selects: (memory for memory in memories if selects.matches(memory, now))


def _number(record: Record) -> int:
    return record.no
