"""Read everything at and below a scope, for a request of access."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from memotherm.model import Scope
from memotherm.model.reports import Everything
from memotherm.model.results import LoggedRecall
from memotherm.storage.store import Store

__all__ = ["everything"]

_PAGE = 1000
_LATEST = datetime.max.replace(tzinfo=UTC)

Item = TypeVar("Item")


def everything(store: Store, scope: Scope) -> Everything:
    """Return the memories, events, receipts and logged recalls of the spaces inside a scope."""
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
    """Yield the items of all pages; a page begins behind the number of the last item."""
    last = 0
    while page := page_after(last):
        yield from page
        last = number(page[-1])
