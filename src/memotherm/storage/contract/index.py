"""Search: by words and by vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from memotherm.model import Tier
from memotherm.storage.values import Filter, Identity, Record, Scores, Search, TextMatches

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memotherm.storage.candidates import Candidates

    Vectors = NDArray[np.float32]

__all__ = ["IndexStore", "SearchStore"]


class IndexStore(Protocol):
    """Searches and the data that ranking needs about their results."""

    def candidates(self, spaces: Sequence[int], tiers: Sequence[Tier], nos: Sequence[int], where: Filter) -> Candidates:
        """Return those of some memories that scope, tiers, retention and filter let through."""

    def search_text(
        self, spaces: Sequence[int], tiers: Sequence[Tier], words: Sequence[str], limit: int, where: Filter
    ) -> TextMatches:
        """Return the best keyword matches, strongest first, and how many memories contain each word."""

    def search_vector(
        self,
        spaces: Sequence[int],
        tiers: Sequence[Tier],
        vector: Vectors,
        limit: int,
        where: Filter,
        by: Identity | None = None,
    ) -> Scores:
        """Return the memories with the nearest vectors `by` an embedder (None = the serving one), nearest first."""

    def similarities(
        self,
        spaces: Sequence[int],
        tiers: Sequence[Tier],
        nos: Sequence[int],
        vector: Vectors,
        by: Identity | None = None,
    ) -> dict[int, float]:
        """Return the cosine of each of the memories that has vectors; its nearest part counts."""

    def active(self, nos: Sequence[int]) -> Candidates:
        """Return those of some memories that are active, in any space and tier: the turns before a message."""


class SearchStore(IndexStore, Protocol):
    """What a recall reads."""

    def snapshot(self, search: Search | None = None) -> AbstractContextManager[int | None]:
        """Let the reads of this thread see one state of the store until the context is left.

        The value is the number of the last event that they see, if the store knows it without another statement.
        A store on another machine reads at once what `search` says will be read first.
        """

    def pinned(self, spaces: Sequence[int], now: datetime) -> list[Record]:
        """Return the visible pinned memories, oldest first."""

    def records(self, nos: Sequence[int]) -> Mapping[int, Record]:
        """Return memories by number, as they are now."""

    def pending(self, spaces: Sequence[int]) -> int:
        """Return the number of visible memories without vectors."""

    def replica_lag(self) -> str | None:
        """Return a sentence about how old the data is that recalls read; None if they read the primary."""
