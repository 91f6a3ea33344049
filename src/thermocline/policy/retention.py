"""Which way a memory's retention may go."""

from __future__ import annotations

from thermocline.errors import InvalidInput
from thermocline.model import Memory, Retention

__all__ = ["changed_retention", "require_active"]

_WAYS = {
    Retention.ACTIVE: {Retention.ACTIVE, Retention.ARCHIVED, Retention.DELETED},
    Retention.ARCHIVED: {Retention.ACTIVE, Retention.ARCHIVED, Retention.DELETED},
    Retention.DELETED: {Retention.ACTIVE, Retention.DELETED},
}


def changed_retention(memory: Memory, wanted: Retention) -> Retention:
    """Return the wanted retention if the memory may go there from where it is."""
    if wanted not in _WAYS.get(memory.retention, set()):
        raise InvalidInput(f"{memory.id} is {memory.retention} and cannot become {wanted}: restore it first")
    return wanted


def require_active(memory: Memory) -> Memory:
    """Return the memory if it may be changed: what is hidden is read-only until it is restored."""
    if memory.retention is not Retention.ACTIVE:
        raise InvalidInput(f"{memory.id} is {memory.retention} and read-only: restore it first")
    return memory
