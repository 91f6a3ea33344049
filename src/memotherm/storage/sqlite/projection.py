"""A projection of the ledger: something kept in memory that follows the events of the store."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence

from memotherm.storage.sqlite.statements import SqliteStatements

#: How many steps a projection can take back for an older snapshot before it is read again.
_MOST_STEPS = 64


class Projection(ABC):
    """The state of one event, used by one thread at a time: whoever uses it holds its lock.

    It follows committed reads only. A store in memory has one connection, so a search in a unit of work reads what may
    be rolled back, under numbers of events that others will get: such a search reads the rows, and leaves it as it is.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        #: The newest event whose change it contains; -1 before it is read.
        self.seq = -1
        #: (the event before, the memories that were changed) of the last steps.
        self._steps: deque[tuple[int, Sequence[int]]] = deque(maxlen=_MOST_STEPS)

    def follow(self, statements: SqliteStatements) -> None:
        """Take the state that a snapshot sees."""
        seq = statements.moment().seq
        if seq == self.seq:
            return
        changed: Sequence[int] | None = None
        if seq > self.seq >= 0 and seq - self.seq <= self.most_changes:
            changed = statements.changed_since(self.seq)
            self._steps.append((self.seq, changed))
        elif seq < self.seq:
            changed = self._changed_after(seq)
        # Until all is applied, its state is that of no event: after an error or an interrupt, everything is read again.
        self.seq = -1
        if changed is None:
            self._steps.clear()
            self.load(statements)
        elif changed:
            self.apply(statements, changed)
        self.seq = seq

    def _changed_after(self, seq: int) -> list[int] | None:
        """Return the memories whose changes after an event it contains; None if that is not known."""
        changed: list[int] = []
        for before, nos in reversed(self._steps):
            changed += nos
            if before <= seq:
                return changed
        return None

    @property
    @abstractmethod
    def most_changes(self) -> int:
        """The number of events above which loading is cheaper than applying them."""

    @abstractmethod
    def load(self, statements: SqliteStatements) -> None:
        """Read everything as a snapshot sees it."""

    @abstractmethod
    def apply(self, statements: SqliteStatements, changed: Sequence[int]) -> None:
        """Replace what was changed by what a snapshot sees."""
