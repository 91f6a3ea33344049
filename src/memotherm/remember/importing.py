"""Store memories that another program or an export has written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from memotherm.model import Retention, Scope
from memotherm.remember.draft import IMPORTED, Draft, draft_of
from memotherm.remember.writer import MemoryWriter
from memotherm.storage.store import Store
from memotherm.storage.values import Find
from memotherm.text.clean import digest

__all__ = ["Importer"]

_PAGE = 1000


class Importer:
    """One import into a scope; entries that are archived there already are not stored again."""

    def __init__(self, store: Store, writer: MemoryWriter, scope: Scope, now: datetime, actor: str) -> None:
        self._store = store
        self._writer = writer
        self._scope = scope
        self._now = now
        self._actor = actor
        #: The archived memories of each scope, as far as they were looked for.
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
        """Return the drafts without archived ones that the scope has archived already."""
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
