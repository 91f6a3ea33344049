"""Logins of browsers: a cookie that stands for the API key, or the one-time token, that it was exchanged for.

The cookie is a random text; the store holds only its hash and that of the key, so that every server on the store
knows it, and it ends with the key. A login with the one-time token has the rights of the process that printed it,
and is known to that process only. Such a login is a person's; one with a key is as the key says.
"""

from __future__ import annotations

import secrets
from datetime import timedelta

from starlette.requests import cookie_parser
from starlette.types import Scope

from memotherm import Memotherm
from memotherm.facade.keys import Key, secret_hash

LIFETIME = timedelta(hours=12)


class Logins:
    """The logins of a server."""

    def __init__(self, mem: Memotherm, token: str | None = None) -> None:
        self._keys = mem.keys
        self._logins = mem.store.key_value("logins")
        #: The one-time token, until it is used.
        self._token = token
        self._with_token: set[str] = set()

    def use_token(self, token: str) -> bool:
        """Return whether a text is the one-time token, which is void from then on."""
        valid = self._token is not None and secrets.compare_digest(token.encode(), self._token.encode())
        if valid:
            self._token = None
        return valid

    def begin(self, secret: str | None) -> str:
        """Return the cookie of a new login with the secret of a key; None: with the one-time token."""
        cookie = secrets.token_urlsafe(32)
        if secret is None:
            self._with_token.add(secret_hash(cookie))
        else:
            self._logins.put(secret_hash(cookie), {"key": secret_hash(secret)}, LIFETIME)
        return cookie

    def find(self, cookie: str) -> tuple[bool, Key | None]:
        """Return whether a cookie is that of a login, and the key of the login."""
        name = secret_hash(cookie)
        if name in self._with_token:
            return True, None
        login = self._logins.get(name)
        key = None if login is None else self._keys.find(login["key"])
        return key is not None, key

    def end(self, cookie: str) -> None:
        """End a login."""
        self._with_token.discard(secret_hash(cookie))
        self._logins.delete(secret_hash(cookie))


def cookie_of(scope: Scope) -> str | None:
    """Return the cookie of the login of a request."""
    lines = [value.decode("latin-1") for name, value in scope["headers"] if name == b"cookie"]
    return cookie_parser(lines[0]).get(cookie_name(scope)) if lines else None


def cookie_name(scope: Scope) -> str:
    """Return the name of the cookie: browsers send cookies to all ports of a host."""
    return f"memotherm-{(scope.get('server') or ('', 0))[1] or 0}"
