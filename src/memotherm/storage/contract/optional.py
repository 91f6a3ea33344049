"""Operations that only some stores have; a store has one by defining its methods."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, runtime_checkable

__all__ = ["SupportsCheckpoint", "SupportsPartition"]


@runtime_checkable
class SupportsCheckpoint(Protocol):
    """A store that can write a copy of itself to a file, from which `memotherm.restore` makes a new store."""

    def checkpoint(self, path: Path) -> None:
        """Write a consistent copy to a new file while the store is in use."""


@runtime_checkable
class SupportsPartition(Protocol):
    """A store whose tables can be partitioned by tenant."""

    def partition(self, parts: int) -> list[str]:
        """Partition the tables by tenant, all at once; return their names."""
