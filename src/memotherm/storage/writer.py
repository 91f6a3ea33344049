"""The thread that writes to a store, and its queue.

A job is a function of a transaction. The thread takes the jobs that wait, commits them together, and answers each
caller with its own result or error. Entries of the recall log wait in the same queue: nobody waits for them, so they
are written with the next job or a moment later. A crash loses entries that wait, and nothing else.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from weakref import WeakSet

from memotherm.errors import StoreBusy, StoreClosed, StoreError, StoreFull, StoreUnavailable
from memotherm.model.clock import to_micros
from memotherm.storage.rows import NO_USES, TimedUse, UnwrittenUses
from memotherm.storage.values import RecallEntry

if TYPE_CHECKING:
    from memotherm.storage.base import OwnProcess

_log = logging.getLogger(__name__)

Result = TypeVar("Result")

#: Jobs per transaction: the first one waits for the others.
_MOST_JOBS = 32
#: Entries that are written without waiting for more.
_MOST_ENTRIES = 256
#: Entries that wait while the store is busy; beyond it, the oldest are dropped and counted.
_MOST_WAITING = 1000
#: Seconds that entries wait for others.
_DELAY = 0.25
#: Seconds between two attempts on a busy store.
_RETRY = 0.05
#: Seconds without work after which the thread ends, so that a store that nobody closes can be collected.
_IDLE = 1.0
#: Seconds that closing, or a fork, waits for a busy store.
_PATIENCE = 5.0


class UnwrittenEntry(NamedTuple):
    """An entry that waits, and whether a recall is kept in the log."""

    entry: RecallEntry
    keep: bool
    #: The tenant in whose transaction it is written, if the store has one for each.
    tenant: str | None = None


class Notice(threading.Condition):
    """A condition whose waits always end with its lock, also those that Ctrl-C ends before they have taken it again."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until notified or until a time has passed; return False if it has passed."""
        try:
            return super().wait(timeout)
        except BaseException:
            with suppress(RuntimeError):
                self.release()
            self.acquire()
            raise


class Answer:
    """The result or the error of a job, for which its caller waits.

    Its locks are written in C: Ctrl-C in the Python of a `Future` or of a condition would leave its lock taken.
    """

    def __init__(self) -> None:
        #: Taken by the thread that runs the job, or by the caller who gives up.
        self._begun = threading.Lock()
        #: Held until the job has ended.
        self._waiting = threading.Lock()
        self._waiting.acquire()
        self._result: Any = None
        self._error: BaseException | None = None

    def begin(self) -> bool:
        """Run the job, or give it up; return False if the other was done before."""
        return self._begun.acquire(blocking=False)

    def set(self, result: Any = None, error: BaseException | None = None) -> None:  # noqa: ANN401 - of any job
        """Let the caller go on."""
        self._result, self._error = result, error
        self._waiting.release()

    def wait(self) -> Any:  # noqa: ANN401 - of any job
        """Return the result, or raise the error, as soon as the job has ended."""
        with self._waiting:
            pass
        if self._error is not None:
            raise self._error
        return self._result


class Job(NamedTuple):
    """A function of a transaction, and the answer that its caller waits for."""

    call: Callable[[Any], Any]
    answer: Answer


#: Returns the context in which a transaction that has written some entries is committed.
Committing = Callable[[Sequence[UnwrittenEntry]], AbstractContextManager[None]]
#: Runs jobs and writes entries. Sets the answers of the jobs; raises an error only about the entries.
Execute = Callable[[Sequence[Job], Sequence[UnwrittenEntry], Committing], None]


class _Beginning:
    """A snapshot begins as long as this exists, whatever interrupts it."""


