"""What contexts have injected, and why: `mem.receipts`."""

from __future__ import annotations

from memotherm.context.explain import explain
from memotherm.errors import NotFound
from memotherm.model import Retention
from memotherm.model.receipts import KeptReceipt, ReceiptAnswer, ReceiptPage
from memotherm.view import LARGEST_PAGE, View, cursor_number, require_limit

__all__ = ["Receipts"]


class Receipts:
    """The receipts of contexts inside a scope; the setting `receipt_days` says how long they are kept."""

    def __init__(self, view: View) -> None:
        self._view = view

    def list(self, session: str | None = None, limit: int = 20, cursor: str | None = None) -> ReceiptPage:
        """Return what was injected by contexts inside this scope, newest first, a page at a time.

        Args:
            session: Only contexts of this session.
            limit: The most receipts of a page.
            cursor: The cursor of the last page.
        """
        require_limit(limit, LARGEST_PAGE)
        view = self._view.narrowed(session=session)
        past = None if cursor is None else cursor_number(cursor, "before")
        found = view.store_inside.receipts(view.spaces_inside(), past, limit + 1)
        page = tuple(found[:limit])
        return ReceiptPage(receipts=page, cursor=f"before-{page[-1].number}" if len(found) > limit and page else None)

    def get(self, number: int) -> KeptReceipt:
        """Return the receipt of a context inside this scope, by its number."""
        found = self._view.store_inside.receipts(self._view.spaces_inside(), number + 1, 1) if number > 0 else []
        if not found or found[0].number != number:
            raise NotFound(f"no receipt {number} is kept in this scope ({self._view.scope}): `receipts` lists them")
        return found[0]

    def explain(self, number: int, memory_id: str) -> ReceiptAnswer:
        """Return whether a memory was in the context of a receipt, and why.

        Args:
            number: The number of a receipt of a context inside this scope.
            memory_id: A memory that this scope can see, or one inside it.
        """
        receipt, store = self.get(number), self._view.store_inside
        try:
            record, reader = self._view.record(memory_id), self._view.services.store
        except NotFound:
            inner = store.get(self._view.spaces_inside(), memory_id)
            if inner is None or inner.memory.retention is Retention.PURGED:
                raise
            record, reader = inner, store
        return explain(receipt, record.memory, reader.events(record))
