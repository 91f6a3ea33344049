"""Every change of a memory that exists: one way in, one transaction, one event."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from thermocline.errors import InvalidInput, NotFound, StaleWrite
from thermocline.model import Event, Memory, Move, Retention, Scope
from thermocline.policy.retention import changed_retention
from thermocline.services.limits import make_room
from thermocline.services.vectors import Vectorizer
from thermocline.settings import Settings
from thermocline.storage.rows import apply_changes, changes_between
from thermocline.storage.store import Cause, Record, Store, Writing
from thermocline.text.clean import digest
from thermocline.text.tokens import count_tokens

__all__ = ["Changes", "visible"]


def visible(writing: Writing, scope: Scope, memory_id: str) -> Record:
    """Return a memory that the scope can see; anything else does not exist for it."""
    record = writing.get(memory_id) if isinstance(memory_id, str) else None
    if record is None or not scope.sees(record.memory.scope) or record.memory.retention is Retention.PURGED:
        raise NotFound(f"no memory {memory_id!r} can be seen from here ({scope})")
    return record


class Changes:
    """Changes single memories, through limits and ledger."""

    def __init__(self, store: Store, vectorizer: Vectorizer, settings: Settings) -> None:
        self._store = store
        self._vectorizer = vectorizer
        self._settings = settings

    def change(self, scope: Scope, memory_id: str, alter: Callable[[Memory], Memory], cause: Cause) -> Memory:
        """Replace a memory by what `alter` makes of it."""
        with self._store.write() as writing:
            record = visible(writing, scope, memory_id)
            return self._apply(writing, record, alter(record.memory), cause).memory

    def rewrite(
        self, scope: Scope, memory_id: str, alter: Callable[[Memory], Memory], content: str, cause: Cause
    ) -> Memory:
        """Like `change`, with a new content whose vectors are made before the store is held."""
        (vectors,), _ = self._vectorizer.for_contents([content])

        with self._store.write() as writing:
            record = visible(writing, scope, memory_id)
            after = with_content(alter(record.memory), content)
            return self._apply(writing, record, after, cause, vectors).memory

    def retain(self, scope: Scope, memory_id: str, wanted: Retention, cause: Cause) -> Memory:
        """Hide a memory or bring it back; one that had expired comes back without an end."""

        def alter(memory: Memory) -> Memory:
            retention = changed_retention(memory, wanted)
            over = memory.expires_at is not None and memory.expires_at <= cause.at
            lifted = wanted is Retention.ACTIVE and over
            return replace(memory, retention=retention, expires_at=None if lifted else memory.expires_at)

        return self.change(scope, memory_id, alter, cause)

    def purge(self, scope: Scope, memory_id: str, cause: Cause) -> None:
        """Erase a memory; only its events stay."""
        with self._store.write() as writing:
            writing.purge(visible(writing, scope, memory_id), cause)

    def move(self, scope: Scope, moves: Iterable[Move], cause: Cause) -> list[Move]:
        """Carry out moves in one transaction; return those that still applied."""
        done = []
        with self._store.write() as writing:
            for move in moves:
                record = visible(writing, scope, move.id)
                if record.memory.tier is not move.from_tier or record.memory.retention is not Retention.ACTIVE:
                    continue
                after = replace(record.memory, tier=move.to, tier_rule=move.rule)
                self._apply(writing, record, after, replace(cause, rule=move.rule, why=move.why))
                done.append(move)
        return done

    def undo(self, scope: Scope, spaces: tuple[int, ...], seq: int, cause: Cause) -> Memory:
        """Put a memory back to what it was before an event."""
        found = self._store.event(spaces, seq)
        if found is None:
            raise NotFound(f"no event {seq} can be seen from here ({scope})")
        event, record = found
        before = _values_before(event, record.memory)
        content = before.get("content", record.memory.content)
        (vectors,), _ = self._vectorizer.for_contents([content]) if "content" in before else ((None,), None)
        with self._store.write() as writing:
            current = visible(writing, scope, record.memory.id)
            _require_unchanged(event, current.memory)
            after = apply_changes(current.memory, before)
            return self._apply(writing, current, with_content(after, content), cause, vectors).memory

    def _apply(
        self,
        writing: Writing,
        record: Record,
        after: Memory,
        cause: Cause,
        vectors: Any = None,  # noqa: ANN401
    ) -> Record:
        space = writing.space(after.scope)
        make_room(writing, space, after, self._settings, cause, record)
        return writing.change(record, after, cause, vectors)


def with_content(memory: Memory, content: str) -> Memory:
    """Return the memory with another content and what follows from it."""
    if content == memory.content and memory.digest:
        return memory
    return replace(memory, content=content, digest=digest(content), tokens=count_tokens(content))


def _values_before(event: Event, memory: Memory) -> dict[str, Any]:
    """Return the values to put back; what first remembered a memory is undone by forgetting it."""
    if event.action == "purge" or memory.retention is Retention.PURGED:
        raise InvalidInput(f"event {event.seq} cannot be undone: {memory.id} was purged and its content is gone")
    if not event.changes:
        raise InvalidInput(f"event {event.seq} ({event.action}) changed nothing that could be put back")
    if all(was is None for axis, (was, _) in event.changes.items() if axis in ("tier", "priority", "retention")) and (
        "retention" in event.changes and event.changes["retention"][0] is None
    ):
        return {"retention": str(Retention.DELETED)}
    return {name: was for name, (was, _) in event.changes.items()}


def _require_unchanged(event: Event, memory: Memory) -> None:
    if event.changes.get("retention", ("", ""))[0] is None:
        return
    then = apply_changes(memory, {name: now for name, (_, now) in event.changes.items()})
    moved_on = changes_between(memory, then)
    if moved_on:
        raise StaleWrite(
            f"{memory.id} has changed again since event {event.seq} ({', '.join(moved_on)}): undo those first"
        )
