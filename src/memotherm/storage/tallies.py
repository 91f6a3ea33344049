"""The counters of recalls: their names, and the buckets of their durations."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Set
from typing import Any

from memotherm.model import Tier
from memotherm.storage.values import RecallEntry, Tally

__all__ = ["BUCKETS_MS", "SHADOW_MISSED", "SHADOW_SPARED", "recall_buckets", "recall_tallies", "shadow_tallies", "sums"]

#: The beginnings of the counters of a policy in the shadow, before its hash.
SHADOW_MISSED, SHADOW_SPARED = "shadow.missed:", "shadow.spared:"

#: The upper bounds of the buckets of durations, in milliseconds; the last bucket has none.
BUCKETS_MS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)


def recall_tallies(entry: RecallEntry) -> list[dict[str, Any]]:
    """Return the counters of a recall: all, with a hit, with promotions, and the bucket of its duration."""
    counted = {"recall": entry.micros, _bucket(entry.micros, cold=Tier.COLD in entry.tiers): entry.micros}
    if entry.found:
        counted["recall.hit"] = 0
    if entry.promoted:
        counted["recall.promoted"] = len(entry.promoted)
    space = entry.space or 0
    return [{"space": space, "name": name, "times": 1, "amount": amount} for name, amount in counted.items()]


def shadow_tallies(entry: RecallEntry, policy: str, cold: Set[int]) -> list[dict[str, Any]]:
    """Return the counters of a recall while a policy is in the shadow, which would have had some memories cold."""
    missed = len(cold & set(entry.returned))
    counted = {SHADOW_MISSED: missed, SHADOW_SPARED: len(cold) - missed}
    space = entry.space or 0
    return [{"space": space, "name": name + policy, "times": 1, "amount": amount} for name, amount in counted.items()]


def sums(tallies: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one tally for each counter of a space, in the order of spaces and names."""
    times: Counter[tuple[int, str]] = Counter()
    amounts: Counter[tuple[int, str]] = Counter()
    for tally in tallies:
        key = tally["space"], tally["name"]
        times[key] += tally["times"]
        amounts[key] += tally["amount"]
    return [
        {"space": space, "name": name, "times": times[space, name], "amount": amounts[space, name]}
        for space, name in sorted(times)
    ]


def recall_buckets(tallies: Mapping[str, Tally], *, cold: bool) -> list[Tally]:
    """Return the counters of each bucket of durations, in order, of recalls that searched cold or did not."""
    return [tallies.get(_name(number, cold=cold), Tally()) for number in range(len(BUCKETS_MS) + 1)]


def _bucket(micros: int, *, cold: bool) -> str:
    return _name(bisect_left(BUCKETS_MS, micros / 1000), cold=cold)


def _name(number: int, *, cold: bool) -> str:
    return f"recall.{'cold' if cold else 'live'}:{number}"
