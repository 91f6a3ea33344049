"""The policies that were adopted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from memotherm.model import Event, Tier
from memotherm.model.results import TierCount
from memotherm.storage.values import AdoptionRow, Record, ShadowTier

__all__ = ["PolicyStore", "PolicyTransaction"]


class PolicyStore(Protocol):
    """Which policy is in force; it concerns all tenants."""

    @property
    def adopted(self) -> int:
        """The number of the last adoption that a read or a transaction of this process has seen; 0 without one.

        `spaces` and `write` read it with what they read anyway.
        """

    def adoptions(self) -> list[AdoptionRow]:
        """Return the policies that were adopted, rolled back and run in the shadow, in order."""

    def set_shadow(self, policy: str) -> None:
        """Let the log of recalls count what the policy with a hash would have had cold; none with an empty text."""

    def shadow_tiers(self, spaces: Sequence[int], policy: str) -> dict[int, ShadowTier]:
        """Return the tiers in which a policy in the shadow would have memories of some spaces, by number."""

    def shadow_counts(self, spaces: Sequence[int], policy: str) -> dict[tuple[Tier, Tier], TierCount]:
        """Return how many active memories a policy in the shadow would have in another tier: (its tier, the real)."""

    def set_use_window(self, days: float) -> None:
        """Set the days in which uses count as recent."""


class PolicyTransaction(Protocol):
    """Changes of which policy is in force."""

    def adopt(self, adoption: AdoptionRow) -> int:
        """Store the policy that is in force from now on, and return its number, which no event has."""

    def put_shadow_tiers(self, policy: str, tiers: Sequence[ShadowTier]) -> None:
        """Store the tiers in which a policy in the shadow would have memories, until something moves them."""

    def drop_shadow_tiers(self, policy: str) -> None:
        """Delete what a policy in the shadow would have done."""

    def moved_by(self, policy: str) -> list[str]:
        """Return the ids of the memories that rules of a policy have moved."""

    def events(self, record: Record) -> list[Event]:
        """Return the history of one memory, oldest first."""
