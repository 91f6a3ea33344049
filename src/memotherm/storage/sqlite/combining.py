"""One transaction for the changes of several threads, made by one of them ("flat combining").

If each thread made its changes itself, every statement would be two switches between threads. Instead the first
thread that waits makes the changes of those that wait behind it, and commits them. Each thread returns only after
that commit. If a change fails, all are rolled back, and each thread makes its own in a transaction of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

from memotherm.errors import StoreBusy, StoreClosed, StoreDamaged, StoreFull, StoreUnavailable
from memotherm.storage.sqlite.transaction import SqliteTransaction

__all__ = ["Combiner"]

Result = TypeVar("Result")

#: Errors that every change would meet.
_OF_THE_STORE = (StoreBusy, StoreClosed, StoreDamaged, StoreFull, StoreUnavailable)
#: How many changes are made in one transaction: the first of them waits for the others.
_MOST_TOGETHER = 32


class Begin(Protocol):
    """Begins a transaction, as `SqliteStore.write` does."""

    def __call__(self, *, made_by: int | None) -> AbstractContextManager[SqliteTransaction]: ...


class _Request:
    """A change that a thread wants to be made."""

    __slots__ = ("begun", "change", "ended", "error", "made_by", "result")

    def __init__(self, change: Callable[[SqliteTransaction], Any], made_by: int | None) -> None:
        self.change = change
        self.made_by = made_by
        #: Whether a thread makes it, or has made it.
        self.begun = False
        #: Whether its transaction was committed or rolled back.
        self.ended = False
        self.result: Any = None
        #: Why its transaction was rolled back.
        self.error: BaseException | None = None


class Combiner:
    """The changes of one store that wait. The first one leads: its thread makes those behind it as well."""

    def __init__(self) -> None:
        self._queue: list[_Request] = []
        #: Held while the queue changes.
        self._lock = threading.Lock()
        #: Notified when requests have ended, and another one leads.
        self._ended = threading.Condition(self._lock)

    def run(self, change: Callable[[SqliteTransaction], Result], begin: Begin, made_by: int | None) -> Result:
        """Make a change in a transaction that other threads may share; return its result after the commit."""
        request = _Request(change, made_by)
        try:
            self._await(request)
            if not request.ended:
                self._lead(request, begin)
        finally:
            if not request.ended:
                self._leave(request)
        if request.error is None:
            result: Result = request.result
            return result
        if isinstance(request.error, _OF_THE_STORE):
            raise request.error
        with begin(made_by=made_by) as transaction:
            return change(transaction)

    def _await(self, request: _Request) -> None:
        """Wait until a request leads, or its transaction has ended."""
        with self._lock:
            self._queue.append(request)
            while not request.ended and self._queue[0] is not request:
                self._ended.wait()

    def _lead(self, first: _Request, begin: Begin) -> None:
        """Make the first change and those that wait behind it."""
        made = 0
        try:
            with begin(made_by=first.made_by) as transaction:
                while (request := self._next(made, first.made_by)) is not None:
                    made += 1
                    request.result = request.change(transaction)
        except BaseException as exc:
            first.error = exc
            if made <= 1 or not isinstance(exc, Exception):
                raise

    def _next(self, place: int, made_by: int | None) -> _Request | None:
        """Return the request at a place of the queue; None if there is none, or it belongs to another transaction."""
        with self._lock:
            if place >= min(len(self._queue), _MOST_TOGETHER) or self._queue[place].made_by != made_by:
                return None
            self._queue[place].begun = True
            return self._queue[place]

    def _leave(self, request: _Request) -> None:
        """Let the threads return whose changes were made with the first one, and the next one lead.

        A request that does not lead was interrupted; unless another thread makes it already, it is not made.
        """
        with self._lock:
            if self._queue[:1] == [request]:
                request.begun = True
                made = [each for each in self._queue if each.begun]
                del self._queue[: len(made)]
                for each in made:
                    each.ended, each.error = True, request.error
                self._ended.notify_all()
            elif request in self._queue and not request.begun:
                self._queue.remove(request)
