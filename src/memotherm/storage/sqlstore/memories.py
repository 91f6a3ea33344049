"""Memories: reading and listing them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby

from memotherm.model import Retention, Scope, Tier
from memotherm.model.clock import to_micros
from memotherm.model.results import ScopeCount, TierCount
from memotherm.rules.select import Select
from memotherm.storage.rows import record_of, scope_of, scope_row
from memotherm.storage.selecting import found_count, found_rows, selected_rows
from memotherm.storage.sqlstore.base import SqlBase
from memotherm.storage.statements import Row, Statements
from memotherm.storage.values import Counts, Find, Record

__all__ = ["SqlMemories"]

_TIERS = tuple(Tier)
_RETENTIONS = tuple(Retention)


class SqlMemories(SqlBase):
    """The part of `MemoryStore` that is the same in SQL everywhere."""

    def spaces(self, scope: Scope) -> tuple[int, ...]:
        """Return the spaces whose memories a scope can see."""
        rows = self._visible_spaces(scope)
        if rows:
            self._shared.saw(rows[0][1])
        return tuple(row[0] for row in rows)

    def _visible_spaces(self, scope: Scope) -> list[Row]:
        return self._unlogged_rows("spaces_visible", **scope_row(scope))

    def spaces_within(self, scope: Scope) -> tuple[int, ...]:
        """Return the spaces that lie inside a scope: equal to it or narrower."""
        return tuple(space for (space,) in self._unlogged_rows("spaces_within", **scope_row(scope)))

    def scopes(self, spaces: Sequence[int]) -> list[ScopeCount]:
        """Return what each of the scopes of some spaces holds, without empty ones, in the order of their fields."""
        found = []
        for fields, rows in groupby(self._rows("scopes_within", spaces=list(spaces)), lambda row: row[:6]):
            tiers, hidden = {tier: TierCount() for tier in Tier}, 0
            for tier, retention, memories, tokens in (row[6:] for row in rows):
                if _RETENTIONS[retention] is Retention.ACTIVE:
                    tiers[_TIERS[tier]] = TierCount(memories=memories, tokens=tokens)
                else:
                    hidden += memories
            found.append(ScopeCount(scope=scope_of(fields), tiers=tiers, hidden=hidden))
        return found

    def get(self, spaces: Sequence[int], memory_id: str) -> Record | None:
        """Return a memory that lies in one of the spaces."""
        records = self._records("memory_by_id", id=memory_id)
        return next((record for record in records if record.space in spaces), None)

    def with_key(self, spaces: Sequence[int], key: str, now: datetime) -> list[Record]:
        """Return the visible memories of some spaces with a key, one for each scope that has it."""
        return self._records("memories_with_key", spaces=list(spaces), key=key, now=to_micros(now))

    def keys(self, spaces: Sequence[int], first: str, last: str, now: datetime, limit: int) -> list[str]:
        """Return the distinct keys of visible memories from `first` to before `last`, in the order of their UTF-8."""
        values = {"spaces": list(spaces), "first": first, "last": last, "now": to_micros(now), "limit": limit}
        return [key for (key,) in self._rows("keys", **values)]

    def ids(self, spaces: Sequence[int], prefix: str, limit: int) -> list[str]:
        """Return the ids that begin with a prefix, in order."""
        # No id has a character above the tilde.
        rows = self._rows("ids_from", low=prefix, high=f"{prefix}~", spaces=list(spaces), limit=limit)
        return [memory_id for (memory_id,) in rows]

    def find(self, spaces: Sequence[int], find: Find) -> list[Record]:
        """Return a page of memories in the order of the listing."""
        with self._reading(once=True) as statements:
            in_order = self._reads_in_order(statements, spaces, find)
            return self._converted(statements, found_rows(statements, spaces, find, in_order=in_order))

    def count(self, spaces: Sequence[int], find: Find) -> int:
        """Return how many memories a listing has, on all its pages."""
        with self._reading(once=True) as statements:
            in_order = self._reads_in_order(statements, spaces, find)
            return found_count(statements, spaces, find, in_order=in_order)

    def _reads_in_order(self, statements: Statements, spaces: Sequence[int], find: Find) -> bool:  # noqa: ARG002
        """Return whether a page is found sooner by reading the table in its own order than by an index."""
        return False

    def records(self, nos: Sequence[int]) -> Mapping[int, Record]:
        """Return memories by number, as they are now."""
        with self._reading(once=True) as statements:
            rows = self._current(statements, self._memory_rows(statements, nos))
            scopes = {space: self._scope(statements, space, self._scopes) for space in {row[2] for row in rows}}
            return {row[0]: record_of(row, scopes[row[2]]) for row in rows}

    def _memory_rows(self, statements: Statements, nos: Sequence[int]) -> list[Row]:
        return statements.rows("memories_of", nos=list(nos))

    def pinned(self, spaces: Sequence[int], now: datetime) -> list[Record]:
        """Return the visible pinned memories, oldest first."""
        return self._records("pinned", spaces=list(spaces), now=to_micros(now))

    def select(self, spaces: Sequence[int], selects: Select, now: datetime, after: int, limit: int) -> list[Record]:
        """Return the memories that a rule looks at, in order of number, a page at a time."""
        with self._reading(once=True) as statements:
            return self._converted(statements, selected_rows(statements, spaces, selects, now, after, limit))

    def list_tier(self, space: int, tier: Tier, now: datetime, limit: int) -> list[Record]:
        """Return the visible memories of one space in one tier, newest first."""
        return self._records("tier_list", space=space, tier=tier.rank, now=to_micros(now), limit=limit)

    def count_tier(self, space: int, tier: Tier, now: datetime) -> TierCount:
        """Return how many visible memories one space has in one tier, and their tokens."""
        ((memories, tokens),) = self._rows("tier_tokens", space=space, tier=tier.rank, now=to_micros(now))
        return TierCount(memories=memories, tokens=tokens)

    def counts(self, spaces: Sequence[int], now: datetime) -> Counts:
        """Return the number of memories and tokens in some spaces; expired memories count as deleted."""
        tiers = {tier: TierCount() for tier in Tier}
        retention = dict.fromkeys(Retention, 0)
        with self._reading() as statements:
            counted = statements.rows("counts", spaces=list(spaces))
            expired_counts = statements.rows("counts_expired", spaces=list(spaces), now=to_micros(now))
        for tier, rank, memories, tokens in counted:
            retention[_RETENTIONS[rank]] += memories
            if _RETENTIONS[rank] is Retention.ACTIVE:
                tiers[_TIERS[tier]] = TierCount(memories=memories, tokens=tokens)
        for tier, memories, tokens in expired_counts:
            count = tiers[_TIERS[tier]]
            tiers[_TIERS[tier]] = TierCount(memories=count.memories - memories, tokens=count.tokens - tokens)
            retention[Retention.ACTIVE] -= memories
            retention[Retention.DELETED] += memories
        return Counts(tiers=tiers, retention=retention)
