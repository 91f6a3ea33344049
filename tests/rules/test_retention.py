"""When a deleted memory is purged, to the moment."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from memotherm import Memory, Retention, Settings, Situation
from memotherm.tiers.rules.retention import DeletedMemories

DAY, INSTANT = timedelta(days=1), timedelta(microseconds=1)


def test_a_deleted_memory_waits_where_the_clock_may_have_jumped_over_its_grace(a_memory: Callable[..., Memory]) -> None:
    """It is purged if its grace had ended by the moment that is sure, or if it was deleted a day ago or less."""
    memory = a_memory(retention=Retention.DELETED)
    since = memory.retention_since

    def purged(grace_days: int, now: timedelta, due_at: timedelta | None) -> bool:
        sure = None if due_at is None else since + due_at
        situation = Situation(now=since + now, settings=Settings(retention=f"0/0/{grace_days}"), due_at=sure)
        return DeletedMemories().decide(memory, situation) is not None

    assert purged(7, 9 * DAY, None)
    assert purged(7, 9 * DAY, 7 * DAY)
    assert not purged(7, 9 * DAY, 7 * DAY - INSTANT)
    assert purged(1, DAY, DAY - INSTANT)
    assert not purged(1, DAY + INSTANT, DAY - INSTANT)
