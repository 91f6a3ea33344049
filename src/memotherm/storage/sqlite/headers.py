"""The beginning of a file, read without releasing the locks of SQLite.

POSIX releases all locks that a process has on a file when it closes any descriptor of that file. Another process would
then take the store for unused, and delete the log that this one writes. So a descriptor of a store that is open here
stays open until it is not.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Protocol
from weakref import WeakSet

__all__ = ["User", "beginning_of", "register"]

Identity = tuple[int, int]


class User(Protocol):
    """What has a store open."""

    @property
    def used_file(self) -> Identity:
        """The device and inode of the file, if any connection may be open; (0, 0) otherwise."""
        ...


_users: WeakSet[User] = WeakSet()
#: The descriptors that were not closed, by the device and inode of their files.
_kept: dict[Identity, int] = {}
_lock = threading.Lock()


def register(user: User) -> None:
    """Note that a store is going to be opened."""
    with _lock:
        _users.add(user)


def beginning_of(path: str | Path, count: int) -> bytes:
    """Return up to `count` bytes at the beginning of a file; raise OSError if it cannot be read."""
    with _lock:
        used = {user.used_file for user in list(_users)}
        for unused in _kept.keys() - used:
            os.close(_kept.pop(unused))
        kept = _kept.get(_identity(Path(path).stat()))
        if kept is not None:
            return os.pread(kept, count, 0)
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        try:
            return os.read(descriptor, count)
        finally:
            identity = _identity(os.fstat(descriptor))
            if identity in used and os.name == "posix":
                _kept[identity] = descriptor
            else:
                os.close(descriptor)


def _identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino


def _renew_lock() -> None:
    """Replace the lock in a forked process, where the thread that held it does not exist."""
    global _lock  # noqa: PLW0603 - a fork copies it
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)
