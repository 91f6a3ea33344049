"""The rules of compaction, which keep hot small.

Their order is that of `DEFAULT_RULES`: finished and old work goes cold, unused preferences go warm, blockers come to
hot as far as the caps allow, and whatever else is hot goes warm. The caps count what stays hot, so a second
run at the same moment moves nothing.
"""

from __future__ import annotations

from datetime import timedelta

from memotherm.model import Memory, Move, Priority, Tier
from memotherm.rules.marks import is_blocker, is_closed, is_open
from memotherm.rules.promotion import used_often
from memotherm.rules.rule import Situation
from memotherm.rules.select import Select
from memotherm.settings import Settings

__all__ = ["ActiveBlockers", "FinishedWork", "OtherHotMemories", "UnusedPreferences"]

_UNPINNED = tuple(priority for priority in Priority if priority is not Priority.PINNED)


class _Compaction:
    """A rule that runs unless the setting `tiering` is off."""

    def enabled(self, settings: Settings) -> bool:
        """Return the setting `tiering`."""
        return settings.tiering


class FinishedWork(_Compaction):
    """Decisions and tasks go cold: at once if their metadata says that they are done, otherwise with time.

    The days of `task_cold_after_days` count from the last change or use. Those that say that they are open stay.
    """

    id = "compact.done"
    selects = Select(
        tiers=(Tier.HOT, Tier.WARM),
        priorities=_UNPINNED,
        either=(Select(kinds=("decision",)), Select(tags=("task",))),
    )

    def decide(self, memory: Memory, situation: Situation) -> Move | None:
        """Move it to cold, unless it is a blocker, open, in use, or was brought back by use a short time ago."""
        if is_blocker(memory) or is_open(memory):
            return None
        least = timedelta(days=situation.settings.min_stay_days)
        if memory.tier_rule in ("maintain.warm", "maintain.promote") and situation.now - memory.tier_since < least:
            return None
        what = "a decision" if memory.kind == "decision" else "a task"
        if is_closed(memory):
            return Move.of(memory, Tier.COLD, f"{what} whose status says that it is done")
        idle = situation.now - max(memory.updated_at, memory.used_at)
        if idle < timedelta(days=situation.settings.task_cold_after_days):
            return None
        return Move.of(memory, Tier.COLD, f"{what} not changed or used for {idle.days} days")


class UnusedPreferences(_Compaction):
    """A hot preference that is not used goes warm."""

    id = "compact.preference"
    selects = Select(
        tiers=(Tier.HOT,), kinds=("preference",), priorities=_UNPINNED, unused_for="inactive_preference_days"
    )

    def decide(self, memory: Memory, situation: Situation) -> Move | None:
        """Move it to warm, unless it is a blocker."""
        if is_blocker(memory):
            return None
        days = (situation.now - memory.used_at).days
        return Move.of(memory, Tier.WARM, f"a preference not used for {days} days")


class ActiveBlockers(_Compaction):
    """Active blockers come to hot: the highest priority first, then the latest used, as far as the caps allow."""

    id = "compact.blocker"
    selects = Select(tiers=(Tier.WARM, Tier.COLD), tags=("blocker",), order=("priority", "-used_at", "id"))

    def decide(self, memory: Memory, situation: Situation) -> Move | None:
        """Move it to hot if it fits beside what stays there, and into the limit of its session."""
        # A promotion that spills another blocker of the session would be undone by the next run.
        if not is_blocker(memory) or not situation.hot.has_room_for(memory, situation.settings):
            return None
        return Move.of(memory, Tier.HOT, "an active blocker")


class OtherHotMemories(_Compaction):
    """Whatever else is hot goes warm."""

    id = "compact.focus"
    selects = Select(tiers=(Tier.HOT,), priorities=_UNPINNED)

    def decide(self, memory: Memory, situation: Situation) -> Move | None:
        """Move it to warm, unless it blocks something or has another reason to be hot."""
        if is_blocker(memory):
            return None
        if not situation.settings.strict_hot_blockers_only and self._may_stay(memory, situation):
            return None
        return Move.of(memory, Tier.WARM, "hot is for blockers and current work")

    def _may_stay(self, memory: Memory, situation: Situation) -> bool:
        idle = timedelta(days=situation.settings.inactive_preference_days)
        return (
            memory.tier_rule in ("explicit", "note.curated")
            or (memory.kind == "preference" and situation.now - memory.used_at < idle)
            or memory.scope.session in situation.open_sessions
            or (memory.tier_rule == "maintain.promote" and used_often(memory, situation.now, situation.settings))
        )
