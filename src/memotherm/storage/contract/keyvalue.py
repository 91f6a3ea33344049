"""Small values by namespace and key."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

__all__ = ["KeyValueStore"]


class KeyValueStore(Protocol):
    """Values that are not memories: no scope, no search, no events."""

    def get_values(self, namespace: str, now: datetime, key: str | None = None) -> dict[str, str]:
        """Return the values of a namespace by key, or only the one under a key; expired values are left out."""

    def put_value(
        self, namespace: str, key: str, value: str, now: datetime, expires: datetime | None, *, replace: bool
    ) -> str | None:
        """Store a value; without `replace`, an existing value stays and is returned.

        Inside `deferring()` it is committed with the last transaction of the thread.
        """

    def delete_value(self, namespace: str, key: str) -> bool:
        """Delete a value and return whether it existed."""
