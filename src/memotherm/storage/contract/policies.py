"""The policies that were adopted."""

from __future__ import annotations

from typing import Protocol

from memotherm.model import Event
from memotherm.storage.values import AdoptionRow, Record

__all__ = ["PolicyStore", "PolicyTransaction"]


class PolicyStore(Protocol):
    """Which policy is in force; it concerns all tenants."""

    @property
    def adopted(self) -> int:
        """The number of the last adoption that a read or a transaction of this process has seen; 0 without one.

        `spaces` and `write` read it with what they read anyway.
        """

    def adoptions(self) -> list[AdoptionRow]:
        """Return the policies that were adopted and rolled back, in order; the last one is in force."""

    def set_use_window(self, days: float) -> None:
        """Set the days in which uses count as recent."""


class PolicyTransaction(Protocol):
    """Changes of which policy is in force."""

    def adopt(self, adoption: AdoptionRow) -> int:
        """Store the policy that is in force from now on, and return its number."""

    def moved_by(self, policy: str) -> list[str]:
        """Return the ids of the memories that rules of a policy have moved."""

    def events(self, record: Record) -> list[Event]:
        """Return the history of one memory, oldest first."""
