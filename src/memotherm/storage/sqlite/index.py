"""Searches and listings of a store in one SQLite file, and what a recall reads with them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from memotherm.model import Retention, Tier
from memotherm.model.clock import to_micros
from memotherm.storage.candidates import Candidates
from memotherm.storage.selecting import found_numbers
from memotherm.storage.sqlite.base import SqliteBase
from memotherm.storage.sqlite.filters import BandKey
from memotherm.storage.sqlite.matches import best_matches, contained
from memotherm.storage.sqlite.statements import SqliteStatements
from memotherm.storage.sqlstore import (
    any_expired,
    identity_of,
    visible_rows,
)
from memotherm.storage.statements import Row, Statements
from memotherm.storage.values import Filter, Find, Identity, Record, Scores, TextMatches

__all__ = ["SqliteIndex"]

Vectors = NDArray[np.float32]
Numbers = NDArray[np.int64]
Strengths = NDArray[np.float64]

#: The share of all memories from which on a listing reads the table in its own order.
_LARGE_SHARE = 0.1


class SqliteIndex(SqliteBase):
    """The part of a store that searches."""

    def pinned(self, spaces: Sequence[int], now: datetime) -> list[Record]:
        """Return the visible pinned memories, oldest first."""
        with self._reading() as statements:
            count = self._fact(statements, "pinned_count", spaces=list(spaces))
        return super().pinned(spaces, now) if count else []

    def pending(self, spaces: Sequence[int]) -> int:
        """Return the number of visible memories without vectors."""
        with self._reading() as statements:
            statements.moment()
            return super().pending(spaces) if statements.any_pending else 0

    def find(self, spaces: Sequence[int], find: Find) -> list[Record]:
        """Return a page of memories in the order of the listing; every context lists hot ones, which are cached."""
        listed_again = find.tier is Tier.HOT and find.order == "newest" and not find.skip
        if not listed_again or getattr(self._snapshots, "statements", None) is None:
            return super().find(spaces, find)
        with self._reading() as statements:
            nos = found_numbers(statements, spaces, find)
        records = self.records(nos)
        return [records[no] for no in nos]

    def _reads_in_order(self, statements: Statements, spaces: Sequence[int], find: Find) -> bool:
        """Return whether a large share of all memories is listed, so that a page is soon full.

        A page of 100 from one space with 100,000 memories takes 1 ms instead of 320 ms by the index and a sort.
        """
        if find.tier is Tier.HOT or find.tags is not None or find.retention not in (None, Retention.ACTIVE):
            return False
        tiers = [tier.rank for tier in (Tier if find.tier is None else [find.tier])]
        count = int(statements.value("count_in", spaces=list(spaces), tiers=tiers))
        return count >= _LARGE_SHARE * int(statements.value("memory_last_no"))

    def candidates(self, spaces: Sequence[int], tiers: Sequence[Tier], nos: Sequence[int], where: Filter) -> Candidates:
        """Return those of some memories that scope, tiers, retention and filter let through, in their order."""
        with self._reading() as statements:
            return self._candidates.visible(statements, spaces, tiers, nos, where)

    def _memory_rows(self, statements: Statements, nos: Sequence[int]) -> list[Row]:
        current: SqliteStatements | None = getattr(self._snapshots, "statements", None)
        if current is None:
            return super()._memory_rows(statements, nos)
        return self._records_read.rows(current, nos)

    def active(self, nos: Sequence[int]) -> Candidates:
        """Return those of some memories that are active, in their order: the turns before a message."""
        with self._reading() as statements:
            return self._candidates.active(statements, nos)

    def search_text(
        self, spaces: Sequence[int], tiers: Sequence[Tier], words: Sequence[str], limit: int, where: Filter
    ) -> TextMatches:
        """Return the best keyword matches, strongest first, newest first among equals."""
        with self._reading() as statements:
            total = self._fact(statements, "count_in", spaces=list(spaces), tiers=[tier.rank for tier in tiers]) or 0
            lists = self._postings.of(statements, spaces, tiers, words)
            expired = self._any_expired(statements, spaces, where.now)
            filtered = where.selective or expired
            allowed = (
                None if expired or not where.selective else self._filters.numbers(statements, spaces, tiers, where)
            )
            # About as many as a filter over half leaves enough of.
            wanted = 3 * limit if where.selective else limit
            while True:
                nos, strengths = best_matches(lists, total, wanted)
                found = _contained(nos, strengths, allowed) if allowed is not None else (nos, strengths)
                scores = dict(zip(*(column.tolist() for column in found), strict=True))
                if filtered and allowed is None:
                    scores = _visible(statements, spaces, tiers, scores, where)
                if len(scores) >= limit or len(nos) < wanted:
                    frequencies = dict(zip(words, map(len, lists), strict=True))
                    return TextMatches(_first(limit, scores), total, frequencies)
                wanted *= 4

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
        keys = [BandKey(space, tier) for space in spaces for tier in tiers]
        with self._reading() as statements:
            identity = by or identity_of(statements)
            if identity is None:
                return {}
            wanted = limit
            while True:
                scores = self._bands.search(statements, identity, keys, vector, wanted, where)
                if not self._any_expired(statements, spaces, where.now):
                    return scores
                visible = _visible(statements, spaces, tiers, scores, where)
                if len(visible) >= limit or len(scores) < wanted:
                    return _first(limit, visible)
                wanted *= 4

    def similarities(
        self,
        spaces: Sequence[int],
        tiers: Sequence[Tier],
        nos: Sequence[int],
        vector: Vectors,
        by: Identity | None = None,
    ) -> dict[int, float]:
        """Return the cosine of each of the memories that has vectors; its nearest part counts."""
        keys = [BandKey(space, tier) for space in spaces for tier in tiers]
        with self._reading() as statements:
            identity = by or identity_of(statements)
            return {} if identity is None else self._bands.cosines(statements, identity, keys, nos, vector)

    def _any_expired(self, statements: SqliteStatements, spaces: Sequence[int], now: datetime) -> bool:
        """Return whether there are expired memories that maintenance has not processed yet."""
        first = self._fact(statements, "first_expiry")
        return first is not None and first <= to_micros(now) and any_expired(statements, spaces, now)


def _visible(
    statements: SqliteStatements, spaces: Sequence[int], tiers: Sequence[Tier], scores: Scores, where: Filter
) -> Scores:
    """Return the scores of those memories that are not expired and that the filter lets through."""
    visible = {row[0] for row in visible_rows(statements, "visible", spaces, tiers, list(scores), where)}
    return {no: score for no, score in scores.items() if no in visible}


def _contained(nos: Numbers, strengths: Strengths, allowed: Sequence[Numbers]) -> tuple[Numbers, Strengths]:
    """Return the matches that are in one of some lists."""
    passing = np.any([contained(nos, numbers) for numbers in allowed], axis=0)
    return nos[passing], strengths[passing]


def _first(count: int, scores: Scores) -> Scores:
    return dict(islice(scores.items(), count))
