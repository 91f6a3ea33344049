"""One commit for the transactions of several threads.

A commit waits for the disk. While other threads wait for the writer, a transaction is not committed alone: it
becomes a savepoint of one transaction that they share, and the last of them commits it. Each thread returns only
after that commit, and a thread whose changes fail takes only its own back.

The changes of the text indexes wait for the commit: SQLite writes a part of such an index at every savepoint.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from memotherm.model.process import OwnProcess
from memotherm.storage.sqlite import driver
from memotherm.storage.sqlite.textindex import TextChange, change_text

__all__ = ["GroupCommit"]

#: How many transactions are committed together: the first of them waits for the others.
_MOST_MEMBERS = 32


class _Group:
    """Transactions that are committed together."""

    def __init__(self, writer: sqlite3.Connection) -> None:
        self.writer = writer
        self.members = 0
        #: What is still to be changed in the text indexes, in order.
        self.text_changes: list[TextChange] = []
        #: Set when the group is committed, or has failed; there is none while nobody waits for that.
        self.ended: threading.Event | None = None
        self.error: BaseException | None = None


class GroupCommit:
    """Runs the transactions of one connection, one at a time, and commits them together while others wait.

    Args:
        lock: The lock of the writer.
        process: The process that opened the store.
        require_usable: Raises an error if what was written must not be committed.
    """

    def __init__(self, lock: threading.RLock, process: OwnProcess, require_usable: Callable[[], None]) -> None:
        self._lock = lock
        self._process = process
        self._require_usable = require_usable
        self._group: _Group | None = None
        #: Whether a transaction runs, so that nothing can be committed.
        self._running = False
        #: How many threads wait for the lock to begin a transaction, and the lock of this number.
        self._queued = 0
        self._counting = threading.Lock()

    @property
    def text_changes(self) -> list[TextChange] | None:
        """The changes of the text indexes that wait for the commit; None outside a transaction."""
        return None if self._group is None else self._group.text_changes

    @contextmanager
    def member(self, opened: Callable[[], sqlite3.Connection]) -> Iterator[sqlite3.Connection]:
        """Run one transaction on the connection that `opened` returns; it is committed when the context is left."""
        self._acquire()
        try:
            group = self._group or self._begun(opened())
            self._running = True
            waiting = len(group.text_changes)
            try:
                # The first one needs no savepoint, which would copy every page that it changes.
                if group.members:
                    group.writer.execute("SAVEPOINT member")
                yield group.writer
                self._process.require()
                if group.members:
                    group.writer.execute("RELEASE member")
            except BaseException as exc:
                del group.text_changes[waiting:]
                self._take_back(group, exc)
                raise
            finally:
                self._running = False
                self._leave(group)
        finally:
            self._lock.release()
        if group.ended is not None:
            group.ended.wait()
        if group.error is not None:
            raise group.error

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the lock while no transaction waits to be committed."""
        with self._lock:
            self.commit()
            yield

    def commit(self) -> None:
        """Commit what waits because other threads were expected to write as well; the lock is held."""
        group = self._group
        if group is None or self._running or not self._process.current:
            return
        try:
            self._require_usable()
            change_text(group.writer, group.text_changes)
            group.writer.execute("COMMIT")
        except Exception as exc:  # noqa: BLE001 - each of the threads raises it
            group.error = exc
        finally:
            self._end(group)

    def _acquire(self) -> None:
        with self._counting:
            self._queued += 1
        acquired = False
        try:
            acquired = self._lock.acquire()
        finally:
            with self._counting:
                self._queued -= 1
            if not acquired:  # interrupted: others may rely on this thread to commit
                with self.alone():
                    pass

    def _begun(self, writer: sqlite3.Connection) -> _Group:
        writer.execute("BEGIN IMMEDIATE")
        self._group = _Group(writer)
        return self._group

    def _take_back(self, group: _Group, exc: BaseException) -> None:
        """Roll back what one transaction has written; if it is the first, or all are rolled back, the group fails."""
        with suppress(*driver.errors()):
            if group.members and self._process.current and group.writer.in_transaction:
                group.writer.execute("ROLLBACK TO member")
                group.writer.execute("RELEASE member")
                return
        group.error = exc

    def _leave(self, group: _Group) -> None:
        """Commit, unless another thread waits, which will do so."""
        group.members += 1
        if group.error is not None:
            self._end(group)
        elif not self._queued or group.members >= _MOST_MEMBERS:
            self.commit()
        elif group.ended is None:
            group.ended = threading.Event()

    def _end(self, group: _Group) -> None:
        """Let the threads of a group return; what is not committed now is rolled back."""
        self._group = None
        if self._process.current:
            with suppress(*driver.errors()):
                if group.writer.in_transaction:
                    group.error = group.error or sqlite3.OperationalError("the commit was interrupted")
                    group.writer.execute("ROLLBACK")
        if group.ended is not None:
            group.ended.set()
