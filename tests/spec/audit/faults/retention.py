"""Faults of the document about tiers, retention and queries (M)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from memotherm import Retention, Tier
from memotherm.model.results import TierCount
from tests.spec.audit.faults.breaks import (
    MANY,
    NEVER,
    Fault,
    answering,
    calling,
    instead,
    returning,
    searching,
    settings,
    stored,
    without_rules,
)

_MOVE = "memotherm.remember.changes:Changes.move"
_RECALL = "memotherm.memory:Memotherm.recall"
_RETAIN = "memotherm.facade.view:View.retain"


def _any_word(original: Any) -> Any:
    """Take a word that names nothing for the first member."""
    return lambda cls, value: cls(str(value)) if str(value) in list(cls) else next(iter(cls))


def _filtered_afterwards(original: Any) -> Any:
    """Search every tier, and leave out hits of others than those that were asked for."""

    def recall(self: Any, query: str, limit: int, tiers: Any, filters: Any, **options: Any) -> Any:
        where = filters.get("where") or {}
        wanted = {Tier.of(tier) for tier in ([tiers] if isinstance(tiers, str) else tiers)}
        wanted &= {Tier.of(where["tier"])} if where.get("tier") in list(Tier) else set(Tier)
        every = {**filters, "where": {name: value for name, value in where.items() if name != "tier"} or None}
        found = original(self, query, limit, tuple(Tier), every, **options)
        return replace(found, hits=tuple(hit for hit in found.hits if hit.memory.tier in wanted))

    return recall


def _hidden_in_cold(memory: Any) -> Any:
    return replace(memory, retention=Retention.ARCHIVED) if memory.tier is Tier.COLD else memory


def _keeping(retention: Retention) -> Any:
    """Accept a change to a retention, and change nothing."""

    def changed(original: Any) -> Any:
        def retain(self: Any, ids: Any, wanted: Any, *more: Any, **options: Any) -> Any:
            if wanted is retention:
                return [self.record(each).memory for each in ids]
            return original(self, ids, wanted, *more, **options)

        return retain

    return changed


def _live_without_a_tier(original: Any) -> Any:
    """Search hot and warm unless a query names a tier."""

    def recall(self: Any, query: str, limit: int, tiers: Any, **options: Any) -> Any:
        return original(self, query, limit, tiers if options.get("where") else ("hot", "warm"), **options)

    return recall


def _of_every_scope(original: Any) -> Any:
    """Ignore the scope and the retention that are asked for."""
    return lambda self, *given, **options: original(
        self, *given, **{**options, "retention": "any", "include_narrower": True}
    )


FAULTS: Mapping[str, Fault] = {
    "M01": {
        "memotherm.model.memory:TierName": lambda names: str,
        "memotherm.model.memory:TierValue": lambda names: str,
        "memotherm.model.memory:_Axis.of": _any_word,
    },
    "M02": settings(default_tier="warm"),
    "M03": calling("memotherm.facade.queries:Queries._search", tags=None),
    "M04": instead("memotherm.facade.view:View.recall", _filtered_afterwards),
    "M05": settings(ttl_warm_days=0),
    "M06": calling("memotherm.remember.draft:first_tier", lifetime=lambda lifetime: lifetime or timedelta(hours=1)),
    "M07": answering("memotherm.remember.draft:memory_of", _hidden_in_cold),
    "M08": instead(_RETAIN, _keeping(Retention.ARCHIVED)),
    "M09": calling(_RECALL, limit=1),
    "M10": instead(_RECALL, _live_without_a_tier),
    "M11": calling(_RECALL, where=None),
    "M12": answering(
        "memotherm.recall.values:FusionWeights.of", lambda weights: replace(weights, penalties=weights.penalties * 0)
    ),
    "M13": without_rules("maintain.warm", "maintain.cool", "maintain.promote"),
    "M14": settings(promote_access_count=MANY),
    "M15": settings(cool_hot_days=NEVER),
    "M16": answering(_MOVE, lambda memory: replace(memory, id="mem_" + "0" * 26)),
    "M17": settings(retention="standard"),
    "M18": answering(_MOVE, lambda memory: replace(memory, scope=replace(memory.scope, user=None))),
    "M19": answering(
        "memotherm.facade.inspection:status",
        lambda status: replace(status, tiers={**status.tiers, Tier.COLD: TierCount()}),
    ),
    "M20": settings(default_tier="cold"),
    "M21": settings(retention="off"),
    "M22": stored(expires_at=None),
    "M23": calling("memotherm.facade.view:View.cause", why=""),
    "M24": returning("memotherm.storage.recall_log:count_uses", None),
    "M25": instead("memotherm.rest.routes:QueryRequest.filter", lambda original: lambda self, name: vars(self)[name]),
    "M26": instead(_RETAIN, _keeping(Retention.ACTIVE)),
    "M27": returning("memotherm.storage.tombstones:Tombstones.find", {}),
    "M28": settings(duplicate_window_hours=0),
    "M29": returning("memotherm.text.phrases:filler_reason", ""),
    "M30": instead(_RECALL, _of_every_scope),
    "M31": searching(sources=None),
}
