"""When a recalled memory comes back to the front."""

from __future__ import annotations

from thermocline.model import Hit, Move, Retention, Tier
from thermocline.settings import Settings

__all__ = ["promotion"]


def promotion(hit: Hit, settings: Settings) -> Move | None:
    """Return the move to hot that a hit has earned by relevance or by use, or None."""
    memory = hit.memory
    if memory.tier is Tier.HOT or memory.retention is not Retention.ACTIVE:
        return None
    uses = memory.access_count + 1
    if hit.why.relevance >= settings.promote_threshold:
        rule, why = "promote.relevance", f"recalled with relevance {hit.why.relevance:.2f}"
    elif uses >= settings.promote_access_count:
        rule, why = "promote.use", f"recalled {uses} times"
    else:
        return None
    return Move(id=memory.id, from_tier=memory.tier, to=Tier.HOT, rule=rule, why=why)
