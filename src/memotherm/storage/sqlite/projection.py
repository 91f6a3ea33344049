"""What a process keeps in memory of memories: a projection of the ledger.

The events since the last read remove the memories that they changed. Uses are counted without an event, but each
transaction that counts some has a number.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable

from memotherm.storage.sqlite.statements import CountedUses, Moment, SqliteStatements

__all__ = ["Projection"]

#: With more changes than this, reading the memories again is cheaper than removing those that were changed.
_MOST_CHANGES = 20_000


class Projection(ABC):
    """Memories in the state of one moment, used by one thread at a time.

    Args:
        capacity: How many bytes they may take.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._moment = Moment(0, 0)

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of memories in it."""

    def _catch_up(self, statements: SqliteStatements) -> bool:
        """Remove what was changed since the last read; return False if another thread has seen more than a snapshot."""
        moment = statements.moment()
        if moment > self._moment:
            changed = statements.changed_since(self._moment.seq) if len(self) else []
            if len(changed) > _MOST_CHANGES:
                self._clear()
            else:
                self._remove(changed)
            if moment.counted != self._moment.counted:
                self._forget_uses()
            self._moment = moment
        return moment == self._moment

    def _is_at(self, statements: SqliteStatements) -> bool:
        """Return whether it has the state that a snapshot sees."""
        return statements.moment() == self._moment

    def _follows(self, counted: CountedUses) -> bool:
        """Return whether the uses are the first that were counted since its moment, which then becomes theirs."""
        if counted.number != self._moment.counted + 1:
            return False
        self._moment = self._moment._replace(counted=counted.number)
        return True

    @abstractmethod
    def _clear(self) -> None:
        """Remove all memories."""

    @abstractmethod
    def _remove(self, nos: Iterable[int]) -> None:
        """Remove some memories, if they are here."""

    @abstractmethod
    def _forget_uses(self) -> None:
        """Let the uses of all memories be read again."""
