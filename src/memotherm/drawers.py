"""Where doors keep small things of their own in the store: API keys, answers to requests that may come twice.

What is in a drawer is no memory: it has no scope, is never searched, and no event tells of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from memotherm.storage.store import Store

__all__ = ["Drawer", "Drawers"]

Json = dict[str, Any]


class Drawer:
    """One drawer of a store: JSON objects by key, shared by all processes that use the store."""

    def __init__(self, store: Store, name: str, now: Callable[[], datetime]) -> None:
        self.name = name
        self._store = store
        #: The time by the memory's clock.
        self.now = now

    def get(self, key: str) -> Json | None:
        """Return what lies under a key, unless its time is over."""
        found = self._store.kept(self.name, self.now(), key)
        return json.loads(found[key]) if key in found else None

    def all(self) -> dict[str, Json]:
        """Return everything by key."""
        return {key: json.loads(value) for key, value in self._store.kept(self.name, self.now()).items()}

    def put(self, key: str, value: Mapping[str, Any], last: timedelta | None = None) -> None:
        """Put something under a key, over what was there; None lets it last for ever."""
        self._keep(key, value, last, replace=True)

    def claim(self, key: str, value: Mapping[str, Any], last: timedelta | None = None) -> Json | None:
        """Put something under a key where nothing is; otherwise return what is there."""
        there = self._keep(key, value, last, replace=False)
        return None if there is None else json.loads(there)

    def remove(self, key: str) -> bool:
        """Take something out; tell whether it was there."""
        return self._store.unkeep(self.name, key)

    def _keep(self, key: str, value: Mapping[str, Any], last: timedelta | None, *, replace: bool) -> str | None:
        now = self.now()
        until = None if last is None else now + last
        return self._store.keep(self.name, key, json.dumps(value), now, until, replace=replace)


class Drawers:
    """All drawers of a store."""

    def __init__(self, store: Store, now: Callable[[], datetime]) -> None:
        self._store = store
        self._now = now

    def __getitem__(self, name: str) -> Drawer:
        return Drawer(self._store, name, self._now)
