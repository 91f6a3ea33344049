"""Small JSON values in the store by namespace and key: API keys, replies to requests that may be repeated.

They are not memories: they have no scope, are never searched, and the ledger has no events about them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import Any

from memotherm.storage.store import Store

Json = dict[str, Any]


class KeyValue:
    """One namespace of a store: JSON objects by key, shared by all processes that use the store."""

    def __init__(self, store: Store, namespace: str, now: Callable[[], datetime]) -> None:
        self.namespace = namespace
        self._store = store
        #: The time by the memory's clock.
        self.now = now

    def get(self, key: str) -> Json | None:
        """Return the value under a key; None if there is none, or if it has expired."""
        values = self._store.get_values(self.namespace, self.now(), key)
        return json.loads(values[key]) if key in values else None

    def all(self) -> dict[str, Json]:
        """Return every value by its key."""
        return {key: json.loads(value) for key, value in self._store.get_values(self.namespace, self.now()).items()}

    def put(self, key: str, value: Mapping[str, Any], ttl: timedelta | None = None) -> None:
        """Store a value under a key, replacing the one that is there; without `ttl` it does not expire."""
        self._put(key, value, ttl, replace=True)

    def claim(self, key: str, value: Mapping[str, Any], ttl: timedelta | None = None) -> Json | None:
        """Store a value under a key that is free; if it is taken, return the value that is there."""
        existing = self._put(key, value, ttl, replace=False)
        return None if existing is None else json.loads(existing)

    def unit_of_work(self) -> AbstractContextManager[None]:
        """Commit all changes that this thread makes inside the context, and values that it stores, together."""
        return self._store.unit_of_work()

    def delete(self, key: str) -> bool:
        """Delete the value under a key and return whether it existed."""
        return self._store.delete_value(self.namespace, key)

    def _put(self, key: str, value: Mapping[str, Any], ttl: timedelta | None, *, replace: bool) -> str | None:
        now = self.now()
        expires = None if ttl is None else now + ttl
        return self._store.put_value(self.namespace, key, json.dumps(value), now, expires, replace=replace)
