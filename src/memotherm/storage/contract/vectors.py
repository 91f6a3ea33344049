"""Embedders and the vectors they made."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
        """Return the embedder that serves searches, or the one with a name; None if there is none."""

    def register_embedder(self, name: str, dimensions: int, *, serve: bool = True) -> Identity:
        """Register an embedder and return its number; the first one with `serve` serves searches at once."""

    def cached_vectors(self, digest: str) -> Vectors | None:
        """Return the vectors of the same content that the tenant can see, made by the serving embedder."""

    def served_vectors(self, digests: Collection[str]) -> tuple[Identity | None, Mapping[str, Vectors]]:
        """Return the serving embedder, and what `cached_vectors` returns for each of some digests, without None."""

    def vectors_of(self, nos: Sequence[int]) -> dict[int, Vectors]:
        """Return the vectors of memories by number, made by the serving embedder; those without are left out."""

    def without_vectors(self, number: int, after: int, limit: int) -> list[tuple[int, str]]:
        """Return (number, content) of memories without vectors of an embedder."""

    def count_without_vectors(self, number: int) -> int:
        """Return the number of memories without vectors of an embedder."""

    def sample_vectors(self, limit: int, by: Identity | None = None) -> Vectors | None:
        """Return a repeatable sample of the vectors made `by` an embedder (None = the serving one)."""

    def pending(self, spaces: Sequence[int]) -> int:
        """Return the number of visible memories without vectors."""


class VectorTransaction(Protocol):
    """Changes of stored vectors."""

    def add_vectors(self, number: int, no: int, content: str, vectors: Vectors, cause: Cause) -> None:
        """Store the vectors that an embedder made of a content, unless the content has changed since."""

    def serve(self, number: int, keep: int | None = None) -> bool:
        """Let an embedder serve searches and delete all other vectors but `keep`'s; False if some are missing."""
