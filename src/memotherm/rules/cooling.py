"""The rules of maintenance that follow use: disuse cools a memory, use warms it.

Heat is how often a memory was used, halved for every half-life since the last use.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from memotherm.model import Memory, Move, Tier
from memotherm.rules.marks import protected
from memotherm.rules.rule import Situation
from memotherm.rules.select import Select
from memotherm.settings import Settings

__all__ = ["UnusedMemories", "UsedColdMemories", "decay", "heat"]


def decay(memory: Memory, now: datetime, settings: Settings) -> float:
    """Return 1 for a memory that is used now, halved for every half-life without use."""
    idle = max(timedelta(0), now - memory.used_at) / timedelta(days=1)
    return float(0.5 ** (idle / settings.heat_half_life_days))


def heat(memory: Memory, now: datetime, settings: Settings) -> float:
    """Return the logarithm of the uses of a memory, decayed since the last one."""
    return math.log2(1 + memory.access_count) * decay(memory, now, settings)


class UsedColdMemories:
    """A cold memory that was used again goes warm."""

    id = "maintain.warm"
    selects = Select(during="maintain", tiers=(Tier.COLD,), used_in_tier=True, in_tier_for="min_stay_days")

    def decide(self, memory: Memory, situation: Situation) -> Move | None:
        """Move it to warm after `warm_again_uses` recent uses."""
        if memory.recent_uses < situation.settings.warm_again_uses:
            return None
        return Move.of(memory, Tier.WARM, f"used again, {memory.recent_uses} times of late")


class UnusedMemories:
    """A hot memory that is not used goes warm, and a warm one that is not used for long goes cold."""

    id = "maintain.cool"
    selects = Select(
        during="maintain",
        in_tier_for="min_stay_days",
        either=(
            Select(tiers=(Tier.HOT,), unused_for="cool_hot_days"),
            Select(tiers=(Tier.WARM,), unused_for="cool_warm_days", in_tier_for="cool_warm_days"),
        ),
    )

    def decide(self, memory: Memory, situation: Situation) -> Move | None:
        """Move it one tier down, unless it is protected or its heat keeps it hot."""
        now, settings = situation.now, situation.settings
        if protected(memory, now):
            return None
        if memory.tier is Tier.HOT and heat(memory, now, settings) >= settings.keep_hot_heat:
            return None
        lower = Tier.WARM if memory.tier is Tier.HOT else Tier.COLD
        return Move.of(memory, lower, f"not used for {(now - memory.used_at).days} days")
