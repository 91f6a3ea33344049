"""How much a memory is in use.

Heat is how often a memory was used, each use by its weight, halved for every half-life since the last use.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from memotherm.model import Memory
from memotherm.model.uses import Strength
from memotherm.settings import Settings

__all__ = ["decay", "heat", "recent_uses", "use_weight"]


def use_weight(strength: Strength, settings: Settings) -> float:
    """Return what a use of a strength counts."""
    return float(getattr(settings, f"weight_{strength}"))


def decay(memory: Memory, now: datetime, settings: Settings) -> float:
    """Return 1 for a memory that is used now, halved for every half-life without use."""
    idle = max(timedelta(0), now - memory.used_at) / timedelta(days=1)
    return float(0.5 ** (idle / settings.heat_half_life_days))


def heat(memory: Memory, now: datetime, settings: Settings) -> float:
    """Return the logarithm of the weight of the uses of a memory, decayed since the last one."""
    return math.log2(1 + memory.use_weight) * decay(memory, now, settings)


def recent_uses(memory: Memory, now: datetime, settings: Settings) -> float:
    """Return the weight of the uses in the current window of use, which ends after `use_window_days` without use."""
    if memory.last_used_at is None or now - memory.last_used_at >= timedelta(days=settings.use_window_days):
        return 0.0
    return memory.recent_uses
