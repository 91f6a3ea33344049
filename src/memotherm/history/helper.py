"""A second process for the work that needs no files: which texts of a turn are worth storing, and what they claim.

Recognising what a sentence does takes as long as everything else together. While the helper does it, the first process
reads on, and stores. What it sends and gets are plain values, so that the result is the same with and without it.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, ParamSpec, TypeVar

#: One call is being answered, and one waits.
_MOST_CALLS = 2

P = ParamSpec("P")
R = TypeVar("R")


class Helper:
    """Calls functions in another process, one call after the other; where there is none, in this one."""

    def __init__(self) -> None:
        self._connection: Connection | None = None
        self._process: Any = None
        self._calls: list[Future[Any]] = []
        # Waits for the answers; the process itself ends when the connection is closed, however this one ends.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="memotherm-history")

    def start(self) -> None:
        """Start the process."""
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        with theirs:
            self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
            self._process.start()

    def call(self, function: Callable[P, R], *values: P.args, **names: P.kwargs) -> Future[R]:
        """Call a function of a module; at once, if the other process has enough to do."""
        self._calls = [call for call in self._calls if not call.done()]
        if self._connection is not None and len(self._calls) < _MOST_CALLS:
            self._calls.append(call := self._thread.submit(lambda: self._ask(function, *values, **names)))
            return call
        here: Future[R] = Future()
        here.set_result(function(*values, **names))
        return here

    def _ask(self, function: Callable[P, R], *values: P.args, **names: P.kwargs) -> R:
        if self._connection is not None:
            try:
                self._connection.send((function, values, names))
                answer: R = self._connection.recv()
            except (EOFError, OSError):
                # It was ended, as by a system that is short of memory.
                self._connection = None
            else:
                return answer
        return function(*values, **names)

    def close(self) -> None:
        """End the process; calls that wait are dropped."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._process is not None:
            self._process.kill()
            self._process.join()


def _serve(connection: Connection) -> None:
    """Answer calls until the connection is closed."""
    # Ctrl-C is for the first process, which then closes the connection.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError, OSError):
        while True:
            function, values, names = connection.recv()
            answer: Any = function(*values, **names)
            connection.send(answer)
