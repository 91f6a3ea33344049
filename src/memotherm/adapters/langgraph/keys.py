"""Namespaces and keys of LangGraph as keys of memories.

    ("users", "ada"), "profile"    langgraph/users/ada//profile

The empty part before the last one tells the items of a namespace from the namespaces inside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from urllib.parse import unquote

from memotherm.memory import Memotherm

__all__ = ["ROOT", "full_key", "namespace_and_key", "namespace_prefix", "namespaces"]

#: What the key of every item begins with.
ROOT = "langgraph/"

_RESERVED = re.compile("[%/\x00-\x1f\x7f]")


def namespace_prefix(namespace: Sequence[str]) -> str:
    """Return what the keys of a namespace, and of those inside it, begin with."""
    return ROOT + "".join(f"{_quoted(label)}/" for label in namespace)


def full_key(namespace: Sequence[str], key: str) -> str:
    """Return the key of the memory that holds an item."""
    return f"{namespace_prefix(namespace)}/{_quoted(key)}"


def namespace_and_key(full: str) -> tuple[tuple[str, ...], str]:
    """Return the namespace and the key of an item."""
    *labels, _, key = full.removeprefix(ROOT).split("/")
    return tuple(unquote(label) for label in labels), unquote(key)


def namespaces(mem: Memotherm, within: Sequence[str] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the namespaces that hold items, at and inside a namespace."""
    prefix = namespace_prefix(within)
    after = None
    while page := mem.keys(prefix, depth=1, after=after):
        for entry in page:
            if entry == f"{prefix}/":
                yield tuple(within)
            elif entry.endswith("/"):
                yield from namespaces(mem, (*within, unquote(entry[len(prefix) : -1])))
        after = page[-1]


def _quoted(text: str) -> str:
    return _RESERVED.sub(lambda match: f"%{ord(match[0]):02X}", text)
