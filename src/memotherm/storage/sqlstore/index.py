"""Searching: the part that is the same on every database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from memotherm.model import Tier
from memotherm.model.clock import to_micros
from memotherm.storage.candidates import Candidates, candidate_row
from memotherm.storage.selecting import passing_rows
from memotherm.storage.sqlstore.base import SqlBase
from memotherm.storage.statements import Row, Statements
from memotherm.storage.values import Filter

__all__ = ["SqlIndex", "any_expired", "visible_rows"]

#: At this time, nothing has expired.
_FIRST_MOMENT = 0


class SqlIndex(SqlBase):
    """The part of `IndexStore` that is the same in SQL everywhere."""

    def candidates(self, spaces: Sequence[int], tiers: Sequence[Tier], nos: Sequence[int], where: Filter) -> Candidates:
        """Return those of some memories that scope, tiers, retention and filter let through."""
        with self._reading(once=not where.selective) as statements:
            rows = visible_rows(statements, "candidates", spaces, tiers, nos, where)
            candidates = Candidates.of(map(candidate_row, rows))
            candidates.add_uses(statements.waiting)
            return candidates

    def active(self, nos: Sequence[int]) -> Candidates:
        """Return those of some memories that are active, in any space and tier: the turns before a message."""
        return Candidates.of(map(candidate_row, self._rows("candidates", nos=list(nos), now=_FIRST_MOMENT)))


def visible_rows(
    statements: Statements,
    name: str,
    spaces: Sequence[int],
    tiers: Sequence[Tier],
    nos: Sequence[int],
    where: Filter,
) -> list[Row]:
    """Return the rows of those memories that scope, tier, retention, expiry and the filter let through."""
    ranks = {tier.rank for tier in tiers}
    rows = statements.rows(name, nos=list(nos), now=to_micros(where.now))
    return passing_rows(statements, [row for row in rows if row[2] in ranks and row[1] in spaces], where)


def any_expired(statements: Statements, spaces: Sequence[int], now: datetime) -> bool:
    """Return whether there are expired memories that maintenance has not processed yet."""
    return bool(statements.value("expired", now=to_micros(now), spaces=list(spaces)))
