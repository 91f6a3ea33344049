"""The thread that writes the recall log and the uses of memories, a moment after the calls that cause them.

Entries wait in memory and are written together; a crash loses those that wait, and nothing else. What reads or
changes a store first writes them, so that a process always sees its own. Only the snapshots of recalls do not: the
rows that they read lack the waiting uses, and get them from here.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import NamedTuple
from weakref import WeakSet

from memotherm.errors import StoreBusy, StoreError, StoreFull, StoreUnavailable
from memotherm.model.clock import to_micros
from memotherm.model.process import OwnProcess
from memotherm.storage.values import LaterUse, RecallEntry
from memotherm.storage.waiting import NOTHING_WAITS, TimedUse, WaitingUses

__all__ = ["LogWriter", "Logged", "WriteLog"]

_log = logging.getLogger(__name__)

#: How long entries wait for others, in seconds.
_DELAY = 0.25
#: How many entries are written at once; the call that adds one more writes them itself.
_MOST_TOGETHER = 256
#: How many entries wait while the store cannot be written; beyond it, the oldest are dropped.
_MOST_WAITING = 1000
#: How long the thread waits for the next entry before it ends, in seconds.
_IDLE = 1.0
#: How long a fork waits for the thread to end, and closing for a busy store, in seconds.
_PATIENCE = 5.0
#: How long closing waits before it tries a busy store again, in seconds.
_RETRY = 0.02


class Logged(NamedTuple):
    """An entry that waits, and whether a recall is to be kept in the log."""

    entry: RecallEntry | LaterUse
    keep: bool
    #: The tenant in whose transaction it is written, if the store has one for each.
    tenant: str | None = None


#: Writes entries of one tenant in a transaction, which it commits in the given context.
WriteLog = Callable[[str | None, Sequence[Logged], AbstractContextManager[None]], None]


class LogWriter:
    """Writes the log of one store.

    Args:
        process: The process that opened the store.
        write: Writes entries.
        threaded: Whether entries wait for a thread; otherwise each is written by the call that adds it.
    """

    def __init__(self, process: OwnProcess, write: WriteLog, *, threaded: bool = True) -> None:
        self._process = process
        self._write = write
        self._threaded = threaded
        self._waiting: deque[Logged] = deque()
        self._uses = WaitingUses()
        #: Held while these two, or the thread, change; notified when there is something to do.
        self._changing = threading.Condition()
        #: Held while entries are written.
        self._writing = threading.Lock()
        self._commits = _Commits()
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._closed = False
        #: Whether the store could not be written, so that only the next entry tries it again.
        self._failed = False
        _writers.add(self)

    def add(self, logged: Logged) -> None:
        """Let an entry be written: soon, or at once if it cannot wait or too many do.

        Raises:
            StoreClosed: The store was closed between the recall and this call.
        """
        with self._changing:
            closed = self._closed
            at_once = not closed and self._add_waiting(logged)
        if closed:
            with self._writing:
                self._write(logged.tenant, [logged], nullcontext())
        elif at_once:
            self.write()
            self._drop_oldest()

    def _add_waiting(self, logged: Logged) -> bool:
        """Let an entry wait; tell whether it is to be written at once."""
        self._waiting.append(logged)
        self._uses.add(_uses_of([logged]))
        self._failed = False
        count, at_once = len(self._waiting), not self._can_wait(logged.entry)
        at_once = at_once or count >= _MOST_TOGETHER or not self._started()
        if not at_once and count == 1:
            self._changing.notify()
        return at_once

    def write(self) -> None:
        """Write what waits; what a busy store does not take goes on waiting."""
        if not self._waiting or self._failed or not self._process.current:
            return
        with self._writing:
            waiting = list(self._waiting)
            for tenant in dict.fromkeys(logged.tenant for logged in waiting):
                self._write_part(tenant, [logged for logged in waiting if logged.tenant == tenant])

    @contextmanager
    def beginning(self) -> Iterator[WaitingUses]:
        """Begin a snapshot in this context; return the uses that it does not see."""
        if not self._uses or not self._process.current:
            yield NOTHING_WAITS
            return
        with self._commits.excluded():
            yield self._uses

    def forget(self, spaces: Collection[int]) -> None:
        """Drop what waits of some spaces; a transaction that erases their log, and is not committed yet, calls it."""
        # Without a thread, what waits is being written by a call, which waits for that transaction.
        if spaces and self._waiting and self._threaded:
            with self._writing:
                self._remove([logged for logged in self._waiting if logged.entry.space in spaces])

    def stop(self) -> None:
        """Write what waits and end the thread; the next entry starts another."""
        if not self._process.current:
            return
        with self._changing:
            thread, self._stopping = self._thread, True
            self._changing.notify_all()
        if thread is not None:
            thread.join(_PATIENCE)
        with self._changing:
            self._stopping = False
        self._failed = False
        self.write()

    def close(self) -> None:
        """Write what waits; from now on, each entry is written by the call that adds it."""
        with self._changing:
            self._closed = True
        self.stop()
        deadline = time.monotonic() + _PATIENCE
        while self._waiting and not self._failed and self._process.current and time.monotonic() < deadline:
            time.sleep(_RETRY)
            self.write()
        if self._waiting:
            why = "it could not be written" if self._failed else "the store is busy"
            _log.warning("%d entries of the recall log are lost: %s", len(self._waiting), why)
            self._remove(list(self._waiting))

    def _can_wait(self, entry: RecallEntry | LaterUse) -> bool:
        # Whether a later use is new, and what the relevance was before, only the store knows.
        return self._threaded and isinstance(entry, RecallEntry) and not entry.relevance

    def _started(self) -> bool:
        """Start the thread if there is none; return False if the interpreter is ending."""
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="memotherm-log", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                return False
            self._thread = thread
        return True

    def _run(self) -> None:
        while self._awaited():
            self.write()

    def _awaited(self) -> bool:
        """Wait for entries and for those that follow soon; return False if the thread is to end."""
        with self._changing:
            idle = not self._changing.wait_for(lambda: self._waiting or self._stopping, _IDLE)
            if not idle and not self._stopping:
                self._changing.wait_for(lambda: self._stopping, _DELAY)
            if idle or self._stopping or self._failed:
                self._thread = None
                return False
            return True

    def _write_part(self, tenant: str | None, waiting: Sequence[Logged]) -> None:
        try:
            self._write(tenant, waiting, self._committing(waiting))
        except StoreBusy:
            pass
        except (StoreFull, StoreUnavailable) as exc:
            # The recalls succeeded; only the count of their uses is missing.
            self._failed = True
            _log.warning("the uses of a recall could not be counted: %s", exc)
        except Exception as exc:  # noqa: BLE001 - it is not an error of the call that happens to write
            self._remove(waiting)
            unexpected = not isinstance(exc, StoreError)
            _log.warning("%d entries of the recall log are lost: %s", len(waiting), exc, exc_info=unexpected)

    @contextmanager
    def _committing(self, written: Sequence[Logged]) -> Iterator[None]:
        """Let no snapshot begin while entries are committed, which wait no longer afterwards."""
        with self._commits.exclusive():
            yield
            self._remove(written)

    def _remove(self, logged: Sequence[Logged]) -> None:
        gone = set(map(id, logged))
        with self._changing:
            self._waiting = deque(each for each in self._waiting if id(each) not in gone)
            self._uses = WaitingUses(_uses_of(self._waiting))

    def _drop_oldest(self) -> None:
        if len(self._waiting) > _MOST_WAITING:
            with self._writing:
                self._remove(list(self._waiting)[:-_MOST_WAITING])


class _Commits:
    """Lets snapshots begin together, and commits one at a time while none begins."""

    def __init__(self) -> None:
        self._changing = threading.Condition()
        self._beginning = 0
        self._committing = False

    @contextmanager
    def excluded(self) -> Iterator[None]:
        """Let nothing be committed in this context."""
        with self._changing:
            self._changing.wait_for(lambda: not self._committing)
            self._beginning += 1
        try:
            yield
        finally:
            with self._changing:
                self._beginning -= 1
                self._changing.notify_all()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Let no snapshot begin in this context."""
        with self._changing:
            self._committing = True
            self._changing.wait_for(lambda: not self._beginning)
        try:
            yield
        finally:
            with self._changing:
                self._committing = False
                self._changing.notify_all()


def _uses_of(waiting: Iterable[Logged]) -> Iterator[TimedUse]:
    """Return the uses that entries will count, as far as that is known before."""
    for entry, _, _ in waiting:
        if isinstance(entry, RecallEntry):
            at = to_micros(entry.at)
            yield from ((use, at) for use in entry.uses)


#: The writers of this process.
_writers: WeakSet[LogWriter] = WeakSet()


@atexit.register
def _stop_all() -> None:
    for writer in list(_writers):
        writer.stop()
