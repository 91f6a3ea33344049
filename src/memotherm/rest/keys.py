"""API keys: who may call the server, and whose memories each key reaches.

A key is shown once, when it is made; the store has only its hash. It knows no HTTP.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from datetime import datetime

from memotherm.errors import InvalidInput, NotFound
from memotherm.memory import Memotherm
from memotherm.model import Scope

__all__ = ["Key", "Keys"]

_NAMESPACE = "api-keys"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_PREFIX = "tck_"


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    """A key as the store knows it."""

    name: str
    tenant: str
    created_at: datetime

    def as_dict(self) -> dict[str, str]:
        """Return the key as plain values."""
        return {"name": self.name, "tenant": self.tenant, "created_at": self.created_at.isoformat()}


class Keys:
    """The keys of a store; changes take effect in every running server at once."""

    def __init__(self, mem: Memotherm) -> None:
        self._keys = mem.key_value(_NAMESPACE)

    def create(self, name: str, tenant: str) -> str:
        """Make a key and return its secret, which cannot be shown again."""
        if not _NAME.fullmatch(name):
            raise InvalidInput(f"{name!r} is no name for a key: use up to 64 letters, digits, dots, dashes")
        Scope(tenant=tenant)
        if any(key.name == name for key in self.all()):
            raise InvalidInput(f"there is a key {name!r} already: revoke it first, or choose another name")
        secret = _PREFIX + secrets.token_urlsafe(32)
        made = Key(name=name, tenant=tenant, created_at=self._keys.now())
        self._keys.put(_hash(secret), made.as_dict())
        return secret

    def all(self) -> list[Key]:
        """Return all keys, oldest first."""
        return sorted((_key(value) for value in self._keys.all().values()), key=lambda key: (key.created_at, key.name))

    def revoke(self, name: str) -> None:
        """Make a key worthless."""
        places = [place for place, value in self._keys.all().items() if value["name"] == name]
        if not places:
            raise NotFound(f"there is no key {name!r}: `memotherm keys list` shows them")
        for place in places:
            self._keys.delete(place)

    def find(self, secret: str) -> Key | None:
        """Return the key with a secret; looking it up by its hash tells nobody how much of it was right."""
        value = self._keys.get(_hash(secret))
        return None if value is None else _key(value)

    def __bool__(self) -> bool:
        return bool(self._keys.all())


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _key(value: dict[str, str]) -> Key:
    return Key(name=value["name"], tenant=value["tenant"], created_at=datetime.fromisoformat(value["created_at"]))
