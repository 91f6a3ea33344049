"""The ledger: events, and memories at an earlier time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from memotherm.model import Event
from memotherm.storage.values import Record, TierChange

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
        """Return events of memories in some spaces, including purged ones, in ascending or descending order.

        Args:
            spaces: The spaces that the memories are in now.
            past: Return only events after this number (before it, in descending order); None starts at the end.
            limit: The maximum number of events.
            oldest_first: Ascending order.
        """

    def events_since(self, spaces: Sequence[int], moment: datetime) -> list[Event]:
        """Return the events of memories in some spaces from the first event after a moment on, oldest first."""

    def changed_between(self, spaces: Sequence[int], after: datetime, until: datetime) -> bool:
        """Return whether memories of some spaces were created or changed after a moment and up to another."""

    def tier_changes(self, spaces: Sequence[int], since: datetime) -> list[TierChange]:
        """Return the events of memories in some spaces since a moment, newest first, with where they are now."""

    def seq(self) -> int:
        """Return the sequence number of the newest event."""
