"""Every change of a memory that exists: one way in, one transaction, one event."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from memotherm.errors import InvalidInput, LimitReached, NotFound, StaleWrite
from memotherm.model import Event, Memory, Move, Priority, Retention, Scope, Tier
from memotherm.remember.limits import admit
from memotherm.rules.marks import in_file
from memotherm.rules.retention import changed_retention, require_active
from memotherm.settings import Settings
from memotherm.storage.contract import Store, Transaction
from memotherm.storage.rows import apply_changes, changes_between
from memotherm.storage.values import Cause, Record
from memotherm.text.clean import digest
from memotherm.text.tokens import count_tokens
from memotherm.vectors.vectorizer import Vectorizer

__all__ = ["Changes", "visible", "with_content"]

#: How many moves one transaction makes, so that other writers never wait long.
_BATCH = 500


def visible(transaction: Transaction, scope: Scope, memory_id: str) -> Record:
    """Return a memory that the scope can see; anything else does not exist for it."""
    record = transaction.get(memory_id) if isinstance(memory_id, str) else None
    if record is None or not scope.sees(record.memory.scope) or record.memory.retention is Retention.PURGED:
        raise NotFound(f"no memory {memory_id!r} can be seen from here ({scope})")
    if not scope.may_change(record.memory.scope):
        raise InvalidInput(f"{memory_id} is shared by all tenants and read-only from here ({scope})")
    return record


class Changes:
    """Changes single memories, through limits and ledger."""

    def __init__(self, store: Store, vectorizer: Vectorizer, settings: Settings) -> None:
        self._store = store
        self._vectorizer = vectorizer
        self._settings = settings

    def change(self, scope: Scope, memory_id: str, alter: Callable[[Memory], Memory], cause: Cause) -> Memory:
        """Replace a memory by what `alter` makes of it."""
        with self._store.write() as transaction:
            record = visible(transaction, scope, memory_id)
            return self._apply(transaction, record, alter(record.memory), cause).memory

    def move(self, scope: Scope, memory_id: str, tier: Tier, cause: Cause) -> Memory:
        """Move an active memory to another tier."""
        return self.change(
            scope, memory_id, lambda memory: replace(require_active(memory), tier=tier, tier_rule="explicit"), cause
        )

    def prioritize(self, scope: Scope, memory_id: str, priority: Priority, cause: Cause) -> Memory:
        """Set the priority of an active memory."""
        return self.change(scope, memory_id, lambda memory: replace(require_active(memory), priority=priority), cause)

    def unpin(self, scope: Scope, memory_id: str, cause: Cause) -> Memory:
        """Give a pinned memory normal priority; another one is left as it is."""

        def unpinned(memory: Memory) -> Memory:
            pinned = require_active(memory).priority is Priority.PINNED
            return replace(memory, priority=Priority.NORMAL) if pinned else memory

        return self.change(scope, memory_id, unpinned, cause)

    def widen(self, scope: Scope, memory_id: str, cause: Cause) -> Memory:
        """Give a memory of a session to the scope around it."""

        def widened(memory: Memory) -> Memory:
            return replace(require_active(memory), scope=replace(memory.scope, session=None))

        return self.change(scope, memory_id, widened, cause)

    def rewrite(
        self, scope: Scope, memory_id: str, alter: Callable[[Memory], Memory], content: str, cause: Cause
    ) -> Memory:
        """Like `change`, with a new content whose vectors are made before the store is held."""
        (vectors,), _ = self._vectorizer.for_contents([content])

        with self._store.write(made_by=self._vectorizer.number) as transaction:
            record = visible(transaction, scope, memory_id)
            _require_own_words(record.memory)
            after = with_content(alter(record.memory), content, self._settings.tokenizer)
            return self._apply(transaction, record, after, cause, vectors).memory

    def retain(self, scope: Scope, memory_id: str, wanted: Retention, cause: Cause) -> Memory:
        """Hide a memory or bring it back; one that had expired comes back without an end."""

        def alter(memory: Memory) -> Memory:
            retention = changed_retention(memory, wanted, cause.at, self._settings)
            over = memory.expires_at is not None and memory.expires_at <= cause.at
            lifted = wanted is Retention.ACTIVE and over
            return replace(memory, retention=retention, expires_at=None if lifted else memory.expires_at)

        return self.change(scope, memory_id, alter, cause)

    def purge(self, scope: Scope, memory_id: str, cause: Cause) -> None:
        """Erase a memory; only its events stay."""
        with self._store.write() as transaction:
            transaction.purge(visible(transaction, scope, memory_id), cause)

    def carry_out(self, moves: Sequence[Move], cause: Cause) -> list[Move]:
        """Carry out what a policy decided, in small transactions; return the moves that still applied."""
        done: list[Move] = []
        for start in range(0, len(moves), _BATCH):
            with self._store.write() as transaction:
                done += [move for move in moves[start : start + _BATCH] if self._moved(transaction, move, cause)]
        return done

    def _moved(self, transaction: Transaction, move: Move, cause: Cause) -> bool:
        """Move a memory unless it has changed since the decision, or its new place is full."""
        record = transaction.get(move.id)
        if record is None or record.memory.tier is not move.from_tier or not record.memory.visible_at(cause.at):
            return False
        after = replace(record.memory, tier=move.to, tier_rule=move.rule)
        try:
            self._apply(transaction, record, after, replace(cause, action="move", rule=move.rule, why=move.why))
        except LimitReached:
            return False
        return True

    def undo(self, scope: Scope, spaces: tuple[int, ...], seq: int, cause: Cause) -> Memory:
        """Put a memory back to what it was before an event."""
        found = self._store.event(spaces, seq)
        if found is None:
            raise NotFound(f"no event {seq} can be seen from here ({scope})")
        event, record = found
        before = _values_before(event, record.memory)
        content: str | None = before.get("content")
        (vectors,), _ = ((None,), None) if content is None else self._vectorizer.for_contents([content])
        with self._store.write(made_by=self._vectorizer.number) as transaction:
            current = visible(transaction, scope, record.memory.id)
            _require_unchanged(event, current.memory)
            after = self._allowed(current.memory, apply_changes(current.memory, before), cause)
            if content is not None:
                after = with_content(after, content, self._settings.tokenizer)
            return self._apply(transaction, current, after, cause, vectors).memory

    def _allowed(self, now: Memory, after: Memory, cause: Cause) -> Memory:
        """Return what an undo leads to, if the memory may go there: what is hidden changes only by coming back."""
        if now.retention is not after.retention:
            changed_retention(now, after.retention, cause.at, self._settings)
        else:
            require_active(now)
        return after

    def _apply(
        self,
        transaction: Transaction,
        record: Record,
        after: Memory,
        cause: Cause,
        vectors: Any = None,  # noqa: ANN401
    ) -> Record:
        space = record.space if after.scope == record.memory.scope else transaction.space(after.scope)
        admit(transaction, space, after, self._settings, cause, record)
        return transaction.change(record, after, cause, vectors)


def with_content(memory: Memory, content: str, tokenizer: str) -> Memory:
    """Return the memory with another content and what follows from it."""
    return replace(memory, content=content, digest=digest(content), tokens=count_tokens(content, tokenizer))


def _require_own_words(memory: Memory) -> None:
    if in_file(memory):
        where = memory.metadata.get("path", "a note")
        raise InvalidInput(f"{memory.id} is part of {where}: edit the file, and the next sync follows")


def _values_before(event: Event, memory: Memory) -> dict[str, Any]:
    """Return the values to put back; what first remembered a memory is undone by forgetting it."""
    if event.action == "purge" or memory.retention is Retention.PURGED:
        raise InvalidInput(f"event {event.seq} cannot be undone: {memory.id} was purged and its content is gone")
    if not event.changes:
        raise InvalidInput(f"event {event.seq} ({event.action}) changed nothing that could be put back")
    if _is_first(event):
        return {"retention": str(Retention.DELETED)}
    return {name: was for name, (was, _) in event.changes.items()}


def _is_first(event: Event) -> bool:
    """Tell whether an event is the one that a memory began with."""
    return "retention" in event.changes and event.changes["retention"][0] is None


def _require_unchanged(event: Event, memory: Memory) -> None:
    if _is_first(event):
        return
    then = apply_changes(memory, {name: now for name, (_, now) in event.changes.items()})
    moved_on = changes_between(memory, then)
    if moved_on:
        raise StaleWrite(
            f"{memory.id} has changed again since event {event.seq} ({', '.join(moved_on)}): undo those first"
        )
