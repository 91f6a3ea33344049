"""Leases, indexes, consistency checks, size."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from memotherm.model.results import Problem

__all__ = ["MaintenanceStore"]


class MaintenanceStore(Protocol):
    """What scheduled maintenance and administration need."""

    def lease(self, name: str, holder: str, now: datetime, until: datetime) -> bool:
        """Take or renew a lease; return False if another holder has it."""

    def release(self, name: str, holder: str) -> None:
        """Release a lease."""

    def size(self) -> int:
        """Return the size of the store in bytes."""

    def build_indexes(self) -> None:
        """Build the indexes that the amount of data requires; do nothing if they exist."""

    def check(self) -> list[Problem]:
        """Check the consistency of all tables and indexes and return the problems."""

    def close(self) -> None:
        """Close all connections; calling it twice is harmless."""
