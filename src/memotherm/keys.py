"""API keys of the server, `mem.keys`; each gives access to the memories of one tenant, or of one of its users.

A key is printed once, when it is created; the store holds only its hash.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from memotherm.errors import InvalidInput, NotFound
from memotherm.model import Scope
from memotherm.storage.keyvalue import KeyValue

__all__ = ["Key", "Keys", "secret_hash"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_PREFIX = "mtk_"


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    """A key without its secret."""

    name: str
    tenant: str
    #: The user whose scope every request has; None: the request names it.
    user: str | None = None
    #: Whether requests with it may only read.
    read_only: bool = False
    created_at: datetime

    def as_dict(self) -> dict[str, Any]:
        """Return the key as plain values."""
        return {**asdict(self), "created_at": self.created_at.isoformat()}


class Keys:
    """The keys of a store; a change takes effect in running servers immediately."""

    def __init__(self, values: KeyValue) -> None:
        self._keys = values

    def create(self, name: str, tenant: str, user: str | None = None, *, read_only: bool = False) -> str:
        """Create a key and return its secret, which cannot be read again.

        Args:
            name: What the key is listed and revoked by.
            tenant: The tenant whose memories it gives access to.
            user: The only user of the tenant whose memories it gives access to; None: all of them.
            read_only: Whether requests with it may only read.
        """
        if not _NAME.fullmatch(name):
            raise InvalidInput(f"{name!r} is not a valid name of a key: use up to 64 letters, digits, dots and dashes")
        Scope(tenant=tenant, user=user)
        if any(key.name == name for key in self.all()):
            raise InvalidInput(f"a key {name!r} exists: revoke it first, or choose another name")
        secret = _PREFIX + secrets.token_urlsafe(32)
        key = Key(name=name, tenant=tenant, user=user, read_only=read_only, created_at=self._keys.now())
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