class Writer:
    """The queue and the thread of one store."""

    def __init__(self, name: str, process: OwnProcess, execute: Execute) -> None:
        self._name = name
        self._process = process
        self._execute = execute
        self._jobs: deque[Job] = deque()
        self._entries: list[UnwrittenEntry] = []
        self._uses = UnwrittenUses()
        #: Held while the queue changes. Of the condition itself, Ctrl-C could interrupt the Python that takes it.
        self._lock = threading.RLock()
        #: Notified when there is work, or an attempt to write entries has ended.
        self._changed = Notice(self._lock)
        #: Held while a transaction runs, by the thread or by a caller that writes without it.
        self._turn = threading.RLock()
        #: The snapshots that begin, while no entries are committed, and whether entries are committed.
        self._beginning: WeakSet[_Beginning] = WeakSet()
        self._committing_entries = False
        self._thread: threading.Thread | None = None
        #: The thread that holds the turn, and whether it does more than to write entries.
        self._holder: int | None = None
        self._occupied = False
        #: When the oldest entry is due.
        self._due = 0.0
        #: How often a caller has asked for the entries to be written, and up to which of these times that was tried.
        self._wanted = self._attempted = 0
        self._stopping = False
        self._closed = False
        #: Whether the store could not be written, so that only a new entry causes another attempt.
        self._failed = False
        #: Whether that was logged; once is enough until it can be written again.
        self._reported = False
        #: How many entries were dropped because the store could not be written.
        self.dropped = 0
        _writers.add(self)

    def run(self, call: Callable[[Any], Result]) -> Result:
        """Run a job and return its result after the commit.

        Interrupting the caller cancels a job that has not begun; otherwise it is committed.
        """
        job = Job(call, Answer())
        with self._lock:
            self._require_open()
            self._jobs.append(job)
            started = self._start()
            self._changed.notify_all()
        if not started:
            self._work_here()
        try:
            result: Result = job.answer.wait()
        except BaseException:
            job.answer.begin()
            raise
        return result

    def add(self, entry: UnwrittenEntry) -> None:
        """Let an entry be written soon."""
        with self._lock:
            self._require_open()
            if not self._entries:
                self._due = time.monotonic() + _DELAY
            self._entries.append(entry)
            self._uses.add(_uses_of(entry))
            self._failed = False
            if len(self._entries) > _MOST_WAITING:
                self._drop(self._entries[: len(self._entries) - _MOST_WAITING])
            started = self._start()
            if len(self._entries) >= _MOST_ENTRIES:
                self._due = 0.0
            if len(self._entries) in (1, _MOST_ENTRIES):
                self._changed.notify_all()
        if not started:
            self.flush()

    def flush(self) -> None:
        """Write the entries that wait, unless jobs are running; those that a busy store does not take go on waiting."""
        if not self._entries or self._failed or self._occupied or not self._process.current or self.is_held:
            return
        with self._lock:
            self._wanted += 1
            wanted = self._wanted
            started = self._start()
            if started:
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._attempted >= wanted or self._occupied or not self._waiting)
        if not started:
            self._work_here()

    @contextmanager
    def held(self, *, log_only: bool = False) -> Iterator[None]:
        """Write in the current thread: all others wait until the context is left."""
        with self._turn:
            before = self._holder, self._occupied
            try:
                self._hold(threading.get_ident(), occupied=not log_only)
                yield
            finally:
                self._hold(*before)

    @property
    def is_held(self) -> bool:
        """Whether the current thread is the one that writes, so that it must not wait for the queue."""
        return self._holder == threading.get_ident()

    def pause(self, seconds: float) -> bool:
        """Keep the thread from writing until `resume`; return False if a transaction did not end in time."""
        return self._turn.acquire(timeout=seconds)

    def resume(self) -> None:
        """Let the thread write again after `pause`."""
        self._turn.release()

    @contextmanager
    def snapshot(self) -> Iterator[UnwrittenUses]:
        """Begin a snapshot in this context; the value is the uses that it does not see."""
        if not self._uses or not self._process.current:
            yield NO_USES
            return
        beginning = _Beginning()
        try:
            with self._lock:
                self._changed.wait_for(lambda: not self._committing_entries)
                self._beginning.add(beginning)
            yield self._uses
        finally:
            with self._lock:
                self._beginning.discard(beginning)
                if self._committing_entries:
                    self._changed.notify_all()

    def forget(self, spaces: Collection[int]) -> None:
        """Drop the entries of some spaces; the transaction that erases their log calls it."""
        with self._lock:
            self._keep([entry for entry in self._entries if entry.entry.space not in spaces])

    def stop(self) -> None:
        """Write what waits and end the thread; the next job starts another."""
        if not self._process.current:
            return
        with self._lock:
            self._stopping = True
            thread = self._thread
            self._changed.notify_all()
        if thread is not None and thread is not threading.current_thread():
            thread.join(_PATIENCE)
        with self._lock:
            self._stopping = False
        self._failed = False
        self._work_here()

    def close(self) -> None:
        """Answer the jobs that wait, write the entries, and accept no more."""
        with self._lock:
            self._closed = True
        self.stop()
        deadline = time.monotonic() + _PATIENCE
        while self._entries and not self._failed and self._process.current and time.monotonic() < deadline:
            time.sleep(_RETRY)
            self._work_here()
        if self._entries and self._process.current:
            why = "it could not be written" if self._failed else "the store is busy"
            _log.warning("%d entries of the recall log of %s are lost: %s", len(self._entries), self._name, why)
            with self._lock:
                self._drop(list(self._entries))

    def _require_open(self) -> None:
        if self._closed:
            raise StoreClosed(f"{self._name} is closed: open it again")

    # The thread

    def _start(self) -> bool:
        """Start the thread if there is none; return False if the interpreter is ending."""
        if self._thread is None:
            thread = threading.Thread(target=self._work, name="memotherm-writer", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                return False
            self._thread = thread
        return True

    def _work(self) -> None:
        while (batch := self._next()) is not None:
            self._run_batch(*batch)

    def _work_here(self) -> None:
        """Write what waits in the caller's thread."""
        while True:
            with self._lock:
                if not self._jobs and not self._entries:
                    return
                batch = self._taken()
            self._run_batch(*batch)
            if not self._jobs:
                return

    def _next(self) -> tuple[list[Job], int] | None:
        """Wait for work; return None if the thread is to end."""
        with self._lock:
            idle_at = time.monotonic() + _IDLE
            while not self._jobs:
                now = time.monotonic()
                waiting = self._waiting
                if waiting and (self._wanted > self._attempted or now >= self._due):
                    break
                if self._stopping or (not waiting and now >= idle_at):
                    self._thread = None
                    return None
                self._changed.wait((self._due if waiting else idle_at) - now)
            return self._taken()

    def _taken(self) -> tuple[list[Job], int]:
        """Return the jobs of the next transaction, and how often a caller has asked for the entries."""
        jobs = [self._jobs.popleft() for _ in range(min(len(self._jobs), _MOST_JOBS))]
        return [job for job in jobs if job.answer.begin()], self._wanted

    def _run_batch(self, jobs: list[Job], wanted: int) -> None:
        entries: list[UnwrittenEntry] = []
        try:
            with self.held(log_only=not jobs):
                # Not before its turn: whoever had it may have written them.
                with self._lock:
                    entries = list(self._entries)
                if jobs or entries:
                    self._execute(jobs, entries, self._committing)
        except StoreBusy:
            self._due = time.monotonic() + _RETRY
        except (StoreFull, StoreUnavailable, StoreClosed) as exc:
            # The recalls succeeded; only the count of their uses is missing.
            self._failed = True
            if not self._reported:
                _log.warning("the uses of recalls cannot be counted until the store can be written: %s", exc)
            self._reported = True
        except Exception as exc:  # noqa: BLE001 - no caller waits for the entries
            with self._lock:
                self._drop(entries)
            unexpected = not isinstance(exc, StoreError)
            _log.warning("%d entries of the recall log are lost: %s", len(entries), exc, exc_info=unexpected)
        else:
            self._reported = False
        finally:
            with self._lock:
                self._attempted = wanted
                self._changed.notify_all()

    def _hold(self, holder: int | None, occupied: bool) -> None:
        self._holder = holder
        if occupied != self._occupied:
            with self._lock:
                self._occupied = occupied
                self._changed.notify_all()

    @property
    def _waiting(self) -> bool:
        """Whether entries wait that can be written."""
        return bool(self._entries) and not self._failed

    @contextmanager
    def _committing(self, entries: Sequence[UnwrittenEntry]) -> Iterator[None]:
        """Let no snapshot begin while entries are committed, which wait no longer afterwards."""
        if not entries:
            yield
            return
        try:
            with self._lock:
                self._committing_entries = True
                # A snapshot whose beginning was interrupted may notify nobody.
                while self._beginning:
                    self._changed.wait(_RETRY)
            yield
            with self._lock:
                self._remove(entries)
        finally:
            with self._lock:
                self._committing_entries = False
                self._changed.notify_all()

    # The entries; the condition is held

    def _remove(self, entries: Sequence[UnwrittenEntry]) -> None:
        gone = set(map(id, entries))
        self._keep([entry for entry in self._entries if id(entry) not in gone])

    def _drop(self, entries: Sequence[UnwrittenEntry]) -> None:
        before = len(self._entries)
        self._remove(entries)
        self.dropped += before - len(self._entries)

    def _keep(self, entries: list[UnwrittenEntry]) -> None:
        self._entries = entries
        self._due = time.monotonic() + _DELAY
        self._changed.notify_all()
        self._uses = UnwrittenUses(use for entry in entries for use in _uses_of(entry))


def _uses_of(entry: UnwrittenEntry) -> Iterable[TimedUse]:
    """Return the uses that an entry counts."""
    if not entry.entry.uses:
        return ()
    at = to_micros(entry.entry.at)
    return [(use, at) for use in entry.entry.uses]


#: The writers of this process.
_writers: WeakSet[Writer] = WeakSet()


@atexit.register
def _stop_all() -> None:
    for writer in list(_writers):
        writer.stop()
