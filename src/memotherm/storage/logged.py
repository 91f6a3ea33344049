"""What the recall log and the receipts may still say about a recall when they are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memotherm.storage.statements import Statements
from memotherm.storage.values import LaterUse, RecallEntry

__all__ = ["without_purged"]

Waiting = tuple[RecallEntry | LaterUse, bool]


def without_purged(statements: Statements, waiting: Sequence[Waiting]) -> list[Waiting]:
    """Return entries, and whether each is logged, without what was purged between the recall and this transaction.

    As a purge does with those that are logged already: a recall that returned the memory is not logged, a receipt
    loses the query and the memory, and a later use of it is dropped.
    """
    entries = [entry for entry, _ in waiting]
    nos = {no for entry in entries for no in ((entry.no,) if isinstance(entry, LaterUse) else entry.returned)}
    receipts = [entry.receipt for entry in entries if isinstance(entry, RecallEntry) and entry.receipt is not None]
    ids = {parts[0] for receipt in receipts for parts in receipt.entries}
    if not nos | ids:
        return list(waiting)
    rows = statements.rows("unpurged", nos=list(nos), ids=list(ids))
    kept_nos, kept_ids = {no for no, _ in rows}, {memory_id for _, memory_id in rows}
    remaining: list[Waiting] = []
    for entry, keep in waiting:
        if isinstance(entry, RecallEntry):
            remaining.append((_receipt_without(entry, ids - kept_ids), keep and kept_nos.issuperset(entry.returned)))
        elif entry.no in kept_nos:
            remaining.append((entry, keep))
    return remaining


def _receipt_without(entry: RecallEntry, purged: set[str]) -> RecallEntry:
    receipt = entry.receipt
    if receipt is None or purged.isdisjoint(parts[0] for parts in receipt.entries):
        return entry
    remaining = [parts for parts in receipt.entries if parts[0] not in purged]
    return replace(entry, receipt=receipt._replace(query=None, entries=remaining))
