"""Measures of a ranked list, and the confidence interval of a difference between two rankings."""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Mapping, Sequence

__all__ = ["MEASURES", "difference", "mean", "measured"]

#: The measures, in the order of the tables.
MEASURES = ("any@1", "any@5", "any@10", "all@5", "all@10", "nDCG@10", "MRR")

_RESAMPLES = 2000


def measured(ranked: Sequence[str], gold: Collection[str]) -> dict[str, float]:
    """Return every measure of one ranked list."""
    ranks = [rank for rank, document in enumerate(ranked) if document in gold]
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(10, len(gold))))
    gain = sum(1 / math.log2(rank + 2) for rank in ranks if rank < 10)
    return {
        **{f"any@{k}": float(any(rank < k for rank in ranks)) for k in (1, 5, 10)},
        **{f"all@{k}": float(sum(rank < k for rank in ranks) == len(gold)) for k in (5, 10)},
        "nDCG@10": gain / ideal if ideal else 0.0,
        "MRR": 1 / (ranks[0] + 1) if ranks else 0.0,
    }


def mean(values: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each measure."""
    return {name: sum(measures[name] for measures in values) / len(values) if values else 0.0 for name in MEASURES}


def difference(
    ours: Sequence[Mapping[str, float]], theirs: Sequence[Mapping[str, float]], name: str
) -> tuple[float, float, float]:
    """Return the mean difference and its 95 % interval, by paired bootstrap with a fixed seed."""
    deltas = [mine[name] - other[name] for mine, other in zip(ours, theirs, strict=True)]
    if not deltas:
        return 0.0, 0.0, 0.0
    chance = random.Random(0)
    means = sorted(sum(chance.choices(deltas, k=len(deltas))) / len(deltas) for _ in range(_RESAMPLES))
    low, high = means[int(0.025 * _RESAMPLES)], means[int(0.975 * _RESAMPLES)]
    return sum(deltas) / len(deltas), low, high
