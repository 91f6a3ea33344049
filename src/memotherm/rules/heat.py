"""How much a memory is in use.

Heat is how often a memory was used, halved for every half-life since the last use.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from memotherm.model import Memory
from memotherm.settings import Settings

__all__ = ["decay", "heat", "recent_uses"]


def decay(memory: Memory, now: datetime, settings: Settings) -> float:
    """Return 1 for a memory that is used now, halved for every half-life without use."""
    idle = max(timedelta(0), now - memory.used_at) / timedelta(days=1)
    return float(0.5 ** (idle / settings.heat_half_life_days))


def heat(memory: Memory, now: datetime, settings: Settings) -> float:
    """Return the logarithm of the uses of a memory, decayed since the last one."""
    return math.log2(1 + memory.access_count) * decay(memory, now, settings)


def recent_uses(memory: Memory, now: datetime, settings: Settings) -> int:
    """Return the uses in the current window of use, which ends after `use_window_days` without use."""
    if memory.accessed_at is None or now - memory.accessed_at >= timedelta(days=settings.use_window_days):
        return 0
    return memory.recent_uses
