"""Tier counts over time, and the metrics of recalls and moves."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from memotherm.model import Retention, Tier
from memotherm.model.reports import Durations, Metrics, TierPoint
from memotherm.model.results import TierCount
from memotherm.storage.recall_log import BUCKETS_MS, recall_buckets
from memotherm.storage.store import Store
from memotherm.storage.values import Tally, TierChange


def tier_history(
    now: Mapping[Tier, TierCount], changes: Iterable[TierChange], moments: Sequence[datetime]
) -> list[TierPoint]:
    """Return how many active memories each tier had at the given moments, oldest first.

    Args:
        now: How many it has now.
        changes: The events since the first moment, newest first.
        moments: The moments, newest first.
    """
    counts = {tier: now[tier].memories for tier in Tier}
    #: Memory number -> its tier and retention before the events that were looked at; None before it was stored.
    places: dict[int, tuple[Tier, Retention] | None] = {}
    points: list[TierPoint] = []
    remaining = list(moments)
    for change in changes:
        while remaining and change.at <= remaining[0]:
            points.append(_point(remaining.pop(0), counts))
        after = places.get(change.no, (change.tier, change.retention))
        before = places[change.no] = _before(change, after)
        for place, amount in ((after, -change.memories), (before, change.memories)):
            if place is not None and place[1] is Retention.ACTIVE:
                counts[place[0]] += amount
    points += [_point(moment, counts) for moment in remaining]
    return points[::-1]


def _before(change: TierChange, after: tuple[Tier, Retention] | None) -> tuple[Tier, Retention] | None:
    """Return the tier and retention of a memory before an event; None if the event has stored it."""
    if after is None:
        return None
    tier, retention = change.changes.get("tier"), change.changes.get("retention")
    if tier is not None and tier[0] is None:
        return None
    return (
        after[0] if tier is None else Tier.of(tier[0]),
        after[1] if retention is None else Retention.of(retention[0]),
    )


def _point(moment: datetime, counts: Mapping[Tier, int]) -> TierPoint:
    """Return the counts at a moment; events without a stored past cannot make them negative."""
    hot, warm, cold = (max(0, counts[tier]) for tier in (Tier.HOT, Tier.WARM, Tier.COLD))
    return TierPoint(at=moment, hot=hot, warm=warm, cold=cold)


_RECENT = 1000
_MOVE = "move:"


def metrics(store: Store, spaces: Sequence[int], hot_utilization: float) -> Metrics:
    """Return the metrics of the spaces."""
    tallies = store.tallies(spaces)
    recalls = tallies.get("recall", Tally()).times
    moves = {name.removeprefix(_MOVE): tally.times for name, tally in tallies.items() if name.startswith(_MOVE)}
    micros = sorted(store.recall_micros(spaces, _RECENT))
    live, cold = (_durations(recall_buckets(tallies, cold=searched_cold)) for searched_cold in (False, True))
    return Metrics(
        hot_utilization=hot_utilization,
        spill_count=tallies.get("spill", Tally()).times,
        recall_count=recalls,
        promotion_count=tallies.get("promotion", Tally()).times,
        recall_latency_ms=_quantile(micros, 0.5) / 1000,
        recall_latency_p95_ms=_quantile(micros, 0.95) / 1000,
        cold_recall_latency_ms=cold.total_ms / cold.count if cold.count else 0.0,
        hit_rate=tallies.get("recall.hit", Tally()).times / recalls if recalls else 0.0,
        moves=moves,
        dropped_log_entries=store.dropped_log_entries,
        live_recalls=live,
        cold_recalls=cold,
    )


def _durations(buckets: Sequence[Tally]) -> Durations:
    counts = itertools.accumulate(bucket.times for bucket in buckets)
    bounds = (*map(float, BUCKETS_MS), float("inf"))
    total = sum(bucket.amount for bucket in buckets) / 1000
    return Durations(buckets=tuple(zip(bounds, counts, strict=True)), total_ms=total)


def _quantile(ordered: Sequence[int], share: float) -> float:
    return float(ordered[min(len(ordered) - 1, int(share * len(ordered)))]) if ordered else 0.0
