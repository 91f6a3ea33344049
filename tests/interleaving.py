"""Threads that stop at a chosen point of the store, so that a test decides what happens in between."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest

from memotherm.storage.postgres.statements import PostgresStatements
from memotherm.storage.postgres.store import PostgresStore
from memotherm.storage.sqlite.statements import SqliteStatements
from memotherm.storage.sqlite.store import SqliteStore

__all__ = ["stopped_before"]

Result = TypeVar("Result")
_SECONDS = 60
_WRITER = "memotherm-writer"


class _Pause:
    """Stops one thread at one point, once."""

    def __init__(self, point: str) -> None:
        self._point = point
        self.thread: threading.Thread | None = None
        #: The thread has reached the point, or has ended without.
        self.reached = threading.Event()
        self.released = threading.Event()
        self.stopped = False

    def at(self, point: str) -> None:
        """Wait here, if this is the point and the thread."""
        current = threading.current_thread()
        # The writer of the store runs the statements of a change.
        if point == self._point and (current is self.thread or current.name == _WRITER) and not self.stopped:
            self.stopped = True
            self.reached.set()
            assert self.released.wait(_SECONDS)

    def before_statement(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method that runs a named statement, with the pause before it."""

        def paused(statements: Any, name: str, /, *arguments: Any, **values: Any) -> Any:
            self.at(name)
            return method(statements, name, *arguments, **values)

        return paused

    def before_write(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method that begins a transaction, with the pause before it."""

        def paused(store: Any, *arguments: Any, **options: Any) -> Any:
            self.at("write")
            return method(store, *arguments, **options)

        return paused


@contextmanager
def stopped_before(point: str, call: Callable[[], Result]) -> Iterator[Future[Result]]:
    """Run a call in a thread up to a point; it goes on when the context is left.

    Args:
        point: The name of a statement, as in the SQL files, or "write" for the beginning of a transaction.
        call: What the thread runs; its result is that of the future, after the context.
    """
    pause = _Pause(point)
    outcome: Future[Result] = Future()

    def run() -> None:
        try:
            outcome.set_result(call())
        except BaseException as exc:  # noqa: BLE001 - raised by `result()`
            outcome.set_exception(exc)
        finally:
            pause.reached.set()

    pause.thread = threading.Thread(target=run, name=f"stopped before {point}", daemon=True)
    with pytest.MonkeyPatch.context() as patch:
        running = ("rows", "rows_of", "run", "run_many")
        for kind, methods in ((SqliteStatements, running), (PostgresStatements, (*running, "expect"))):
            for method in methods:
                patch.setattr(kind, method, pause.before_statement(getattr(kind, method)))
        for store in (SqliteStore, PostgresStore):
            patch.setattr(store, "transact", pause.before_write(store.transact))
        pause.thread.start()
        try:
            assert pause.reached.wait(_SECONDS)
            assert pause.stopped, f"the call ended without reaching {point}: {outcome}"
            yield outcome
        finally:
            pause.released.set()
            pause.thread.join(_SECONDS)
