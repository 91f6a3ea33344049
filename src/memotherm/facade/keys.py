"""The small values of a store by namespace and key, and the API keys of its server: `mem.keys`.

The values, such as API keys and replies to requests that may be repeated, are not memories: they have no scope, are
never searched, and the ledger has no events about them.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from memotherm.errors import InvalidInput, NotFound
from memotherm.model import Scope
from memotherm.storage.store import Store

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_PREFIX = "mtk_"

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    """A key without its secret."""

    name: str
    tenant: str
    #: The user whose scope every request has; None: the request names it.
    user: str | None = None
    #: Whether requests with it may only read.
    read_only: bool = False
    #: Whether requests with the key of a user may change what the other users of the tenant see as well.
    shared: bool = False
    #: Whether a person uses it: what requests with it write has the trust of a person, except through MCP.
    person: bool = False
    created_at: datetime

    def as_dict(self) -> dict[str, Any]:
        """Return the key as plain values."""
        return {**asdict(self), "created_at": self.created_at.isoformat()}


class Keys:
    """The API keys of the server; each gives access to the memories of one tenant, or of one of its users.

    A key is printed once, when it is created; the store holds only its hash. A change takes effect in running servers
    immediately.
    """

    def __init__(self, values: KeyValue) -> None:
        self._keys = values

    def create(
        self,
        name: str,
        tenant: str,
        user: str | None = None,
        *,
        read_only: bool = False,
        shared: bool = False,
        person: bool = False,
    ) -> str:
        """Create a key and return its secret, which cannot be read again.

        Args:
            name: What the key is listed and revoked by.
            tenant: The tenant whose memories it gives access to.
            user: The only user of the tenant whose memories it gives access to; None: all of them.
            read_only: Whether requests with it may only read.
            shared: Whether requests with the key of a user may also change memories that all users see.
            person: Whether only a person uses it, such as for the dashboard; never give it to an agent.
        """
        if not _NAME.fullmatch(name):
            raise InvalidInput(f"{name!r} is not a valid name of a key: use up to 64 letters, digits, dots and dashes")
        Scope(tenant=tenant, user=user)
        if any(key.name == name for key in self.all()):
            raise InvalidInput(f"a key {name!r} exists: revoke it first, or choose another name")
        secret = _PREFIX + secrets.token_urlsafe(32)
        rights = {"read_only": read_only, "shared": shared, "person": person}
        key = Key(name=name, tenant=tenant, user=user, **rights, created_at=self._keys.now())
        self._keys.put(secret_hash(secret), key.as_dict())
        return secret

    def all(self) -> list[Key]:
        """Return all keys, oldest first."""
        return sorted(map(_key, self._keys.all().values()), key=lambda key: (key.created_at, key.name))

    def revoke(self, name: str) -> None:
        """Revoke a key."""
        hashes = [found for found, value in self._keys.all().items() if value["name"] == name]
        if not hashes:
            raise NotFound(f"no key {name!r}: `memotherm keys list` lists them")
        for found in hashes:
            self._keys.delete(found)

    def find(self, hashed: str) -> Key | None:
        """Return the key whose secret has a hash, or None."""
        value = self._keys.get(hashed)
        return None if value is None else _key(value)

    def __bool__(self) -> bool:
        return bool(self._keys.all())


def secret_hash(secret: str) -> str:
    """Return the hash of a secret, as the store holds it; a lookup does not leak by its duration how much is right."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _key(value: dict[str, Any]) -> Key:
    return Key(**{**value, "created_at": datetime.fromisoformat(value["created_at"])})
