"""The ledger: events, and memories at an earlier time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from memotherm.model import Event
from memotherm.storage.values import Record

__all__ = ["LedgerStore"]


class LedgerStore(Protocol):
    """Reads of the ledger."""

    def written_before(self, spaces: Sequence[int], moment: datetime, after: int, limit: int) -> list[Record]:
        """Return memories that existed at a moment and still have their content, in order of number."""

    def events(self, record: Record) -> list[Event]:
        """Return the history of one memory, oldest first."""

    def event(self, spaces: Sequence[int], seq: int) -> tuple[Event, Record] | None:
        """Return one event of a memory in one of the spaces, and that memory as it is now."""

    def ledger(self, spaces: Sequence[int], past: int | None, limit: int, *, oldest_first: bool) -> list[Event]:
        """Return events of memories in some spaces, purged ones included, in the order of the ledger or against it.

        Args:
            spaces: The spaces that the memories are in now.
            past: Where to go on: events after this number, or before it against the order; None begins.
            limit: The most events.
            oldest_first: Whether in the order of the ledger.
        """

    def seq(self) -> int:
        """Return the sequence number of the newest event."""
