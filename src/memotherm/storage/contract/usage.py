"""The recall log, receipts, and counters of what happened."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from memotherm.model.recall import TimedRecall
from memotherm.model.receipts import KeptReceipt
from memotherm.model.results import LoggedRecall
from memotherm.storage.values import LaterUse, LogEntry, RecallEntry, Tally, UsageCounts, UseRow

__all__ = ["UsageStore", "UsageTransaction"]


class UsageStore(Protocol):
    """The recall log, the receipts and the tallies."""

    def log_recall(self, entry: RecallEntry, *, keep: bool) -> None:
        """Count the uses of a recall, keep its receipt, and, with `keep`, log it; never wait for other writers."""

    def recall_micros(self, spaces: Sequence[int], limit: int) -> list[int]:
        """Return the durations of the last recalls in microseconds, newest first."""

    def log_entries(self, spaces: Sequence[int], after: int, limit: int) -> list[LogEntry]:
        """Return entries of the recall log with a greater number than `after`, in order of number."""

    def timed_recalls(self, spaces: Sequence[int], limit: int, *, slowest: bool) -> list[TimedRecall]:
        """Return queries of the recall log, slowest or newest first."""

    def logged_recall(self, spaces: Sequence[int], recall_id: str) -> LogEntry | None:
        """Return the entry of the recall log with an id, if its space is among some."""

    def recent_recalls(self, spaces: Sequence[int], since: datetime, until: datetime, limit: int) -> list[LogEntry]:
        """Return the last recalls of a period in some spaces, newest first."""

    def log_later_use(self, later: LaterUse) -> None:
        """Record and count a use that followed a recall; never wait for other writers."""

    def later_uses(self, spaces: Sequence[int]) -> list[UseRow]:
        """Return the uses that followed recalls in some spaces, in order of time."""

    def trim_recalls(self, before: datetime) -> None:
        """Delete the log entries of recalls, and the uses that followed them, before a time."""

    def receipts(self, spaces: Sequence[int], past: int | None, limit: int) -> list[KeptReceipt]:
        """Return receipts of contexts in some spaces, newest first; `past` = only with a smaller number."""

    def receipts_of(self, spaces: Sequence[int], memory_id: str, limit: int) -> list[KeptReceipt]:
        """Return the last receipts of contexts in some spaces that name a memory, newest first."""

    def recalls_of(self, spaces: Sequence[int], no: int, limit: int) -> list[LoggedRecall]:
        """Return the last logged recalls in some spaces that returned a memory, newest first."""

    def trim_receipts(self, before: datetime) -> None:
        """Delete the receipts of contexts before a time."""

    def tallies(self, spaces: Sequence[int]) -> dict[str, Tally]:
        """Return the counters of some spaces, by name."""


class UsageTransaction(Protocol):
    """Counting inside a transaction."""

    def tally(self, space: int, name: str, amount: int = 0) -> None:
        """Increment a counter of a space."""

    def add_later_use(self, later: LaterUse) -> bool:
        """Record and count a use that followed a recall; tell whether it was not recorded before."""

    def erase_usage(self, spaces: Sequence[int]) -> UsageCounts:
        """Delete recall log, receipts, counters and session states of some spaces, and the reasons of their events.

        Like a purge, it leaves no copy in the files of the store. Return how much there was.
        """
