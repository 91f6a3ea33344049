"""Embedders and their vectors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from memotherm.storage.sqlstore.base import SqlBase
from memotherm.storage.statements import Row, Statements
from memotherm.storage.values import Identity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

__all__ = ["SqlVectors", "identity_of"]


class SqlVectors(SqlBase):
    """The part of `VectorStore` that is the same in SQL everywhere."""

    def identity(self, name: str | None = None) -> Identity | None:
        """Return the embedder that serves searches, or the one with a name; None if there is none."""
        if name is None:
            return _identity(self._unlogged_rows("embedder_serving"))
        rows = self._unlogged_rows("embedder_by_name", name=name)
        return Identity(number=rows[0][0], name=name, dimensions=rows[0][1]) if rows else None

    def without_vectors(self, number: int, after: int, limit: int) -> list[tuple[int, str]]:
        """Return (number, content) of memories without vectors of an embedder."""
        rows = self._rows("vectors_missing", **self._made_by(number), after=after, limit=limit)
        return [(no, content) for no, content in rows]

    def served_vectors(self, digests: Collection[str]) -> tuple[Identity | None, Mapping[str, Vectors]]:
        """Return the serving embedder, and what `cached_vectors` returns for each of some digests, without None."""
        identity = self.identity()
        cached = {} if identity is None else {digest: self.cached_vectors(digest) for digest in digests}
        return identity, {digest: vectors for digest, vectors in cached.items() if vectors is not None}

    @abstractmethod
    def cached_vectors(self, digest: str) -> Vectors | None:
        """Return the stored vectors of the same content, made by the serving embedder."""

    def count_without_vectors(self, number: int) -> int:
        """Return the number of memories without vectors of an embedder."""
        return int(self._rows("vectors_missing_count", **self._made_by(number))[0][0])

    def pending(self, spaces: Sequence[int]) -> int:
        """Return the number of visible memories without vectors."""
        return int(self._unlogged_rows("pending_in", spaces=list(spaces))[0][0])

    @abstractmethod
    def _made_by(self, number: int) -> dict[str, object]:
        """Return the statement parameter that selects an embedder's vectors."""


def identity_of(statements: Statements) -> Identity | None:
    """Return the embedder that serves searches, if there is one."""
    return _identity(statements.rows("embedder_serving"))


def _identity(rows: Sequence[Row]) -> Identity | None:
    """Return the embedder of a row of the statement `embedder_serving`."""
    return Identity(number=rows[0][0], name=rows[0][1], dimensions=rows[0][2]) if rows else None
