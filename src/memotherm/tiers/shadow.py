"""A policy in the shadow: it decides beside the one in force, and its moves go to a table of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from memotherm.model import Memory, Move, Scope
from memotherm.remember.changes import Changes
from memotherm.rules import Select, Situation
from memotherm.rules.deciding import ACTIVE_HOT, Selector, decide_all
from memotherm.rules.rule import RuleSet, RuleSource
from memotherm.settings import Settings
from memotherm.storage.store import Store
from memotherm.storage.values import Cause, Record, ShadowTier
from memotherm.tiers.clock_check import ClockChecks
from memotherm.tiers.engine import RuleEngine
from memotherm.tiers.in_force import rules_of
from memotherm.vectors.vectorizer import Progress, Vectorizer

if TYPE_CHECKING:
    from memotherm.policy.document import Policy

__all__ = ["ShadowedEngine"]

_PAGE = 5000
_ACTIVE = Select(expired=None)


class ShadowedEngine(RuleEngine):
    """Runs the rules in force, and records what a policy in the shadow would have done."""

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
        self._shadowed_store = store
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
        """Decide what the shadow would move, then decide and apply the moves of the rules in force."""
        store, policy = self._shadowed_store, self._shadow.digest
        real = {record.memory.id: record for record in _active(store, (*spaces, *beside), situation.now)}
        known = store.shadow_tiers((*spaces, *beside), policy)
        candidate = self._shadow.settings(self._settings)
        wanted = decide_all(
            RuleSet(rules_of(self._shadow)(), during, candidate),
            replace(situation, settings=candidate),
            _selector(real.values(), known, spaces, situation.now),
            own=lambda memory: scope is None or scope.may_change(memory.scope),
            beside=lambda: _selector(real.values(), known, beside, situation.now)(ACTIVE_HOT, None),
        )
        done = super()._run(during, rules, spaces, situation, cause, scope, beside, progress)
        moves = [decision.move for decision in wanted if decision.move.retention is None]
        tiers = {real[move.id].no: ShadowTier(real[move.id].no, move.to, move.rule, cause.at) for move in moves}
        for move in done:
            record = real.get(move.id)
            if move.retention is None and record is not None and record.no not in tiers:
                # The shadow leaves it where it was; the move has deleted what was known.
                tiers[record.no] = known.get(record.no) or _where_it_was(record)
        if tiers:
            with store.write() as transaction:
                transaction.put_shadow_tiers(policy, [tier for _, tier in sorted(tiers.items())])
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
    """Return what selects from active memories as a policy in the shadow would have them, in order of number."""
    memories = [_overlaid(record, tiers) for record in sorted(records, key=_number) if record.space in spaces]
    return lambda selects, _: (memory for memory in memories if selects.matches(memory, now))


def _number(record: Record) -> int:
    return record.no
