"""Vectors by pgvector: exact where a scope is small or a filter narrow, by an index of the live ones elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import psycopg
from numpy.typing import NDArray

from memotherm.storage.postgres.statements import PostgresStatements, statement
from memotherm.storage.statements import Row
from memotherm.storage.values import Identity

__all__ = ["VectorSearch", "index_live", "largest", "nearest", "of_memories", "sampled", "strengths", "unindexed"]

Vectors = NDArray[np.float32]

#: How many dimensions an index takes: of whole numbers, of half ones.
_MOST_WHOLE = 2000
_MOST_HALF = 4000
#: How wide the index is searched: more finds more, and costs.
_WIDTH = (200, 1000)
#: A long memory has several vectors, so more vectors than memories are asked for.
_VECTORS_PER_MEMORY = 2
#: Of a store with more memories than this times the sample, only some pages are read.
_WHOLE_SAMPLE = 10


def largest(statements: PostgresStatements) -> int:
    """Return how many live memories the tenant has that has most, of those that the statements are for."""
    return int(statements.value("live_most"))


def unindexed(statements: PostgresStatements) -> list[Identity]:
    """Return the embedders that could have an index of their live vectors and have none."""
    rows = statements.rows("embedders_unindexed", most=_MOST_HALF)
    return [Identity(number=number, name=name, dimensions=dimensions) for number, name, dimensions in rows]


def index_live(connection: psycopg.Connection[Row], identity: Identity) -> None:
    """Build the index of an embedder's live vectors while the store is in use.

    An unfinished index of a killed server is built again; of several servers, one builds it.
    """
    marks = _marks(identity)
    if marks is None:
        return
    if not connection.execute(statement("vector_index_claim"), {"number": identity.number}).fetchone()[0]:  # type: ignore[index]
        return
    ((partitioned,),) = connection.execute(statement("vectors_partitioned")).fetchall()
    connection.execute(statement("vector_index_drop", marks))
    connection.execute(statement("vector_index", {**marks, "beside": "" if partitioned else "CONCURRENTLY"}))


class VectorSearch(NamedTuple):
    """A statement that searches by a vector, and its parameters."""

    name: str
    marks: Mapping[str, object]
    values: Mapping[str, Any]
    #: How wide the index is searched; None without the index.
    width: int | None = None

    def expect(self, statements: PostgresStatements) -> None:
        """Send the statement, whose rows are wanted later."""
        self._set_width(statements)
        statements.expect(self.name, self.marks, **self.values)

    def rows(self, statements: PostgresStatements) -> list[Row]:
        """Return (memory, strength) of the nearest, nearest first; a memory counts with its nearest part."""
        self._set_width(statements)
        return statements.rows_of(self.name, self.marks, **self.values)

    def _set_width(self, statements: PostgresStatements) -> None:
        if self.width is not None:
            statements.run_of("vector_care", {"width": self.width})


def nearest(
    identity: Identity,
    vector: Vectors,
    limit: int,
    where: Mapping[str, Any],
    conditions: Mapping[str, object],
    *,
    exact: bool,
) -> VectorSearch:
    """Return how the memories with the nearest vectors are found.

    Args:
        identity: The embedder of the vectors.
        vector: The vector of the query.
        limit: The most memories.
        where: The parameters of the places and of the filter.
        conditions: The marks of the filter; the search by the index takes no filter.
        exact: Whether to compare all vectors instead of using the index.
    """
    marks = _marks(identity)
    asked = np.asarray(vector, np.float32)
    if exact or marks is None:
        values = {"vector": asked, "number": identity.number, "limit": limit, **where}
        return VectorSearch("vector_exact", conditions, values)
    wanted = _VECTORS_PER_MEMORY * limit
    least, most = _WIDTH
    values = {"vector": asked, "wanted": wanted, "limit": limit, **where}
    return VectorSearch("vector_near", marks, values, max(least, min(most, wanted)))


def strengths(
    statements: PostgresStatements, identity: Identity, vector: Vectors, nos: Sequence[int]
) -> dict[int, float]:
    """Return how near some memories are; those without vectors are left out."""
    asked = np.asarray(vector, np.float32)
    return dict(statements.rows("vector_strengths", vector=asked, number=identity.number, nos=list(nos)))


def of_memories(statements: PostgresStatements, identity: Identity, nos: Sequence[int]) -> dict[int, Vectors]:
    """Return what an embedder has made of some memories; those without vectors are left out."""
    rows = statements.rows("vectors_of_memories", number=identity.number, nos=list(nos)) if nos else []
    return {
        no: np.stack([vector.to_numpy() for _, vector in parts]).astype(np.float32)
        for no, parts in groupby(rows, itemgetter(0))
    }


def sampled(statements: PostgresStatements, identity: Identity, limit: int) -> Vectors | None:
    """Return some of an embedder's vectors: of a large store, those on the same few pages every time."""
    total = max(1, int(statements.value("count_all")))
    share = 1.0 if total <= _WHOLE_SAMPLE * limit else _WHOLE_SAMPLE * limit / total
    return _matrix(statements.rows("vectors_sample", number=identity.number, limit=limit, percent=100 * share))


def _marks(identity: Identity) -> dict[str, object] | None:
    """Return what names an embedder's index in a statement; None where it cannot have one."""
    if not 0 < identity.dimensions <= _MOST_HALF:
        return None
    kind = "vector" if identity.dimensions <= _MOST_WHOLE else "halfvec"
    return {"number": identity.number, "dimensions": identity.dimensions, "type": kind}


def _matrix(rows: Sequence[Row]) -> Vectors | None:
    return np.stack([vector.to_numpy() for (vector,) in rows]).astype(np.float32) if rows else None
