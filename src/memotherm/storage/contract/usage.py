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
        """Count the uses of a recall and, if `keep`, log it; never waits for other writers."""

    def recall_micros(self, spaces: Sequence[int], limit: int) -> list[int]:
        """Return how long the last recalls took, newest first."""

    def trim_recalls(self, before: datetime) -> None:
        """Drop the log of what was asked before a moment."""

    def tallies(self, spaces: Sequence[int]) -> dict[str, Tally]:
        """Return what happened in some spaces, by name."""


class UsageTransaction(Protocol):
    """Counting inside a transaction."""

    def tally(self, space: int, name: str, amount: int = 0) -> None:
        """Count something that happened in a space."""
