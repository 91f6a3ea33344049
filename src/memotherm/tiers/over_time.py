"""How many memories each tier had at earlier moments, from how many it has now and the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from memotherm.model import Retention, Tier
from memotherm.model.reports import TierPoint
from memotherm.model.results import TierCount
from memotherm.storage.values import TierChange

__all__ = ["tier_history"]


def tier_history(
    now: Mapping[Tier, TierCount], changes: Iterable[TierChange], moments: Sequence[datetime]
) -> list[TierPoint]:
    """Return how many active memories each tier had at some moments, in ascending order.

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
        for place, amount in ((after, -1), (before, 1)):
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
