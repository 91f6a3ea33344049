"""How the tiers work out, from what the store has counted."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from memotherm.model.reports import Durations, Metrics
from memotherm.storage.recall_log import BUCKETS_MS, SHADOW_MISSED, recall_buckets
from memotherm.storage.store import Store
from memotherm.storage.values import Tally

__all__ = ["metrics"]

_RECENT = 1000
_MOVE = "move:"


def metrics(store: Store, spaces: Sequence[int], hot_tokens: int, hot_limit: int) -> Metrics:
    """Return the metrics of some spaces."""
    tallies = store.tallies(spaces)
    recalls = tallies.get("recall", Tally()).times
    moves = {name.removeprefix(_MOVE): tally.times for name, tally in tallies.items() if name.startswith(_MOVE)}
    micros = sorted(store.recall_micros(spaces, _RECENT))
    live, cold = (_durations(recall_buckets(tallies, cold=searched_cold)) for searched_cold in (False, True))
    return Metrics(
        hot_utilization=100.0 * hot_tokens / hot_limit if hot_limit else 100.0,
        spill_count=tallies.get("spill", Tally()).times,
        recall_count=recalls,
        promotion_count=tallies.get("promotion", Tally()).times,
        recall_latency_ms=_quantile(micros, 0.5) / 1000,
        recall_latency_p95_ms=_quantile(micros, 0.95) / 1000,
        cold_recall_latency_ms=cold.total_ms / cold.count if cold.count else 0.0,
        hit_rate=tallies.get("recall.hit", Tally()).times / recalls if recalls else 0.0,
        moves=moves,
        shadow_missed={
            name.removeprefix(SHADOW_MISSED): tally.amount
            for name, tally in tallies.items()
            if name.startswith(SHADOW_MISSED)
        },
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
