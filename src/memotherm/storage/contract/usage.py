"""The recall log and counters of what happened."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from memotherm.storage.values import RecallEntry, Tally

__all__ = ["UsageStore", "UsageTransaction"]


class UsageStore(Protocol):
    """The recall log and the tallies."""

    def log_recall(self, entry: RecallEntry, *, keep: bool) -> None:
        """Count the uses of a recall and, with `keep`, log it; never wait for other writers."""

    def recall_micros(self, spaces: Sequence[int], limit: int) -> list[int]:
        """Return the durations of the last recalls in microseconds, newest first."""

    def trim_recalls(self, before: datetime) -> None:
        """Delete the log entries of recalls before a time."""

    def tallies(self, spaces: Sequence[int]) -> dict[str, Tally]:
        """Return the counters of some spaces, by name."""


class UsageTransaction(Protocol):
    """Counting inside a transaction."""

    def tally(self, space: int, name: str, amount: int = 0) -> None:
        """Increment a counter of a space."""
