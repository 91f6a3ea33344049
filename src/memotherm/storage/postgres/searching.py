"""What a recall reads, in few round trips: statements are sent together, and what they return is kept for later."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memotherm.model import Tier
from memotherm.model.clock import to_micros
from memotherm.storage.postgres.statements import PostgresStatements
from memotherm.storage.postgres.text import queries
from memotherm.storage.postgres.vectors import VectorSearch, nearest, strengths
from memotherm.storage.selecting import compiled_filter
from memotherm.storage.statements import Row
from memotherm.storage.values import Filter, Identity, Record, Search

__all__ = ["CANDIDATE_FIELDS", "RecallRows", "TextSearch", "bands", "by_vector", "by_words", "expect"]

Vectors = NDArray[np.float32]

#: How many fields of a row of `candidate_memories` are those of a candidate; a whole memory follows.
CANDIDATE_FIELDS = 11

_LIVE = (Tier.HOT, Tier.WARM)


class TextSearch(NamedTuple):
    """A statement that searches by words, and its parameters."""

    name: str
    marks: Mapping[str, object]
    values: Mapping[str, Any]


class RecallRows:
    """What a recall has read in its snapshot and reads again, by the number of the memory."""

    def __init__(self, search: Search) -> None:
        self.search = search
        #: The pinned memories, which are candidates as well, by spaces and moment.
        self.pinned_records: dict[tuple[tuple[int, ...], datetime], list[Record]] = {}
        #: How near the memories are whose vectors were compared; NaN for those without vectors.
        self.strengths: dict[int, float] = {}
        self._candidates: dict[int, Row] = {}
        self._asked: set[int] = set()

    def candidates(self, statements: PostgresStatements, nos: Sequence[int]) -> list[Row]:
        """Return the rows of those candidates that are active.

        One message also asks for the pinned memories, and how near those are that the search by vector has not found.
        """
        pinned = (record.no for records in self.pinned_records.values() for record in records)
        new = [no for no in dict.fromkeys((*nos, *pinned)) if no not in self._asked]
        if new:
            self._asked.update(new)
            values = {"nos": new, "now": to_micros(self.search.where.now)}
            statements.expect("candidate_memories", **values)
            self._compare(statements, [no for no in new if no not in self.strengths])
            self._candidates |= {row[0]: row for row in statements.rows("candidate_memories", **values)}
        wanted = {*nos}
        return [row for no, row in self._candidates.items() if no in wanted]

    def _compare(self, statements: PostgresStatements, nos: list[int]) -> None:
        search = self.search
        if nos and search.vector is not None and search.by is not None:
            self.strengths |= dict.fromkeys(nos, math.nan) | strengths(statements, search.by, search.vector, nos)

    def memories(self, nos: Iterable[int]) -> dict[int, Row]:
        """Return the rows of those whole memories that were candidates."""
        return {no: self._candidates[no][CANDIDATE_FIELDS:] for no in nos if no in self._candidates}

    def similarities(self, nos: Iterable[int]) -> dict[int, float] | None:
        """Return how near some memories are, without those that have no vectors; None if not all were compared."""
        found = {no: self.strengths.get(no) for no in nos}
        if None in found.values():
            return None
        return {no: strength for no, strength in found.items() if strength is not None and not math.isnan(strength)}


def bands(tiers: Sequence[Tier]) -> Iterator[tuple[str, list[int]]]:
    """Yield the bands of some tiers, each with the ranks of its tiers."""
    live = [tier.rank for tier in tiers if tier in _LIVE]
    if live:
        yield "live", live
    if Tier.COLD in tiers:
        yield "cold", [Tier.COLD.rank]


def by_words(
    statements: PostgresStatements,
    band: str,
    ranks: list[int],
    spaces: Sequence[int],
    tiers: Sequence[Tier],
    words: Sequence[str],
    limit: int,
    where: Filter,
    others: Mapping[int, int] | None = None,
) -> TextSearch:
    """Return how the memories of a band that have some of the words are found.

    Args:
        statements: The statements to be used.
        band: The name of the band.
        ranks: The ranks of its tiers that are searched.
        spaces: The spaces that are searched.
        tiers: All tiers that are searched.
        words: The words.
        limit: The most memories.
        where: The filter.
        others: How many memories of the other band have each word, by its position.
    """
    marks, filtered = _filtered(statements, where)
    counts = others or {}
    values = {
        "spaces": list(spaces),
        "tiers": ranks,
        "all_tiers": [tier.rank for tier in tiers],
        "scoped": queries(words, spaces),
        "others": [counts.get(position, 0) for position in range(1, len(words) + 1)],
        "limit": limit,
        **filtered,
    }
    return TextSearch(f"text_search_{band}", marks, values)


def by_vector(
    statements: PostgresStatements,
    identity: Identity,
    vector: Vectors,
    spaces: Sequence[int],
    tiers: Sequence[Tier],
    limit: int,
    where: Filter,
    *,
    exact: bool,
) -> VectorSearch:
    """Return how the memories with the nearest vectors are found."""
    marks, filtered = _filtered(statements, where)
    places = {"spaces": list(spaces), "tiers": [tier.rank for tier in tiers]}
    return nearest(identity, vector, limit, {**places, **filtered}, marks, exact=exact)


def expect(statements: PostgresStatements, search: Search, *, exact: bool | None) -> None:
    """Send the statements of a search, whose rows are wanted soon, and wait for them.

    Args:
        statements: The statements to be used.
        search: What is searched for.
        exact: Whether all vectors are compared; None if that is not known yet.
    """
    spaces, where = search.spaces, search.where
    statements.expect("pinned", spaces=list(search.pinned_spaces), now=to_micros(where.now))
    if search.pending:
        statements.expect("pending_in", spaces=list(spaces))
    if spaces and search.tiers:
        statements.expect("count_in", spaces=list(spaces), tiers=[tier.rank for tier in search.tiers])
        searched = list(bands(search.tiers)) if search.words else []
        if len(searched) == 1:
            ((band, ranks),) = searched
            name, marks, values = by_words(
                statements, band, ranks, spaces, search.tiers, search.words, search.limit, where
            )
            statements.expect(name, marks, **values)
        if search.vector is not None and search.by is not None and exact is not None:
            asked = by_vector(
                statements, search.by, search.vector, spaces, search.tiers, search.limit, where, exact=exact
            )
            asked.expect(statements)
    statements.wait()


def _filtered(statements: PostgresStatements, where: Filter) -> tuple[dict[str, object], dict[str, object]]:
    """Return a filter as the marks and the parameters of a search."""
    conditions, values = compiled_filter(statements, where)
    marks: dict[str, object] = {"any": "false" if where.selective else "true", "conditions": conditions}
    return marks, {"now": to_micros(where.now), **values}
