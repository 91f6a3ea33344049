"""How many memories of one scope may hold a priority."""

from __future__ import annotations

from dataclasses import replace

from thermocline.errors import LimitReached
from thermocline.model import Memory, Priority, Retention
from thermocline.settings import Settings
from thermocline.storage.store import Cause, Record, Writing

__all__ = ["make_room"]


def make_room(
    writing: Writing, space: int, after: Memory, settings: Settings, cause: Cause, before: Record | None
) -> None:
    """Before a memory takes a limited priority: make room for it, or refuse.

    Every path that stores or changes a memory comes through here, inside its transaction.
    """
    limit = {Priority.PINNED: settings.max_pinned, Priority.CRITICAL: settings.max_critical}.get(after.priority)
    if limit is None or not after.visible_at(cause.at):
        return
    if before is not None and _holds(before, space, after.priority, cause):
        return
    while writing.count_priority(space, after.priority, cause.at) >= limit:
        oldest = writing.oldest_of_priority(space, after.priority, cause.at)
        if settings.on_tier_limit == "reject" or oldest is None:
            raise LimitReached(
                f"{limit} memories of this scope are {after.priority} already, and max_{after.priority} is {limit}: "
                f"lower another one first, or set on_tier_limit = 'demote_oldest'"
            )
        why = f"made room for another {after.priority} memory"
        demotion = replace(cause, action="prioritize", rule="limit.demote_oldest", why=why)
        writing.change(oldest, replace(oldest.memory, priority=Priority.NORMAL), demotion)


def _holds(before: Record, space: int, priority: Priority, cause: Cause) -> bool:
    """Tell whether the memory is counted already, so that changing it takes no new place."""
    memory = before.memory
    counted = memory.retention is Retention.ACTIVE and memory.visible_at(cause.at)
    return counted and before.space == space and memory.priority is priority
