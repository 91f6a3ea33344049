"""What the tags, metadata and source of a memory say about how it may be moved."""

from __future__ import annotations

from datetime import UTC, datetime

from memotherm.model import Memory, Priority
from memotherm.model.fields import MemoryFields

__all__ = ["FILE_SOURCE", "in_file", "is_blocker", "is_closed", "is_open", "protected"]

#: How the source of a memory begins that is part of a note.
FILE_SOURCE = "file:"

_OPEN = {"open", "active", "in_progress", "in progress", "pending", "todo", "doing", "started"}
_CLOSED = {"closed", "done", "resolved", "completed", "cancelled", "canceled"}
_STATE_KEYS = ("status", "state")
_DATE_KEYS = ("date", "due", "until", "valid_until", "preserve_until")


def is_blocker(memory: MemoryFields) -> bool:
    """Tell whether a memory has the tag `blocker` and no status that says it is closed."""
    return "blocker" in memory.tags and not is_closed(memory)


def is_closed(memory: MemoryFields) -> bool:
    """Tell whether its metadata has a status that says it is done."""
    return _state(memory) in _CLOSED


def in_file(memory: Memory) -> bool:
    """Tell whether a memory is part of a note: only the file changes its content, and only its age its tier."""
    return memory.source.startswith(FILE_SOURCE)


def is_open(memory: Memory) -> bool:
    """Tell whether its metadata has a status that says it is open."""
    return _state(memory) in _OPEN


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
    if any(_later(memory.metadata.get(key), now) for key in _DATE_KEYS):
        return "its date is still to come"
    return None


def _state(memory: MemoryFields) -> str:
    states = (memory.metadata.get(key) for key in _STATE_KEYS)
    return next((str(state).strip().lower() for state in states if state is not None), "")


def _later(value: object, now: datetime) -> bool:
    """Tell whether a value is a date or moment after now."""
    if not isinstance(value, str):
        return False
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return False
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) > now
