"""A policy in the shadow: it decides beside the one in force, and its moves go to a table of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import cast

from memotherm.model import Move, Retention, Scope
from memotherm.policy.document import Policy
from memotherm.remember.changes import Changes
from memotherm.rules import Select, Situation
from memotherm.rules.rule import RuleSet, RuleSource
from memotherm.settings import Settings
from memotherm.storage.contract import Store
from memotherm.storage.values import Cause, Record, ShadowTier
from memotherm.tiers.engine import RuleEngine, RuleStore
from memotherm.tiers.in_force import rules_of
from memotherm.vectors.vectorizer import Progress, Vectorizer

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
        shadow: Policy,
    ) -> None:
        super().__init__(store, changes, vectorizer, rules, settings)
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
        known = _still_held(store.shadow_tiers((*spaces, *beside), policy), real.values(), self._own_runs())
        overlay = _Overlay(store, [_overlaid(record, known) for record in real.values()])
        rules_in_shadow = rules_of(self._shadow)
        settings = self._shadow.settings(self._settings)
        candidate = RuleEngine(cast("RuleStore", overlay), self._changes, self._vectorizer, rules_in_shadow, settings)
        wanted = candidate.decided_moves(during, spaces, situation, scope, beside)
        done = super()._run(during, rules, spaces, situation, cause, scope, beside, progress)
        tiers = {real[move.id].no: ShadowTier(real[move.id].no, move.to, move.rule, cause.at) for move in wanted}
        for move in done:
            record = real.get(move.id)
            if move.retention is None and record is not None and record.no not in {*tiers, *known}:
                # The shadow leaves it where it was.
                memory = record.memory
                tiers[record.no] = ShadowTier(record.no, memory.tier, memory.tier_rule, memory.tier_since)
        if tiers:
            with store.write() as transaction:
                transaction.put_shadow_tiers(policy, [tier for _, tier in sorted(tiers.items())])
        return done

    def _own_runs(self) -> set[str]:
        """Return the rules in force whose moves the shadow decides anew; other moves are its own too."""
        return {rule.id for rule in self._rules() if rule.selects.during in ("compact", "maintain")}


def _active(store: Store, spaces: tuple[int, ...], now: datetime) -> Iterator[Record]:
    after = 0
    while page := store.select(spaces, _ACTIVE, now, after, _PAGE):
        yield from page
        after = page[-1].no


def _still_held(tiers: Mapping[int, ShadowTier], records: Iterable[Record], decided: set[str]) -> dict[int, ShadowTier]:
    """Return the tiers of the shadow without those of memories that a caller or a recall has moved since."""
    held = dict(tiers)
    for record in records:
        tier = held.get(record.no)
        if tier is not None and record.memory.tier_since > tier.since and record.memory.tier_rule not in decided:
            del held[record.no]
    return held


def _overlaid(record: Record, tiers: Mapping[int, ShadowTier]) -> Record:
    tier = tiers.get(record.no)
    if tier is None:
        return record
    return replace(record, memory=replace(record.memory, tier=tier.tier, tier_rule=tier.rule, tier_since=tier.since))


class _Overlay:
    """The memories of a store as a policy in the shadow would have them."""

    def __init__(self, store: Store, records: list[Record]) -> None:
        self._store = store
        self._records = sorted(records, key=lambda record: record.no)

    def select(self, spaces: Sequence[int], selects: Select, now: datetime, after: int, limit: int) -> list[Record]:
        """Return the memories that a rule looks at, in order of number, a page at a time."""
        if selects.retentions != (Retention.ACTIVE,):
            return self._store.select(spaces, selects, now, after, limit)
        found = (
            record
            for record in self._records
            if record.no > after and record.space in spaces and selects.matches(record.memory, now)
        )
        return [record for record, _ in zip(found, range(limit), strict=False)]
