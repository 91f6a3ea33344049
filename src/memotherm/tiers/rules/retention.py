"""Which changes of retention are allowed, and the rules of maintenance that make them."""

from __future__ import annotations

from datetime import datetime, timedelta

from memotherm.errors import InvalidInput
from memotherm.model import Memory, Move, Retention
from memotherm.settings import Settings
from memotherm.tiers.rules.conditions import Select
from memotherm.tiers.rules.properties import protected
from memotherm.tiers.rules.rule import Rule, Situation

_ALLOWED = {
    # To proposed only by an undo.
    Retention.ACTIVE: {Retention.ACTIVE, Retention.ARCHIVED, Retention.DELETED, Retention.PROPOSED},
    Retention.ARCHIVED: {Retention.ACTIVE, Retention.ARCHIVED, Retention.DELETED},
    Retention.DELETED: {Retention.ACTIVE, Retention.DELETED, Retention.PROPOSED},
    Retention.PROPOSED: {Retention.DELETED},
}


def changed_retention(memory: Memory, wanted: Retention, now: datetime, settings: Settings) -> Retention:
    """Return the wanted retention if the memory may go there from where it is."""
    if wanted not in _ALLOWED.get(memory.retention, set()):
        verb = "approve" if memory.retention is Retention.PROPOSED else "restore"
        raise InvalidInput(f"{memory.id} is {memory.retention} and cannot become {wanted}: {verb} it first")
    grace = timedelta(days=settings.grace_days)
    if memory.retention is Retention.DELETED and wanted is Retention.ACTIVE and now - memory.retention_since >= grace:
        raise InvalidInput(
            f"{memory.id} was deleted more than {settings.grace_days:g} days ago and waits to be purged: "
            "it can no longer be restored (setting retention)"
        )
    return wanted


def require_active(memory: Memory) -> Memory:
    """Return the memory if it may be changed; hidden memories are read-only until restored."""
    if memory.retention is not Retention.ACTIVE:
        raise InvalidInput(f"{memory.id} is {memory.retention} and read-only: restore it first")
    return memory


def require_editable(memory: Memory) -> Memory:
    """Return the memory if its content may be changed: proposals may be edited before they are approved."""
    return memory if memory.retention is Retention.PROPOSED else require_active(memory)


class ExpiredMemories:
    """A memory past its expiry is deleted; `restore` brings it back within the grace days."""

    id = "maintain.expire"
    selects = Select(during="maintain", expired=True)

    def decide(self, memory: Memory, situation: Situation) -> Move | None:  # noqa: ARG002
        """Delete it."""
        return Move.of(memory, Retention.DELETED, f"its time ended at {memory.expires_at:%Y-%m-%d %H:%M}")


class UnusedForArchive:
    """A memory that is not used for `archive_after_days` is archived; 0 turns this off."""

    id = "maintain.archive"
    selects = Select(during="maintain", when={"setting.archive_after_days": "> 0", "idle": ">= archive_after_days"})

    def decide(self, memory: Memory, situation: Situation) -> Move | None:
        """Archive it, unless it is protected."""
        if protected(memory, situation.now):
            return None
        unused = situation.now - memory.last_accessed_at
        return Move.of(memory, Retention.ARCHIVED, f"not used for {unused.days} days")


class ArchivedMemories:
    """A memory that was archived `delete_after_days` ago is deleted; 0 turns this off."""

    id = "maintain.delete"
    selects = Select(
        during="maintain",
        retentions=(Retention.ARCHIVED,),
        expired=None,
        when={"setting.delete_after_days": "> 0", "in_retention": ">= delete_after_days"},
    )

    def decide(self, memory: Memory, situation: Situation) -> Move | None:
        """Delete it."""
        days = (situation.now - memory.retention_since).days
        return Move.of(memory, Retention.DELETED, f"archived for {days} days")


class DeletedMemories:
    """A memory that was deleted `grace_days` ago is purged, unless the clock may have jumped there."""

    id = "maintain.purge"
    selects = Select(
        during="maintain", retentions=(Retention.DELETED,), expired=None, when={"in_retention": ">= grace_days"}
    )

    def decide(self, memory: Memory, situation: Situation) -> Move | None:
        """Purge it."""
        now, since = situation.now, memory.retention_since
        due = since + timedelta(days=situation.settings.grace_days)
        if situation.due_at is not None and due > situation.due_at and now - since > timedelta(days=1):
            return None
        days = (now - since).days
        return Move.of(memory, Retention.PURGED, f"deleted {days} days ago")


#: The rules of maintenance that change retention, in the order in which they are asked.
RETENTION_RULES: tuple[Rule, ...] = (ExpiredMemories(), UnusedForArchive(), ArchivedMemories(), DeletedMemories())
