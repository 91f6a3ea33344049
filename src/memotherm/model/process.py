"""The process that owns an object: connections, locks and threads do not survive a fork."""

from __future__ import annotations

import os

from memotherm.errors import StoreClosed


class OwnProcess:
    """The process that opened a store."""

    __slots__ = ("_name", "_pid")

    def __init__(self, name: str) -> None:
        self._name = name
        self._pid = os.getpid()

    @property
    def current(self) -> bool:
        """Whether this code runs in that process, and not in a fork of it."""
        return os.getpid() == self._pid

    def require(self) -> None:
        """Raise `StoreClosed` in a forked process."""
        if os.getpid() != self._pid:
            raise StoreClosed(f"{self._name} was opened before a fork: open the store again in this process")
