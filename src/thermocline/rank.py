"""From what two searches found to one order, with the reason for every place in it.

Pure functions of numbers: no store, no clock, no embedder.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from thermocline.model import Priority, Tier, Why
from thermocline.settings import Settings

__all__ = ["Evidence", "Ranked", "Weights", "rank", "text_scores"]

_RRF_K = 60
_MICROS_PER_DAY = 86_400_000_000
#: Uses after which more of them add nothing.
_MANY_USES = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Weights:
    """How much each kind of evidence counts."""

    vector: float
    text: float
    fusion: str
    use: float
    use_half_life_days: float
    boosts: Mapping[Priority, float]
    #: What is taken off in each tier; empty unless a query spans all tiers on equal terms.
    penalties: Mapping[Tier, float]

    @classmethod
    def of(cls, settings: Settings, *, penalise: bool = False) -> Weights:
        """Return the weights that the settings ask for."""
        penalties = {Tier.WARM: settings.warm_penalty, Tier.COLD: settings.cold_penalty}
        return cls(
            vector=settings.vector_weight,
            text=settings.text_weight,
            fusion=settings.fusion,
            use=settings.use_weight,
            use_half_life_days=settings.use_half_life_days,
            boosts={priority: getattr(settings, f"boost_{priority}") for priority in Priority},
            penalties=penalties if penalise else {},
        )


class Evidence(NamedTuple):
    """What is known of one candidate; a leg that did not find it says None."""

    no: int
    vector: float | None
    text: float | None
    priority: Priority
    tier: Tier
    access_count: int
    accessed_at: int | None


class Ranked(NamedTuple):
    """A candidate with its score and the parts of it."""

    no: int
    score: float
    why: Why


def text_scores(strengths: Mapping[int, float]) -> dict[int, float]:
    """Map BM25 strengths to (0, 1], relative to the best match of the query."""
    best = max(strengths.values(), default=0.0)
    return {no: strength / best if best > 0 else 0.0 for no, strength in strengths.items()}


def rank(candidates: Sequence[Evidence], weights: Weights, now: int, min_score: float) -> list[Ranked]:
    """Order the candidates, best first, newest first among equals.

    The floor looks at relevance, before use and boosts, so that a boost admits no junk; a keyword
    match that is strong enough by itself passes it too.
    """
    relevance = _fused(candidates, weights)
    ranked = [
        _scored(each, relevance[each.no], weights, now)
        for each in candidates
        if max(relevance[each.no], each.text or 0.0) >= min_score
    ]
    return sorted(ranked, key=lambda each: (-each.score, -each.no))


def _scored(each: Evidence, relevance: float, weights: Weights, now: int) -> Ranked:
    why = Why(
        vector=each.vector,
        text=each.text,
        relevance=relevance,
        use=_use(each, weights, now),
        boost=weights.boosts[each.priority],
        tier=-weights.penalties.get(each.tier, 0.0),
    )
    return Ranked(each.no, why.relevance + why.use + why.boost + why.tier, why)


def _use(each: Evidence, weights: Weights, now: int) -> float:
    """Return what use adds: more for frequent use, fading with the time since the last."""
    if each.accessed_at is None or not weights.use:
        return 0.0
    days = max(0.0, (now - each.accessed_at) / _MICROS_PER_DAY)
    often = min(1.0, math.log1p(each.access_count) / math.log1p(_MANY_USES))
    return float(weights.use * often * 0.5 ** (days / weights.use_half_life_days))


def _fused(candidates: Sequence[Evidence], weights: Weights) -> dict[int, float]:
    fuse = {"weighted": _weighted, "rrf": _reciprocal}[weights.fusion]
    return fuse(candidates, weights)


def _weighted(candidates: Sequence[Evidence], weights: Weights) -> dict[int, float]:
    """Return the weighted mean of the legs that took part at all."""
    vector = weights.vector if any(each.vector is not None for each in candidates) else 0.0
    text = weights.text if any(each.text is not None for each in candidates) or not vector else 0.0
    total = vector + text or 1.0
    return {each.no: (vector * (each.vector or 0.0) + text * (each.text or 0.0)) / total for each in candidates}


def _reciprocal(candidates: Sequence[Evidence], weights: Weights) -> dict[int, float]:
    """Return reciprocal rank fusion, scaled so that first in every leg is 1."""
    scores = dict.fromkeys((each.no for each in candidates), 0.0)
    legs = [[(each.vector, each.no) for each in candidates], [(each.text, each.no) for each in candidates]]
    used = [[(value, no) for value, no in leg if value is not None] for leg in legs]
    shares = [share for share, leg in zip((weights.vector, weights.text), used, strict=True) if leg]
    total = sum(shares) or 1.0
    for share, leg in zip(shares, (leg for leg in used if leg), strict=True):
        for place, (_, no) in enumerate(sorted(leg, reverse=True)):
            scores[no] += share / total * (_RRF_K + 1) / (_RRF_K + 1 + place)
    return scores
