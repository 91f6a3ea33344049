"""The tier policies of a store: adopted ones, and one in the shadow."""

from __future__ import annotations

from collections.abc import Sequence

from memotherm.model import Tier
from memotherm.model.clock import from_micros
from memotherm.model.results import TierCount
from memotherm.storage.sqlstore.base import SqlBase
from memotherm.storage.values import AdoptionRow, ShadowTier

__all__ = ["SqlPolicies"]

_TIERS = tuple(Tier)


class SqlPolicies(SqlBase):
    """The part of `PolicyStore` that is the same in SQL everywhere."""

    @property
    def adopted(self) -> int:
        """The number of the last adoption that a read or a transaction of this process has seen."""
        return self._shared.adopted

    def adoptions(self) -> list[AdoptionRow]:
        """Return the policies that were adopted and rolled back, in order."""
        names = ("number", "at", "actor", "action", "name", "hash", "document")
        rows = [dict(zip(names, row, strict=True)) for row in self._unlogged_rows("adoptions")]
        if rows:
            self._shared.saw(rows[-1]["number"])
        return [AdoptionRow(**{**row, "at": from_micros(row["at"])}) for row in rows]

    def set_shadow(self, policy: str) -> None:
        """Let the log of recalls count what the policy with a hash would have had cold."""
        self._shared.shadow = policy

    def shadow_tiers(self, spaces: Sequence[int], policy: str) -> dict[int, ShadowTier]:
        """Return the tiers in which a policy in the shadow would have memories of some spaces, by number."""
        rows = self._rows("shadow_tiers_of", spaces=list(spaces), policy=policy)
        return {no: ShadowTier(no, _TIERS[tier], rule, from_micros(since)) for no, tier, rule, since in rows}

    def shadow_counts(self, spaces: Sequence[int], policy: str) -> dict[tuple[Tier, Tier], TierCount]:
        """Return how many active memories a policy in the shadow would have in another tier: (its tier, the real)."""
        rows = self._rows("shadow_counts", spaces=list(spaces), policy=policy)
        return {
            (_TIERS[shadow], _TIERS[real]): TierCount(memories=memories, tokens=tokens)
            for shadow, real, memories, tokens in rows
        }

    def set_use_window(self, days: float) -> None:
        """Set the days in which uses count as recent."""
        self._shared.set_window(days)
