"""Keys: the callers' own names for memories, unique in a scope, and the listing of their prefixes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from memotherm.errors import InvalidInput
from memotherm.storage.store import Store
from memotherm.storage.values import AFTER_PREFIX
from memotherm.text.clean import require_text

__all__ = ["checked_key", "list_keys"]

#: An index of PostgreSQL takes 2,700 bytes, which are the key, its tenant and its space.
_LONGEST_KEY = 400
_PAGE = 500
_CONTROL = re.compile("[\x00-\x1f\x7f]")


def checked_key(key: object) -> str:
    """Return a key that can be stored, or raise `InvalidInput`."""
    if isinstance(key, str) and len(key) > _LONGEST_KEY:
        raise InvalidInput(f"a key has at most {_LONGEST_KEY} characters, not {len(key):,}: keep the rest in metadata")
    text = require_text(key, "a key", _LONGEST_KEY)
    if _CONTROL.search(text):
        raise InvalidInput(f"the key {key!r} contains a line break or another control character: remove it")
    return text


def list_keys(
    store: Store,
    spaces: Sequence[int],
    now: datetime,
    prefix: str,
    depth: int | None,
    after: str | None,
    limit: int,
) -> list[str]:
    """Return the distinct keys with a prefix in order, each cut behind its `depth`-th slash after the prefix.

    What follows a cut is skipped by the index, however many keys there are.
    """
    found: list[str] = []
    first = prefix if after is None else max(prefix, _behind(after, depth))
    while len(found) < limit:
        page = store.keys(spaces, first, prefix + AFTER_PREFIX, now, _PAGE)
        for key in page:
            if key >= first:
                found.append(_cut(key, len(prefix), depth))
                first = _behind(found[-1], depth)
        if len(page) < _PAGE:
            break
    return found[:limit]


def _cut(key: str, start: int, depth: int | None) -> str:
    if depth is None:
        return key
    for _ in range(depth):
        slash = key.find("/", start)
        if slash < 0:
            return key
        start = slash + 1
    return key[:start]


def _behind(key: str, depth: int | None) -> str:
    """Return the first text behind a key, or behind everything that begins with a prefix that was cut."""
    if depth is not None and key.endswith("/"):
        return key[:-1] + chr(ord("/") + 1)
    return key + " "
