"""Storing what is new, and recognising what is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from memotherm.errors import InvalidInput
from memotherm.model import Memory, Priority, Retention, Scope
from memotherm.remember.changes import visible
from memotherm.remember.draft import Draft, memory_of
from memotherm.remember.limits import Limits
from memotherm.settings import Settings
from memotherm.storage.contract import Store, Transaction
from memotherm.storage.values import Cause, Record
from memotherm.vectors.vectorizer import Vectorizer

__all__ = ["Remember"]


class Remember:
    """Stores drafts in a scope: all of them, or none."""

    def __init__(self, store: Store, vectorizer: Vectorizer, limits: Limits, settings: Settings) -> None:
        self._store = store
        self._vectorizer = vectorizer
        self._limits = limits
        self._settings = settings

    def remember(self, drafts: Sequence[Draft], scope: Scope, now: datetime, actor: str) -> list[Memory]:
        """Store the drafts in one transaction and return the memories, in the same order."""
        return [record.memory for record in self._stored(drafts, scope, now, actor, unearth=True) if record]

    def bring(self, drafts: Sequence[Draft], scope: Scope, now: datetime, actor: str) -> list[Memory | None]:
        """Like `remember`, for what comes from elsewhere: None where it was purged here, and stays away."""
        stored = self._stored(drafts, scope, now, actor, unearth=False)
        return [None if record is None else record.memory for record in stored]

    def _stored(
        self, drafts: Sequence[Draft], scope: Scope, now: datetime, actor: str, *, unearth: bool
    ) -> list[Record | None]:
        memories = [memory_of(draft, scope, now, self._settings) for draft in drafts]
        embedded = self._vectorizer.for_contents([memory.content for memory in memories])
        cause = Cause(action="remember", at=now, actor=actor)
        with self._store.write(made_by=embedded.made_by) as transaction:
            space = transaction.space(scope)
            buried = set() if unearth else transaction.purged_digests(scope, {memory.digest for memory in memories})
            return [
                None
                if memory.digest in buried and self._known(transaction, space, memory, cause) is None
                else self.store_one(transaction, space, memory, vectors, cause)
                for memory, vectors in zip(memories, embedded.vectors, strict=True)
            ]

    def store_one(self, transaction: Transaction, space: int, memory: Memory, vectors: Any, cause: Cause) -> Record:  # noqa: ANN401
        """Store one memory inside a transaction, or count the use of one that says the same."""
        cause = replace(cause, rule=memory.tier_rule)
        known = self._known(transaction, space, memory, cause)
        if memory.supersedes is not None:
            kept = known.memory.id if known is not None else memory.id
            _retire(transaction, visible(transaction, memory.scope, memory.supersedes), kept, cause)
        if known is not None:
            return self._repeat(transaction, space, known, memory, cause)
        self._limits.admit(transaction, space, memory, cause)
        return transaction.insert(space, memory, vectors, cause)

    def _known(self, transaction: Transaction, space: int, memory: Memory, cause: Cause) -> Record | None:
        if not self._settings.deduplicate:
            return None
        return transaction.duplicate(space, memory.digest, memory.kind, cause.at)

    def _repeat(self, transaction: Transaction, space: int, known: Record, memory: Memory, cause: Cause) -> Record:
        """Count the use of a memory that is there already, and add what the new words for it bring."""
        transaction.touch([known.no], cause.at)
        current = transaction.get(known.memory.id) or known
        after = _merged(current.memory, memory)
        repeat = replace(cause, action="update", rule="duplicate", why="remembered again")
        self._limits.admit(transaction, space, after, repeat, current)
        return transaction.change(current, after, repeat)


def _merged(known: Memory, again: Memory) -> Memory:
    """Return the known memory with everything that was said explicitly the second time.

    A time to live decides where a memory starts, not where one goes that is there already, and the
    longer of two lives wins: nobody who asked to keep something loses it because another did not.
    """
    explicit = again.tier_rule not in ("default", "ttl")
    ends = (known.expires_at, again.expires_at)
    return replace(
        known,
        tags=tuple(dict.fromkeys((*known.tags, *again.tags))),
        metadata={**known.metadata, **again.metadata},
        priority=known.priority if again.priority is Priority.NORMAL else again.priority,
        supersedes=again.supersedes or known.supersedes,
        tier=again.tier if explicit else known.tier,
        tier_rule=again.tier_rule if explicit else known.tier_rule,
        expires_at=None if None in ends else max(end for end in ends if end is not None),
    )


def _retire(transaction: Transaction, replaced: Record, kept: str, cause: Cause) -> None:
    """Archive the memory that another one replaces."""
    if replaced.memory.id == kept:
        raise InvalidInput(f"{kept} already says this: a memory cannot supersede itself")
    if replaced.memory.retention is not Retention.ACTIVE:
        return
    retired = replace(cause, action="archive", rule="superseded", why=f"replaced by {kept}")
    transaction.change(replaced, replace(replaced.memory, retention=Retention.ARCHIVED), retired)
