"""When a recalled memory comes back to the front, and where one goes that must leave it."""

from __future__ import annotations

from datetime import datetime, timedelta

from memotherm.model import Hit, Memory, Move, Retention, Tier
from memotherm.settings import Settings

__all__ = ["promotion", "recent_uses", "spill"]


def promotion(hit: Hit, now: datetime, settings: Settings) -> Move | None:
    """Return the move to hot that a hit has earned by relevance or by use, or None."""
    memory = hit.memory
    if memory.tier is Tier.HOT or memory.retention is not Retention.ACTIVE:
        return None
    uses = recent_uses(memory, now, settings) + 1
    if hit.why.relevance >= settings.promote_threshold:
        rule, why = "promote.relevance", f"recalled with relevance {hit.why.relevance:.2f}"
    elif uses >= settings.promote_access_count:
        rule, why = "promote.use", f"recalled {uses} times of late"
    else:
        return None
    return Move(id=memory.id, from_tier=memory.tier, to=Tier.HOT, rule=rule, why=why)


def recent_uses(memory: Memory, now: datetime, settings: Settings) -> int:
    """Return the uses of late: a pause as long as the window of use ends the count."""
    if memory.accessed_at is None or now - memory.accessed_at >= timedelta(days=settings.use_window_days):
        return 0
    return memory.recent_uses


def spill(memory: Memory, settings: Settings, why: str) -> Move:
    """Return the move that takes a hot memory out of a session's working set: used ones stay warm."""
    to = Tier.WARM if memory.access_count >= settings.warm_access_threshold else Tier.COLD
    return Move(id=memory.id, from_tier=Tier.HOT, to=to, rule="session.spill", why=why)
