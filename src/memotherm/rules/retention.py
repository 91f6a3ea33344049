"""Which way a memory's retention may go, and when its time in one state is over."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from memotherm.errors import InvalidInput
from memotherm.model import Memory, Retention
from memotherm.rules.marks import protected
from memotherm.settings import Settings

__all__ = ["Transition", "changed_retention", "overdue", "require_active"]

_WAYS = {
    Retention.ACTIVE: {Retention.ACTIVE, Retention.ARCHIVED, Retention.DELETED},
    Retention.ARCHIVED: {Retention.ACTIVE, Retention.ARCHIVED, Retention.DELETED},
    Retention.DELETED: {Retention.ACTIVE, Retention.DELETED},
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Transition:
    """A decision to change a memory's retention, and the rule behind it."""

    id: str
    to: Retention
    rule: str
    why: str


def changed_retention(memory: Memory, wanted: Retention, now: datetime, settings: Settings) -> Retention:
    """Return the wanted retention if the memory may go there from where it is."""
    if wanted not in _WAYS.get(memory.retention, set()):
        raise InvalidInput(f"{memory.id} is {memory.retention} and cannot become {wanted}: restore it first")
    grace = timedelta(days=settings.grace_days)
    if memory.retention is Retention.DELETED and wanted is Retention.ACTIVE and now - memory.retention_since >= grace:
        raise InvalidInput(
            f"{memory.id} was deleted more than {settings.grace_days:g} days ago and waits to be purged: "
            "it can no longer be restored (setting grace_days)"
        )
    return wanted


def require_active(memory: Memory) -> Memory:
    """Return the memory if it may be changed: what is hidden is read-only until it is restored."""
    if memory.retention is not Retention.ACTIVE:
        raise InvalidInput(f"{memory.id} is {memory.retention} and read-only: restore it first")
    return memory


def overdue(memory: Memory, now: datetime, settings: Settings) -> Transition | None:
    """Return the transition that is due: expiry, archiving, deletion or purging, by the settings' windows."""
    if memory.retention is Retention.ACTIVE:
        return _expired(memory, now) or _stale(memory, now, settings)
    held = now - memory.retention_since
    if memory.retention is Retention.ARCHIVED and 0 < settings.delete_after_days <= held / timedelta(days=1):
        why = f"archived for {held.days} days"
        return Transition(id=memory.id, to=Retention.DELETED, rule="maintain.delete", why=why)
    if memory.retention is Retention.DELETED and held >= timedelta(days=settings.grace_days):
        why = f"deleted {held.days} days ago"
        return Transition(id=memory.id, to=Retention.PURGED, rule="maintain.purge", why=why)
    return None


def _expired(memory: Memory, now: datetime) -> Transition | None:
    if not memory.expired_at(now):
        return None
    why = f"its time ended at {memory.expires_at:%Y-%m-%d %H:%M}"
    return Transition(id=memory.id, to=Retention.DELETED, rule="maintain.expire", why=why)


def _stale(memory: Memory, now: datetime, settings: Settings) -> Transition | None:
    idle = now - memory.used_at
    if not 0 < settings.archive_after_days <= idle / timedelta(days=1) or protected(memory, now):
        return None
    why = f"not used for {idle.days} days"
    return Transition(id=memory.id, to=Retention.ARCHIVED, rule="maintain.archive", why=why)
