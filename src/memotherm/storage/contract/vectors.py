"""Embedders and the vectors they made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from memotherm.storage.values import Cause, Identity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

__all__ = ["VectorStore", "VectorTransaction"]


class VectorStore(Protocol):
    """Which embedder serves searches, and which vectors exist."""

    def identity(self, name: str | None = None) -> Identity | None:
        """Return the embedder whose vectors serve searches, or the one of a name, if there is one."""

    def adopt(self, name: str, dimensions: int, *, serve: bool = True) -> Identity:
        """Give an embedder a number; the first one that may serve does so at once."""

    def cached(self, digest: str) -> Vectors | None:
        """Return the serving vectors already made for the same content."""

    def without_vectors(self, number: int, after: int, limit: int) -> list[tuple[int, str]]:
        """Return (number, content) of memories an embedder has not seen yet."""

    def count_without_vectors(self, number: int) -> int:
        """Return how many memories an embedder has not seen yet."""

    def sample_vectors(self, limit: int, by: Identity | None = None) -> Vectors | None:
        """Return some of the vectors, the same ones every time; those `by` an embedder, or by the serving one."""

    def pending(self, spaces: Sequence[int]) -> int:
        """Return how many visible memories wait for their vectors."""


class VectorTransaction(Protocol):
    """Changes of stored vectors."""

    def add_vectors(self, number: int, no: int, content: str, vectors: Vectors, cause: Cause) -> None:
        """Store the vectors that an embedder made of a content, unless it has changed since."""

    def serve(self, number: int, keep: int | None = None) -> bool:
        """Let an embedder's vectors serve searches and drop all others but those to keep, if none is missing."""
