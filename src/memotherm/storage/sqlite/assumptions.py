"""What a read takes as known from the last snapshot, so that it needs no statement for it; its own one verifies it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from memotherm.storage.sqlstore import Outdated
from memotherm.storage.values import Identity

__all__ = ["Assumptions", "Basis"]


class Basis(NamedTuple):
    """What decides which spaces a scope sees, which policy is in force, and which embedder serves."""

    #: The highest number of a space, and that of an adoption.
    space: int
    adopted: int
    #: The number of the serving embedder and the length of its vectors; None without one.
    embedder: int | None
    dimensions: int | None


class _Read(threading.local):
    """What the read of one thread relies on."""

    basis: Basis | None = None


class Assumptions:
    """What the snapshots of a store have shown last, and what the read of each thread relies on."""

    def __init__(self) -> None:
        self._last: Basis | None = None
        self._identity: Identity | None = None
        self._read = _Read()

    @property
    def basis(self) -> Basis | None:
        """What this thread may assume before its snapshot; None if it has to read."""
        return self._read.basis

    @contextmanager
    def relied_on(self) -> Iterator[None]:
        """Let this thread assume what the last snapshot has shown, until it has a snapshot of its own."""
        self._read.basis = self._last
        try:
            yield
        finally:
            self._read.basis = None

    def verify(self, shown: Basis) -> None:
        """Keep what a snapshot shows, and raise `Outdated` if this thread has assumed something else."""
        assumed, self._read.basis, self._last = self._read.basis, None, shown
        if assumed not in (None, shown):
            raise Outdated

    def identity(self) -> Identity | None:
        """Return the serving embedder, if this thread may assume it."""
        basis, identity = self._read.basis, self._identity
        if basis is None or identity is None or (identity.number, identity.dimensions) != basis[2:]:
            return None
        return identity

    def keep(self, identity: Identity | None) -> None:
        """Keep the serving embedder that was read."""
        self._identity = identity
