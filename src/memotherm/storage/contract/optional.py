"""Operations that only some stores have; a store has one by defining its methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from memotherm.text.quantity import pluralize

__all__ = ["Distribution", "SupportsCheckpoint", "SupportsDistribution", "SupportsNodes", "SupportsPartition"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Distribution:
    """What was distributed over the nodes of a cluster, and verified."""

    store: str
    #: The nodes that have shards, each as host:port.
    nodes: tuple[str, ...]
    shards: int
    #: Rows by table.
    rows: Mapping[str, int] = field(default_factory=dict)
    #: SHA-256 of all of them, the same before and afterwards.
    digest: str = ""

    def __str__(self) -> str:
        total = (
            f"{pluralize(self.rows.get('memories', 0), 'memory')}, {pluralize(sum(self.rows.values()), 'row')} in all"
        )
        where = f"{pluralize(self.shards, 'shard')} on {pluralize(len(self.nodes), 'node')}"
        return f"{total}: distributed over {where} and verified"


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


@runtime_checkable
class SupportsDistribution(Protocol):
    """A store whose tables can be distributed over the nodes of a cluster by tenant."""

    def distribute(self, shards: int) -> Distribution:
        """Distribute the tables by tenant, or resume it where it was interrupted, and verify the rows."""


@runtime_checkable
class SupportsNodes(Protocol):
    """A store that may be on several nodes."""

    def missing_nodes(self) -> tuple[str, ...]:
        """Return the nodes that do not answer, each as host:port; empty for a store on one server."""
