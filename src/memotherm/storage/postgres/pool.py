"""Connections to one database, lent for one transaction each; the end of one that only reads is not waited for."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from weakref import WeakSet

import psycopg
from psycopg.pq import PipelineStatus
from psycopg_pool import ConnectionPool, PoolTimeout

__all__ = ["Connection", "Lent", "Pool"]

Connection = psycopg.Connection[tuple[Any, ...]]

#: How long a connection whose commit was sent waits for its next use before it is idle.
_PATIENCE = 60.0


class Lent:
    """A connection in pipeline mode."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        #: When its last transaction ended.
        self.ended = 0.0
        self._mode = ExitStack()
        self._pipeline = self._mode.enter_context(connection.pipeline())

    def finish(self) -> None:
        """Wait for all results, and leave pipeline mode."""
        self._mode.close()

    def commit(self) -> None:
        """Commit, wait for all results, and leave pipeline mode."""
        self.connection.execute("COMMIT")
        self.finish()

    def roll_back(self) -> None:
        """Leave pipeline mode and roll back, whatever state the connection is in."""
        with suppress(psycopg.Error):
            self.finish()
        with suppress(psycopg.Error):
            self.connection.execute("ROLLBACK")

    @property
    def settled(self) -> bool:
        """Whether all results were read, and none was an error."""
        return not self._pipeline.result_queue and self._pipeline.status == PipelineStatus.ON

    def send_commit(self) -> None:
        """Send COMMIT; its result is read before the results of the next transaction."""
        self.connection.execute("COMMIT", prepare=False)
        # The driver's own method waits for the result.
        self.connection.pgconn.pipeline_sync()
        self._pipeline.result_queue.append(None)
        self.ended = time.monotonic()

    def abandon(self) -> None:
        """Let nothing more reach the server from this forked process: the connection is its parent's."""
        with Path(os.devnull).open("r+b") as nowhere:
            os.dup2(nowhere.fileno(), self.connection.fileno())


class Pool:
    """Up to a number of connections; those whose last transaction is still being committed are lent first.

    The driver's pool takes back connections that are idle. The others stay lent there and wait here, so at most
    as many threads as there are connections may ask for one.
    """

    def __init__(self, arguments: dict[str, Any], size: int, configure: Callable[[Connection], None]) -> None:
        self._idle: ConnectionPool[Connection] = ConnectionPool(
            kwargs=arguments,
            min_size=0,
            max_size=size,
            configure=configure,
            open=False,
            name="memotherm",
            num_workers=1,
        )
        self._permits = threading.Semaphore(size)
        #: The connections whose commit was sent.
        self._ending: deque[Lent] = deque()
        _pools.add(self)

    def open(self) -> None:
        """Let connections be lent."""
        self._idle.open()

    def lend(self, timeout: float) -> Lent:
        """Return a connection in pipeline mode; raise `PoolTimeout` if all are in use."""
        if not self._permits.acquire(timeout=timeout):
            raise PoolTimeout(f"no connection was free for {timeout} s")
        try:
            with suppress(IndexError):
                return self._ending.pop()
            return self._new(timeout)
        except BaseException:
            self._permits.release()
            raise

    def _new(self, timeout: float) -> Lent:
        connection = self._idle.getconn(timeout=timeout)
        try:
            return Lent(connection)
        except BaseException:
            self._idle.putconn(connection)
            raise

    def take_back(self, lent: Lent) -> None:
        """Take back a connection that has left pipeline mode."""
        self._idle.putconn(lent.connection)
        self._permits.release()

    def take_back_ending(self, lent: Lent) -> None:
        """Take back a connection whose commit was sent."""
        self._ending.append(lent)
        self._permits.release()
        self._settle(time.monotonic() if self._idle.closed else lent.ended - _PATIENCE)

    def _settle(self, until: float) -> None:
        """Let the driver's pool have the connections that have ended their last transaction until a moment.

        The connection that ended last is lent first, so the others are not needed, and that pool closes them.
        """
        while self._ending and self._ending[0].ended <= until:
            with suppress(IndexError):
                lent = self._ending.popleft()
                with suppress(psycopg.Error):
                    lent.finish()
                self._idle.putconn(lent.connection)

    def close(self) -> None:
        """Close all connections; calling it twice is harmless."""
        self._idle.close()
        self._settle(time.monotonic())

    def abandon(self) -> None:
        """Let nothing reach the server from a fork of the process that the connections belong to."""
        for lent in self._ending:
            lent.abandon()


_pools: WeakSet[Pool] = WeakSet()


def _abandon_all() -> None:
    for pool in _pools:
        pool.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_all)
