"""Properties of a memory that rules look at: heat, status, and whether it is protected."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta

from memotherm.model import Memory, Priority
from memotherm.model.recall import USE_WINDOW, UseKind

# Use


#: The weight of each kind of use. A confirmation is the only use that somebody judged.
USE_WEIGHTS = {
    UseKind.RETURNED: 1.0,
    UseKind.CONFIRMED: 2.0,
    UseKind.REFLECTED: 1.0,
}
#: Days after which heat has halved: as long as a hot memory without use stays hot.
HALF_LIFE_DAYS = 30


def decay(memory: Memory, now: datetime) -> float:
    """Return 1 for a memory that is used now, halved for every half-life without use."""
    return _decay(now - memory.last_accessed_at)


def heat(memory: Memory, now: datetime) -> float:
    """Return the logarithm of the weight of the uses of a memory, decayed since the last one."""
    return heat_of(memory.use_weight, now - memory.last_accessed_at)


def heat_of(use_weight: float, idle: timedelta) -> float:
    """Return the heat of a memory by the weight of its uses and the time without one."""
    return math.log2(1 + use_weight) * _decay(idle)


def _decay(idle: timedelta) -> float:
    return float(0.5 ** (max(timedelta(0), idle) / timedelta(days=HALF_LIFE_DAYS)))


def recent_uses(memory: Memory, now: datetime) -> float:
    """Return the weight of the uses in the current window of use, which ends after a pause."""
    if memory.accessed_at is None or now - memory.accessed_at >= USE_WINDOW:
        return 0.0
    return memory.recent_uses


# Status and protection

#: How the source of a memory begins that is part of a note.
FILE_SOURCE = "file:"

#: What a status says of something open, and of something done.
OPEN = {"open", "active", "in_progress", "in progress", "pending", "todo", "doing", "started"}
CLOSED = {"closed", "done", "resolved", "completed", "cancelled", "canceled", "superseded"}
_STATE_KEYS = ("status", "state")
#: Metadata keys of dates that protect a memory until they have passed.
DATE_KEYS = ("date", "due", "until", "valid_until", "preserve_until")


def is_blocker(memory: Memory) -> bool:
    """Return whether a memory has the tag `blocker` and is not closed."""
    return "blocker" in memory.tags and not is_closed(memory)


def is_closed(memory: Memory) -> bool:
    """Return whether the status in its metadata says that it is done."""
    return _state(memory) in CLOSED


def due_of(memory: Memory) -> date | None:
    """Return the day in its metadata until which a task is to be done; None if there is none."""
    due = memory.metadata.get("due")
    try:
        return datetime.fromisoformat(due).date() if isinstance(due, str) else None
    except ValueError:
        return None


def in_file(memory: Memory) -> bool:
    """Return whether a memory is part of a note: its content changes with the file, its tier with its age."""
    return memory.source.startswith(FILE_SOURCE)


def protected(memory: Memory, now: datetime) -> str | None:
    """Return why maintenance must not move an unused memory, or None."""
    if memory.priority is Priority.PINNED:
        return "pinned"
    if in_file(memory):
        return "it lives in a file"
    if is_blocker(memory):
        return "an active blocker"
    if "permanent" in memory.tags or memory.metadata.get("permanent") is True:
        return "permanent"
    if memory.expires_at is not None:
        return "it has an end of its own"
    if any(_later(memory.metadata.get(key), now) for key in DATE_KEYS):
        return "its date is still to come"
    return None


def _state(memory: Memory) -> str:
    states = (memory.metadata.get(key) for key in _STATE_KEYS)
    return next((str(state).strip().lower() for state in states if state is not None), "")


def _later(value: object, now: datetime) -> bool:
    """Return whether a value is a date or moment after now."""
    if not isinstance(value, str):
        return False
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return False
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) > now
