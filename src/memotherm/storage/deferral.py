"""Commits that wait: the last transaction of a thread can be completed by values that are stored after it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Generic, TypeVar

__all__ = ["Deferral"]

Connection = TypeVar("Connection")


class _Waiting(Generic[Connection]):
    """What one thread has not committed yet."""

    def __init__(self) -> None:
        self.transaction = ExitStack()
        #: The connection of the transaction; None if there is none.
        self.connection: Connection | None = None
        #: What is to be done after the commit.
        self.following: list[Callable[[], None]] = []

    def commit(self) -> None:
        transaction, following = self.transaction.pop_all(), self.following[:]
        self.connection = None
        self.following.clear()
        transaction.close()
        for call in following:
            call()


class Deferral(Generic[Connection]):
    """The transactions of a store whose commits wait, at most one per thread."""

    def __init__(self) -> None:
        self._threads = threading.local()

    @contextmanager
    def active(self) -> Iterator[None]:
        """Let the last transaction of this thread wait until the context is left; an exception rolls it back."""
        waiting = self._threads.waiting = _Waiting[Connection]()
        try:
            with waiting.transaction:
                yield
                waiting.commit()
        finally:
            self._threads.waiting = None

    @property
    def applies(self) -> bool:
        """Whether the last transaction of this thread waits to be committed when it is complete."""
        return self._waiting is not None

    @property
    def connection(self) -> Connection | None:
        """The connection of the transaction that waits in this thread."""
        waiting = self._waiting
        return None if waiting is None else waiting.connection

    def keep(self, transaction: ExitStack, connection: Connection) -> None:
        """Take over a transaction that is ready to be committed, if commits of this thread wait."""
        waiting = self._waiting
        if waiting is not None:
            waiting.transaction.push(transaction.pop_all())
            waiting.connection = connection

    def commit(self) -> None:
        """Commit what waits in this thread, before the store is used for anything else."""
        waiting = self._waiting
        if waiting is not None:
            waiting.commit()

    def then(self, call: Callable[[], None]) -> None:
        """Make a call after the commit: now, unless it waits."""
        waiting = self._waiting
        if waiting is None or waiting.connection is None:
            call()
        else:
            waiting.following.append(call)

    @property
    def _waiting(self) -> _Waiting[Connection] | None:
        return getattr(self._threads, "waiting", None)
