"""Who may change what: a caller sees it, and less trust neither replaces nor erases what more trust stands behind.

It may archive and forget it, which can be undone, as an agent does when its user asks for it; but not what is pinned,
which it cannot unpin either. Tier, other priorities, tags and metadata are not what a memory says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memotherm.errors import Forbidden, InvalidInput, NotFound
from memotherm.model import Event, Memory, Priority, Retention, Scope, Trust
from memotherm.model.marks import ENDED_BY, ENDS, ends_of
from memotherm.storage.store import Transaction
from memotherm.storage.values import Record

#: The fields that decide what a memory says, until when, and under which key it is found.
_SAID = ("kind", "key", "valid_from", "valid_until")


def outranks(memory: Memory, by: Trust) -> bool:
    """Return whether a memory has more trust than a caller; a proposal is nobody's until it is approved."""
    return memory.trust.rank > by.rank and memory.retention is not Retention.PROPOSED


def require_authority(before: Memory, after: Memory | None, by: Trust, taken: str = "") -> None:
    """Raise `Forbidden` if a caller takes away what more trust stands behind.

    It would be `after`, or erased if that is None; `taken` says what the caller does if that is forbidden in any case,
    such as "replace it".
    """
    if not outranks(before, by):
        return
    taken = taken or ("erase it" if after is None else _taken(before, after))
    if taken:
        raise Forbidden(
            f"{before.id} has the trust {before.trust}, and a caller with the trust {by} may not {taken}: ask the "
            "user, who can do so on the command line or in the dashboard"
        )


def with_end_of(stored: Memory, memory: Memory, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a memory that is stated again, with the condition that ends it then.

    It stays if it was set by more trust than the second statement has, and a guess does not replace it.
    """
    guess = "when" in ends_of(stored) and "when" not in ends_of(memory)
    ends = ends_of(stored) if guess or stored.trust.rank > memory.trust.rank else ends_of(memory)
    kept = {name: value for name, value in metadata.items() if name not in (ENDS, ENDED_BY)}
    ended = {ENDED_BY: stored.metadata[ENDED_BY]} if ENDED_BY in stored.metadata and not ends else {}
    return {**kept, **({ENDS: dict(ends)} if ends else ended)}


def _taken(before: Memory, after: Memory) -> str:
    """Return what a change takes away from those who see a memory, or an empty text."""
    pinned = before.priority is Priority.PINNED
    if pinned and after.retention is not before.retention and after.retention is not Retention.ACTIVE:
        return "hide it while it is pinned"
    if pinned and after.priority is not Priority.PINNED:
        return "unpin it"
    if after.digest != before.digest:
        return "change its content"
    if after.trust.rank < before.trust.rank:
        return "lower its trust"
    if not before.scope.sees(after.scope):
        return "hide it from its scope"
    if after.expires_at not in (before.expires_at, None):
        return "let it expire"
    if before.metadata.get(ENDS) != after.metadata.get(ENDS):
        return "change the condition that ends it"
    changed = [name for name in _SAID if getattr(before, name) != getattr(after, name)]
    return f"change its {changed[0]}" if changed else ""


def require_ids(*memory_ids: object) -> None:
    """Raise `InvalidInput` for a memory in the place of its id."""
    for each in memory_ids:
        if isinstance(each, Memory):
            raise InvalidInput(f"this takes the id of a memory, not the memory: give memory.id ({each.id!r})")


def require_visible(transaction: Transaction, scope: Scope, memory_id: str, *, inside: bool = False) -> Record:
    """Return a memory that the scope can see and change, or is at or below it if `inside` is true, or raise."""
    require_ids(memory_id)
    record = transaction.get(memory_id) if isinstance(memory_id, str) else None
    if inside and record is not None and record.memory.scope.sees(scope):
        scope = scope.narrowed(**dict(record.memory.scope.items()))
    if record is None or not scope.sees(record.memory.scope) or record.memory.retention is Retention.PURGED:
        raise NotFound(f"no memory {memory_id!r} can be seen from here ({scope})")
    if scope.owner not in (None, record.memory.scope.user):
        raise Forbidden(
            f"{memory_id} belongs to a wider scope ({record.memory.scope}) than this API key, which may only read it: "
            "use a key of the tenant, or create one for the user with --shared"
        )
    if not scope.may_change(record.memory.scope):
        raise InvalidInput(f"{memory_id} is shared by all tenants and read-only from here ({scope})")
    return record


def require_person(by: Trust) -> None:
    """Refuse to let somebody else than a person make a proposal active."""
    if by is not Trust.PERSON:
        raise Forbidden(
            "only a person approves a proposal: ask the user, who can do so with `memotherm approve`, in the "
            'dashboard, or in a program with mem.by("person")'
        )


def was_proposed(events: Sequence[Event]) -> bool:
    """Return whether a memory was a proposal before it was hidden."""
    hidden = next((event for event in reversed(events) if "retention" in event.changes), None)
    return hidden is not None and hidden.changes["retention"][0] == Retention.PROPOSED


def require_own(scope: Scope, target: Scope) -> None:
    """Refuse to give a memory to somebody else than the user of an API key."""
    if scope.owner not in (None, target.user):
        raise Forbidden(f"this API key may only store memories of the user {scope.owner}, not in the scope {target}")
