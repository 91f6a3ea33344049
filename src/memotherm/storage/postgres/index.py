"""Searches of a store on a PostgreSQL server, and what a recall reads with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from memotherm.model import Tier
from memotherm.storage.base import MOST_SCOPES
from memotherm.storage.candidates import Candidates, candidate_row
from memotherm.storage.filters import passing_rows
from memotherm.storage.memories import identity_of
from memotherm.storage.postgres.base import PostgresBase
from memotherm.storage.postgres.search import CANDIDATE_FIELDS, bands, by_vector, by_words, strengths
from memotherm.storage.postgres.statements import PostgresStatements
from memotherm.storage.postgres.transaction import queries
from memotherm.storage.statements import Row
from memotherm.storage.values import Filter, Identity, Record, Scores, TextMatches

__all__ = ["PostgresIndex"]

Vectors = NDArray[np.float32]


class PostgresIndex(PostgresBase):
    """The part of a store that searches."""

    def pinned(self, spaces: Sequence[int], now: datetime) -> list[Record]:
        """Return the visible pinned memories, oldest first."""
        recall = self._recall
        if recall is None:
            return super().pinned(spaces, now)
        asked = (tuple(spaces), now)
        if asked not in recall.pinned_records:
            recall.pinned_records[asked] = super().pinned(spaces, now)
        return recall.pinned_records[asked]

    def candidates(self, spaces: Sequence[int], tiers: Sequence[Tier], nos: Sequence[int], where: Filter) -> Candidates:
        """Return those of some memories that scope, tiers, retention and filter let through."""
        recall = self._recall
        if recall is None or recall.search.where.now != where.now:
            return super().candidates(spaces, tiers, nos, where)
        with self._reading() as statements:
            ranks = {tier.rank for tier in tiers}
            rows = [row for row in recall.candidates(statements, nos) if row[2] in ranks and row[1] in spaces]
            passing = passing_rows(statements, rows, where)
            candidates = Candidates.of(candidate_row(row[:CANDIDATE_FIELDS]) for row in passing)
            candidates.add_uses(statements.unwritten)
            return candidates

    def records(self, nos: Sequence[int]) -> Mapping[int, Record]:
        """Return memories by number, as they are now."""
        rows = {} if (recall := self._recall) is None else recall.memories(nos)
        if len(rows) < len({*nos}):
            return super().records(nos)
        with self._reading(once=True) as statements:
            records = self._converted(statements, list(rows.values()))
            return dict(zip(rows, records, strict=True))

    def search_text(
        self, spaces: Sequence[int], tiers: Sequence[Tier], words: Sequence[str], limit: int, where: Filter
    ) -> TextMatches:
        """Return the best keyword matches, strongest first, newest first among equals."""
        if not words or not spaces:
            return TextMatches({}, 0, dict.fromkeys(words, 0))
        searched = list(bands(tiers))
        rows: list[Row] = []
        with self._reading() as statements:
            total = int(statements.value_once("count_in", spaces=list(spaces), tiers=[tier.rank for tier in tiers]))
            counted: dict[str, Counter[int]] = {}
            if len(searched) > 1:
                # What a word weighs depends on all bands.
                asked = {"spaces": list(spaces), "scoped": queries(words, spaces)}
                for band, ranks in searched:
                    counted[band] = Counter(dict(statements.rows(f"text_frequencies_{band}", tiers=ranks, **asked)))
            frequencies = Counter[int]()
            for band, ranks in searched:
                others = sum((counts for other, counts in counted.items() if other != band), Counter[int]())
                search = by_words(statements, band, ranks, spaces, tiers, words, limit, where, others)
                found = statements.rows_of(search.name, search.marks, **search.values)
                rows += [row for row in found if row[0] > 0]
                frequencies.update({-no: int(count) for no, count in found if no < 0})
        ranked = sorted(rows, key=lambda row: (-row[1], -row[0]))
        return TextMatches(
            dict(ranked[:limit]), total, {word: frequencies[position] for position, word in enumerate(words, 1)}
        )

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
        if not spaces or not tiers:
            return {}
        with self._reading() as statements:
            identity = by or identity_of(statements)
            if identity is None:
                return {}
            exact = where.selective or Tier.COLD in tiers or self._is_small(statements, spaces, tiers)
            asked = by_vector(statements, identity, vector, spaces, tiers, limit, where, exact=exact)
            found: Scores = dict(asked.rows(statements))
            if (recall := statements.recall) is not None and recall.search.vector is vector:
                recall.strengths |= found
        return found

    def similarities(
        self,
        spaces: Sequence[int],  # noqa: ARG002
        tiers: Sequence[Tier],  # noqa: ARG002
        nos: Sequence[int],
        vector: Vectors,
        by: Identity | None = None,
    ) -> dict[int, float]:
        """Return the cosine of each of the memories that has vectors; its nearest part counts."""
        recall = self._recall
        known = recall.similarities(nos) if recall is not None and recall.search.vector is vector else None
        if known is not None:
            return known
        with self._reading() as statements:
            identity = by or identity_of(statements)
            return {} if identity is None else strengths(statements, identity, vector, nos)

    def _is_small(self, statements: PostgresStatements, spaces: Sequence[int], tiers: Sequence[Tier]) -> bool:
        """Return whether the spaces have so few memories that all their vectors are compared."""
        count = int(statements.value_once("count_in", spaces=list(spaces), tiers=[tier.rank for tier in tiers]))
        if len(self._small) >= MOST_SCOPES:
            self._small.clear()
        small = self._small[tuple(spaces), tuple(tiers)] = count <= self._exact_limit
        return small
