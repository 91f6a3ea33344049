"""Export everything inside a scope, move it to another project, or erase it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from memotherm.errors import Forbidden, InvalidInput, LimitReached
from memotherm.model import Retention, Scope
from memotherm.model.reports import Erased, Everything
from memotherm.model.results import LoggedRecall
from memotherm.remember.changes import Changes
from memotherm.storage.store import Store, Transaction
from memotherm.storage.values import Cause, Record

# Export

_PAGE = 1000
_LATEST = datetime.max.replace(tzinfo=UTC)

Item = TypeVar("Item")


def everything(store: Store, scope: Scope) -> Everything:
    """Return the memories, events, receipts and logged recalls of the spaces inside a scope, in one snapshot."""
    with store.flushed_snapshot():
        spaces = store.spaces_within(scope)
        memories = _all(lambda after: store.written_before(spaces, _LATEST, after, _PAGE), lambda record: record.no)
        events = _all(lambda after: store.ledger(spaces, after, _PAGE, oldest_first=True), lambda event: event.seq)
        recalls = _all(lambda after: store.log_entries(spaces, after, _PAGE), lambda entry: entry.number)
        receipts = _all(lambda past: store.receipts(spaces, past or None, _PAGE), lambda receipt: receipt.number)
        return Everything(
            memories=tuple(record.memory for record in memories),
            events=tuple(events),
            receipts=tuple(reversed([*receipts])),
            recalls=tuple(
                LoggedRecall(at=entry.at, query=entry.query, tiers=entry.tiers, returned=len(entry.returned))
                for entry in recalls
            ),
        )


def _all(page_after: Callable[[int], Sequence[Item]], number: Callable[[Item], int]) -> Iterator[Item]:
    """Yield the items of all pages; each page starts after the last item."""
    last = 0
    while page := page_after(last):
        yield from page
        last = number(page[-1])


# Move


def move_project(
    store: Store, changes: Changes, tenant: str | None, old: str, new: str, cause: Cause
) -> dict[str, str]:
    """Move the memories of a project to another one, and return why each was not moved, by its id."""
    spaces = store.spaces_within(Scope(tenant=tenant, project=old))
    outcome: dict[str, str] = {}
    for record in _all(lambda after: store.written_before(spaces, _LATEST, after, _PAGE), lambda record: record.no):
        memory = record.memory
        if memory.retention is Retention.PURGED or memory.scope.tenant != tenant:
            continue
        try:
            changes.change(
                memory.scope, memory.id, lambda each: replace(each, scope=replace(each.scope, project=new)), cause
            )
            outcome[memory.id] = ""
        except (Forbidden, InvalidInput, LimitReached) as error:
            outcome[memory.id] = str(error)
    return outcome


# Erasure

#: Memories of one transaction; all of them are erased, or none.
_BATCH = 200


def erase(store: Store, scope: Scope, cause: Cause) -> Erased:
    """Erase all data inside a scope in batches; a second call continues an interrupted one."""
    spaces = store.spaces_within(scope)
    # The logs first, because a purge deletes the recalls that have returned its memory.
    logged = store.transact(lambda transaction: transaction.erase_usage(spaces))
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

    def drop_notes(transaction: Transaction) -> int:
        for note in notes:
            transaction.drop_note(note)
        for root in roots:
            transaction.drop_root(root.space)
        # Again, because the store erases the copies in its files after this.
        return transaction.erase_usage(spaces).tombstones

    tombstones = store.transact(drop_notes)
    folders = tuple(sorted({root.path for root in roots}))
    return replace(erased, notes=len(notes), folders=folders, tombstones=tombstones)


def all_erased(parts: Sequence[Erased]) -> Erased:
    """Return the sum of what was erased in several parts of a store."""
    total: dict[str, Any] = {}
    for name in (field.name for field in fields(Erased) if field.name != "scope"):
        values = [getattr(part, name) for part in parts]
        total[name] = tuple(sorted({path for paths in values for path in paths})) if name == "folders" else sum(values)
    return replace(parts[0], **total)


def _purge(store: Store, spaces: Sequence[int], page: Sequence[Record], cause: Cause) -> list[Record]:
    """Purge the remaining memories of a page, and return them as they were."""

    def purge(transaction: Transaction) -> list[Record]:
        current = [transaction.get(record.memory.id) for record in page]
        found = [record for record in current if record is not None and record.space in spaces]
        remaining = [record for record in found if record.memory.retention is not Retention.PURGED]
        for record in remaining:
            transaction.purge(record, cause, clean=False)
        return remaining

    return store.transact(purge)
