"""What the logs may still say about recalls and uses when they are written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from memotherm.storage.statements import Statements
from memotherm.storage.values import LaterUse, RecallEntry

__all__ = ["without_purged"]

#: A recall and whether it is logged, or a use that followed one.
Waiting = tuple[RecallEntry | LaterUse, bool]


def without_purged(statements: Statements, waiting: Sequence[Waiting]) -> list[Waiting]:
    """Return what waits to be logged, without what was purged before this transaction.

    As a purge does with what is logged already: a recall that returned the memory and a use of it are not logged, and
    a receipt loses the query and the memory.
    """
    nos = {no for entry, _ in waiting for no in _numbers(entry)}
    ids = {memory_id for entry, _ in waiting for memory_id in _ids(entry)}
    if not nos | ids:
        return list(waiting)
    rows = statements.rows("unpurged", nos=list(nos), ids=list(ids))
    kept, purged = {no for no, _ in rows}, ids - {memory_id for _, memory_id in rows}
    return [
        (_receipt_without(entry, purged), keep and kept.issuperset(_numbers(entry)))
        for entry, keep in waiting
        if not isinstance(entry, LaterUse) or entry.no in kept
    ]


def _numbers(entry: RecallEntry | LaterUse) -> Sequence[int]:
    return (entry.no,) if isinstance(entry, LaterUse) else entry.returned


def _ids(entry: RecallEntry | LaterUse) -> Iterator[str]:
    if isinstance(entry, RecallEntry) and entry.receipt is not None:
        yield from (parts[0] for parts in entry.receipt.entries)


def _receipt_without(entry: RecallEntry | LaterUse, purged: set[str]) -> RecallEntry | LaterUse:
    if isinstance(entry, LaterUse) or entry.receipt is None or purged.isdisjoint(_ids(entry)):
        return entry
    remaining = [parts for parts in entry.receipt.entries if parts[0] not in purged]
    return replace(entry, receipt=entry.receipt._replace(query=None, entries=remaining))
