"""Erase everything at and below a scope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

from memotherm.model import Retention, Scope
from memotherm.model.reports import Erased
from memotherm.storage.store import Store
from memotherm.storage.values import Cause, Record

__all__ = ["all_erased", "erase"]

#: Memories of one transaction; all of them are erased, or none.
_BATCH = 200
_LATEST = datetime.max.replace(tzinfo=UTC)


def erase(store: Store, scope: Scope, cause: Cause) -> Erased:
    """Erase what a store holds inside a scope, a batch at a time; a second call continues where one was interrupted."""
    spaces = store.spaces_within(scope)
    # The logs first, because a purge deletes the recalls that have returned its memory.
    with store.write() as transaction:
        logged = transaction.erase_usage(spaces)
    erased, after = Erased(scope=scope, **logged._asdict()), 0
    while page := store.written_before(spaces, _LATEST, after, _BATCH):
        gone = _purge(store, spaces, page, cause)
        erased = replace(
            erased,
            memories=erased.memories + len(gone),
            with_vectors=erased.with_vectors + sum(record.parts > 0 for record in gone),
            with_words=erased.with_words + sum(record.memory.retention is Retention.ACTIVE for record in gone),
        )
        after = page[-1].no
    roots = store.roots(spaces)
    notes = [note.note for root in roots for note in store.notes(root.space)]
    with store.write() as transaction:
        for note in notes:
            transaction.drop_note(note)
        for root in roots:
            transaction.drop_root(root.space)
        # Again, because the store erases the copies in its files after this.
        tombstones = transaction.erase_usage(spaces).tombstones
    folders = tuple(sorted({root.path for root in roots}))
    return replace(erased, notes=len(notes), folders=folders, tombstones=tombstones)


def all_erased(parts: Sequence[Erased]) -> Erased:
    """Return what was erased in several parts of a store together."""
    total: dict[str, Any] = {}
    for name in (field.name for field in fields(Erased) if field.name != "scope"):
        values = [getattr(part, name) for part in parts]
        total[name] = tuple(sorted({path for paths in values for path in paths})) if name == "folders" else sum(values)
    return replace(parts[0], **total)


def _purge(store: Store, spaces: Sequence[int], page: Sequence[Record], cause: Cause) -> list[Record]:
    """Purge those memories of a page that are still there, and return them as they were."""
    with store.write() as transaction:
        current = [transaction.get(record.memory.id) for record in page]
        found = [record for record in current if record is not None and record.space in spaces]
        remaining = [record for record in found if record.memory.retention is not Retention.PURGED]
        for record in remaining:
            transaction.purge(record, cause, clean=False)
        return remaining
