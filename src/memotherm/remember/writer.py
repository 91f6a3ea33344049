"""Store new memories: merge duplicates, replace memories by key, and import from other programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from memotherm.errors import InvalidInput, StaleWrite
from memotherm.model import Memory, Priority, Retention, Scope
from memotherm.remember.changes import duplicate_of, require_visible
from memotherm.remember.draft import IMPORTED, Draft, draft_of, memory_of
from memotherm.remember.limits import Limits
from memotherm.settings import Settings
from memotherm.storage.store import Store, Transaction
from memotherm.storage.values import Cause, Find, Record
from memotherm.text.content import digest
from memotherm.tiers.rules.retention import changed_retention
from memotherm.vectors.vectorizer import Vectorizer


class MemoryWriter:
    """Stores drafts in a scope: all of them, or none."""

    def __init__(self, store: Store, vectorizer: Vectorizer, limits: Limits, settings: Settings) -> None:
        self._store = store
        self._vectorizer = vectorizer
        self._limits = limits
        self._settings = settings

    def remember(
        self,
        drafts: Sequence[Draft],
        scope: Scope,
        now: datetime,
        actor: str,
        *,
        forget: Sequence[str] = (),
        why: str = "",
    ) -> list[Memory]:
        """Store the drafts and delete memories, in one transaction; return what was stored, in the same order."""
        records = self._write(drafts, scope, now, actor, forget=forget, why=why)
        return [record.memory for record in records if record is not None]

    def import_drafts(self, drafts: Sequence[Draft], scope: Scope, now: datetime, actor: str) -> list[Memory | None]:
        """Store drafts from another program; return None for contents that were purged here."""
        records = self._write(drafts, scope, now, actor, skip_purged=True)
        return [None if record is None else record.memory for record in records]

    def _write(
        self,
        drafts: Sequence[Draft],
        scope: Scope,
        now: datetime,
        actor: str,
        *,
        skip_purged: bool = False,
        forget: Sequence[str] = (),
        why: str = "",
    ) -> list[Record | None]:
        memories = [memory_of(draft, scope, now, self._settings) for draft in drafts]
        embedded = self._vectorizer.for_contents([memory.content if memory.index else None for memory in memories])
        cause = Cause(action="remember", at=now, actor=actor, rule=memories[0].tier_rule if memories else "explicit")

        def store_all(transaction: Transaction) -> list[Record | None]:
            space = transaction.space(scope)
            digests = {memory.digest for memory in memories}
            if len(memories) > 1:
                transaction.prefetch_duplicates(digests)
            purged = transaction.purged_digests(scope, digests) if skip_purged and digests else set()
            records: list[Record | None] = []
            for draft, memory, vectors in zip(drafts, memories, embedded.vectors, strict=True):
                if memory.digest in purged and self.existing(transaction, space, memory, cause) is None:
                    records.append(None)
                    continue
                if draft.version is not None:
                    _require_version(transaction.with_key(space, memory.key or ""), memory, draft.version, now)
                records.append(self.store(transaction, space, memory, vectors, cause))
            for memory_id in forget:
                forgotten = require_visible(transaction, scope, memory_id)
                retention = changed_retention(forgotten.memory, Retention.DELETED, now, self._settings)
                after = replace(forgotten.memory, retention=retention)
                transaction.change(forgotten, after, replace(cause, action="forget", why=why))
            return records

        return self._store.transact(store_all, made_by=embedded.made_by)

    def store(self, transaction: Transaction, space: int, memory: Memory, vectors: Any, cause: Cause) -> Record:  # noqa: ANN401
        """Store one memory inside a transaction, or change the memory with the same key or content."""
        if cause.rule != memory.tier_rule:
            cause = replace(cause, rule=memory.tier_rule)
        stored = self.existing(transaction, space, memory, cause)
        if memory.supersedes is not None:
            successor = stored.memory.id if stored is not None else memory.id
            superseded = require_visible(transaction, memory.scope, memory.supersedes)
            _archive_superseded(transaction, superseded, successor, cause)
        if stored is not None and memory.key is not None:
            return self._replace(transaction, space, stored, memory, vectors, cause)
        if stored is not None:
            return self._merge(transaction, space, stored, memory, cause)
        self._limits.admit(transaction, space, memory, cause)
        return transaction.insert(space, memory, vectors, cause)

    def existing(self, transaction: Transaction, space: int, memory: Memory, cause: Cause) -> Record | None:
        """Return the memory with the same key, or without a key the one with the same content."""
        if memory.key is not None:
            return transaction.with_key(space, memory.key)
        return duplicate_of(transaction, space, memory, cause.at, self._settings)

    def _replace(
        self,
        transaction: Transaction,
        space: int,
        stored: Record,
        memory: Memory,
        vectors: Any,  # noqa: ANN401
        cause: Cause,
    ) -> Record:
        """Replace the values of the memory with the key; a hidden memory becomes active again."""
        if memory.retention is not Retention.ACTIVE:
            return stored
        before = stored.memory
        # A visible memory keeps its tier and priority, unless the second call gave others.
        visible = before.visible_at(cause.at)
        keeps_tier = visible and memory.tier_rule in ("default", "ttl")
        keeps_priority = visible and memory.priority is Priority.NORMAL
        after = replace(
            before,
            content=memory.content,
            tokens=memory.tokens,
            digest=memory.digest,
            kind=memory.kind,
            tags=memory.tags,
            metadata=memory.metadata,
            source=memory.source,
            index=memory.index,
            expires_at=memory.expires_at,
            supersedes=memory.supersedes or before.supersedes,
            retention=Retention.ACTIVE,
            priority=before.priority if keeps_priority else memory.priority,
            tier=before.tier if keeps_tier else memory.tier,
            tier_rule=before.tier_rule if keeps_tier else memory.tier_rule,
        )
        again = replace(cause, action="update", rule="key", why="remembered again under its key")
        self._limits.admit(transaction, space, after, again, stored)
        return transaction.change(stored, after, again, vectors)

    def _merge(self, transaction: Transaction, space: int, duplicate: Record, memory: Memory, cause: Cause) -> Record:
        """Count a use of the stored memory, and add the values that the second call gave explicitly."""
        transaction.touch([duplicate.no], cause.at)
        current = transaction.get(duplicate.memory.id) or duplicate
        stored = current.memory
        # A time to live only decides the first tier of a memory, and the later of two expiry times wins.
        explicit = memory.tier_rule not in ("default", "ttl")
        ends = [end for end in (stored.expires_at, memory.expires_at) if end is not None]
        after = replace(
            stored,
            tags=tuple(dict.fromkeys((*stored.tags, *memory.tags))),
            metadata={**stored.metadata, **memory.metadata},
            priority=stored.priority if memory.priority is Priority.NORMAL else memory.priority,
            supersedes=memory.supersedes or stored.supersedes,
            tier=memory.tier if explicit else stored.tier,
            tier_rule=memory.tier_rule if explicit else stored.tier_rule,
            expires_at=max(ends) if len(ends) == 2 else None,
        )
        repeat = replace(cause, action="update", rule="duplicate", why="remembered again")
        self._limits.admit(transaction, space, after, repeat, current)
        return transaction.change(current, after, repeat)


def _require_version(stored: Record | None, memory: Memory, version: int, now: datetime) -> None:
    """Raise `StaleWrite` unless the visible memory with the key has this version; 0 means no memory."""
    found = stored.memory.version if stored is not None and stored.memory.visible_at(now) else 0
    if found != version:
        state = f"has version {found}, not {version}" if found else f"has no memory, and not one of version {version}"
        raise StaleWrite(f"the key {memory.key!r} {state}: read it again, then store it")


def _archive_superseded(transaction: Transaction, superseded: Record, successor: str, cause: Cause) -> None:
    """Archive the memory that another one replaces."""
    if superseded.memory.id == successor:
        raise InvalidInput(f"{successor} already has this content: a memory cannot supersede itself")
    superseded = _open_circle(transaction, superseded, successor, cause)
    if superseded.memory.retention is not Retention.ACTIVE:
        return
    archived = replace(superseded.memory, retention=Retention.ARCHIVED)
    cause = replace(cause, action="archive", rule="superseded", why=f"replaced by {successor}")
    transaction.change(superseded, archived, cause)


def _open_circle(transaction: Transaction, superseded: Record, successor: str, cause: Cause) -> Record:
    """Break a cycle of `supersedes` before it closes; return the superseded memory."""
    reason = replace(cause, action="update", rule="superseded", why=f"{successor} replaces what had replaced it")
    link: Record | None = superseded
    seen: set[str] = set()
    while link is not None and link.memory.supersedes is not None and link.memory.id not in seen:
        seen.add(link.memory.id)
        if link.memory.supersedes == successor:
            opened = transaction.change(link, replace(link.memory, supersedes=None), reason)
            return opened if link is superseded else superseded
        link = transaction.get(link.memory.supersedes)
    return superseded


# Imports

_PAGE = 1000


class Importer:
    """One import into a scope; entries that are already archived there are skipped."""

    def __init__(self, store: Store, writer: MemoryWriter, scope: Scope, now: datetime, actor: str) -> None:
        self._store = store
        self._writer = writer
        self._scope = scope
        self._now = now
        self._actor = actor
        #: Archived memories by scope, read on demand.
        self._archived: dict[Scope, set[tuple[str, str, str | None]]] = {}

    def store(self, entries: Sequence[Mapping[str, Any]], within: Mapping[str, str]) -> tuple[int, int]:
        """Store entries, given as mappings of `remember`'s arguments, `retention`, `created_at` and `verified_at`.

        Return how many are new, and how many were left out because their content was purged here.

        Args:
            entries: The entries.
            within: Fields of their scope; those that the scope of the import sets take precedence.
        """
        scope = Scope(**{**within, **dict(self._scope.items())})
        drafts = [_draft(entry) for entry in entries]
        if any(draft.retention is Retention.ARCHIVED for draft in drafts):
            drafts = self._without_archived(drafts, scope)
        before = self._store.seq()
        memories = self._writer.import_drafts(drafts, scope, self._now, self._actor)
        new = {memory.id for memory in memories if memory and memory.version > before and not memory.access_count}
        return len(new), memories.count(None)

    def _without_archived(self, drafts: Sequence[Draft], scope: Scope) -> list[Draft]:
        """Return the drafts without those that the scope has already archived."""
        if scope not in self._archived:
            self._archived[scope] = self._archived_in(scope)
        archived, remaining = self._archived[scope], []
        for draft in drafts:
            identity = (digest(draft.content), draft.kind, draft.key)
            if draft.retention is not Retention.ARCHIVED:
                remaining.append(draft)
            elif identity not in archived:
                archived.add(identity)
                remaining.append(draft)
        return remaining

    def _archived_in(self, scope: Scope) -> set[tuple[str, str, str | None]]:
        """Return the digest, kind and key of every archived memory of exactly a scope."""
        spaces, archived, before = self._store.spaces(scope), set(), None
        find = Find(now=self._now, retention=Retention.ARCHIVED, limit=_PAGE)
        while page := self._store.find(spaces, replace(find, before=before)):
            own = (record.memory for record in page if record.memory.scope == scope)
            archived |= {(memory.digest, memory.kind, memory.key) for memory in own}
            before = page[-1].no
        return archived


def _draft(entry: Mapping[str, Any]) -> Draft:
    draft = draft_of({name: value for name, value in entry.items() if name not in IMPORTED})
    retention = Retention.of(entry.get("retention", Retention.ACTIVE))
    return replace(draft, retention=retention, created_at=entry.get("created_at"), verified_at=entry.get("verified_at"))
