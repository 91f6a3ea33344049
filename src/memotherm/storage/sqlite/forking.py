"""Forks: SQLite forbids a child to use, or even to close, a connection that its parent has opened.

Even a connection that the child opens itself would share the parent's record of locks. So all connections are
closed before a fork; the parent opens new ones when it needs them, and the child has none.
"""

from __future__ import annotations

import os
import threading
from typing import Protocol
from weakref import WeakSet

__all__ = ["register", "registered"]


class _Forkable(Protocol):
    """Connections that can be closed for the moment of a fork."""

    def before_fork(self) -> None:
        """Close the connections and let nobody open new ones."""

    def after_fork(self) -> None:
        """Let connections be opened again, in either process."""


_registered: WeakSet[_Forkable] = WeakSet()
#: Held during a fork, so that nothing is opened meanwhile.
_registering = threading.Lock()
#: What `before_fork` was called for.
_prepared: list[_Forkable] = []


def register(connections: _Forkable) -> None:
    """Close some connections before each fork of this process."""
    with _registering:
        _registered.add(connections)


def registered() -> list[_Forkable]:
    """Return the connections of this process."""
    with _registering:
        return list(_registered)


def _before() -> None:
    _registering.acquire()
    for connections in _registered:
        connections.before_fork()
        _prepared.append(connections)


def _after() -> None:
    while _prepared:
        _prepared.pop().after_fork()
    _registering.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
