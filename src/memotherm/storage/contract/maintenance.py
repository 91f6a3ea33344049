"""Leases, indexes, consistency checks, size."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Protocol

from memotherm.model.results import Problem

__all__ = ["MaintenanceStore"]


class MaintenanceStore(Protocol):
    """What scheduled maintenance and administration need."""

    def lease(self, name: str, holder: str, now: datetime, until: datetime) -> bool:
        """Take or renew a lease; False when somebody else holds it."""

    def release(self, name: str, holder: str) -> None:
        """Give a lease back."""

    def size(self) -> int:
        """Return the bytes the store takes."""

    def tend(self) -> None:
        """Make the indexes that what is stored has grown to need; quick when there is nothing to do."""

    def check(self) -> list[Problem]:
        """Compare everything with everything else and say what does not agree."""

    def checkpoint(self, path: Path) -> None:
        """Write a consistent copy while others go on working."""

    def close(self) -> None:
        """Give up all connections; calling it twice is harmless."""
