"""The rules that bring used and recalled memories to hot, and the one that moves memories out of a full session."""

from __future__ import annotations

from datetime import datetime, timedelta

from memotherm.model import Memory, Move, Priority, Tier
from memotherm.rules.marks import in_file, is_closed
from memotherm.rules.rule import Situation
from memotherm.rules.select import Select
from memotherm.settings import Settings

__all__ = [
    "FrequentlyRecalled",
    "FrequentlyUsed",
    "LeastRelevantHot",
    "RelevantlyRecalled",
    "recent_uses",
    "used_often",
]

_UNPINNED = tuple(priority for priority in Priority if priority is not Priority.PINNED)


def recent_uses(memory: Memory, now: datetime, settings: Settings) -> int:
    """Return the uses in the current window of use, which ends after `use_window_days` without use."""
    if memory.accessed_at is None or now - memory.accessed_at >= timedelta(days=settings.use_window_days):
        return 0
    return memory.recent_uses


def used_often(memory: Memory, now: datetime, settings: Settings) -> bool:
    """Tell whether a memory was used at least `promote_access_count` times in the current window of use."""
    return recent_uses(memory, now, settings) >= settings.promote_access_count


class FrequentlyUsed:
    """A warm memory that is used often comes to hot, as far as the caps allow."""

    id = "maintain.promote"
    selects = Select(
        during="maintain",
        tiers=(Tier.WARM,),
        priorities=_UNPINNED,
        used_within="use_window_days",
        order=("priority", "-access_count", "id"),
    )

    def enabled(self, settings: Settings) -> bool:
        """Tell whether hot is for more than blockers."""
        return not settings.strict_hot_blockers_only

    def decide(self, memory: Memory, situation: Situation) -> Move | None:
        """Move it to hot if it was used often and fits beside what its scope sees in hot.

        Chunks of notes, what is done, and memories of a session that has ended stay where they are.
        """
        now, settings = situation.now, situation.settings
        session = memory.scope.session
        if in_file(memory) or is_closed(memory) or (session is not None and session not in situation.open_sessions):
            return None
        if not used_often(memory, now, settings) or self._moved_lately(memory, situation):
            return None
        if not situation.hot.seen_from(memory.scope).has_room_for(memory, settings):
            return None
        return Move.of(memory, Tier.HOT, f"used {memory.recent_uses} times of late")

    def _moved_lately(self, memory: Memory, situation: Situation) -> bool:
        """Tell whether it came to warm from another tier a short time ago, or was not used since."""
        if memory.tier_since <= memory.created_at:
            return False
        least = timedelta(days=situation.settings.min_stay_days)
        return memory.used_at <= memory.tier_since or situation.now - memory.tier_since < least


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
        priorities=_UNPINNED,
        order=("relevance", "created_at", "id"),
    )

    def decide(self, memory: Memory, situation: Situation) -> Move | None:
        """Move it to warm if it was used often, otherwise to cold."""
        used = memory.access_count >= situation.settings.warm_access_threshold
        return Move.of(memory, Tier.WARM if used else Tier.COLD, situation.reason)
