"""Disuse cools, use warms: the moves that maintenance makes.

Heat is the signal: how often a memory was used, halved for every half-life since the last use.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from memotherm.model import Memory, Move, Tier
from memotherm.rules.marks import protected
from memotherm.settings import Settings

__all__ = ["cooling", "decay", "heat"]


def decay(memory: Memory, now: datetime, settings: Settings) -> float:
    """Return 1 for a memory that is used now, halved for every half-life without use."""
    idle = max(timedelta(0), now - memory.used_at) / timedelta(days=1)
    return float(0.5 ** (idle / settings.heat_half_life_days))


def heat(memory: Memory, now: datetime, settings: Settings) -> float:
    """Return how warm use has left a memory."""
    return math.log2(1 + memory.access_count) * decay(memory, now, settings)


def cooling(memory: Memory, now: datetime, settings: Settings) -> Move | None:
    """Return the move that use or disuse asks for, or None."""
    if now - memory.tier_since < timedelta(days=settings.min_stay_days):
        return None
    if memory.tier is Tier.COLD:
        return _warmed(memory, settings)
    if protected(memory, now):
        return None
    return _cooled_hot(memory, now, settings) if memory.tier is Tier.HOT else _cooled_warm(memory, now, settings)


def _warmed(memory: Memory, settings: Settings) -> Move | None:
    used = memory.accessed_at is not None and memory.accessed_at > memory.tier_since
    if not used or memory.recent_uses < settings.warm_again_uses:
        return None
    why = f"used again, {memory.recent_uses} times of late"
    return Move(id=memory.id, from_tier=Tier.COLD, to=Tier.WARM, rule="maintain.warm", why=why)


def _cooled_hot(memory: Memory, now: datetime, settings: Settings) -> Move | None:
    idle = now - memory.used_at
    if idle < timedelta(days=settings.cool_hot_days) or heat(memory, now, settings) >= settings.keep_hot_heat:
        return None
    why = f"not used for {idle.days} days"
    return Move(id=memory.id, from_tier=Tier.HOT, to=Tier.WARM, rule="maintain.cool", why=why)


def _cooled_warm(memory: Memory, now: datetime, settings: Settings) -> Move | None:
    long = timedelta(days=settings.cool_warm_days)
    if now - memory.used_at < long or now - memory.tier_since < long:
        return None
    why = f"not used for {(now - memory.used_at).days} days"
    return Move(id=memory.id, from_tier=Tier.WARM, to=Tier.COLD, rule="maintain.cool", why=why)
