"""The rules that bring a recalled memory back to hot, and the one that moves memories out of a full session."""

from __future__ import annotations

from datetime import datetime, timedelta

from memotherm.model import Memory, Move, Priority, Tier
from memotherm.rules.rule import Situation
from memotherm.rules.select import Select
from memotherm.settings import Settings

__all__ = ["FrequentlyRecalled", "LeastRelevantHot", "RelevantlyRecalled", "recent_uses"]


def recent_uses(memory: Memory, now: datetime, settings: Settings) -> int:
    """Return the uses in the current window of use, which ends after `use_window_days` without use."""
    if memory.accessed_at is None or now - memory.accessed_at >= timedelta(days=settings.use_window_days):
        return 0
    return memory.recent_uses


class RelevantlyRecalled:
    """A recalled memory that answers the query well comes to hot."""

    id = "promote.relevance"
    selects = Select(during="promote", tiers=(Tier.WARM, Tier.COLD), expired=None)

    def decide(self, memory: Memory, situation: Situation) -> Move | None:
        """Move it to hot at a relevance of at least `promote_threshold`."""
        if situation.relevance < situation.settings.promote_threshold:
            return None
        return Move.of(memory, Tier.HOT, f"recalled with relevance {situation.relevance:.2f}")


class FrequentlyRecalled:
    """A memory that is recalled again and again comes to hot."""

    id = "promote.use"
    selects = Select(during="promote", tiers=(Tier.WARM, Tier.COLD), expired=None)

    def decide(self, memory: Memory, situation: Situation) -> Move | None:
        """Move it to hot when this is its `promote_access_count`th use in the window."""
        uses = recent_uses(memory, situation.now, situation.settings) + 1
        if uses < situation.settings.promote_access_count:
            return None
        return Move.of(memory, Tier.HOT, f"recalled {uses} times of late")


class LeastRelevantHot:
    """When a session needs room in hot, the least relevant memories leave first, then the oldest."""

    id = "session.spill"
    selects = Select(
        during="spill",
        tiers=(Tier.HOT,),
        priorities=tuple(priority for priority in Priority if priority is not Priority.PINNED),
        order=("relevance", "created_at", "id"),
    )

    def decide(self, memory: Memory, situation: Situation) -> Move | None:
        """Move it to warm if it was used often, otherwise to cold."""
        used = memory.access_count >= situation.settings.warm_access_threshold
        return Move.of(memory, Tier.WARM if used else Tier.COLD, situation.reason)
