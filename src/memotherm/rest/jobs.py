"""Long work of a server: jobs that run on threads of their own, with progress, a result, and an end on request.

Jobs live in the memory of the process; where a server has several, a `JobBoard` shows them to the others.
Each belongs to the scope of the request that started it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from memotherm.errors import LimitReached, MemothermError, NotFound
from memotherm.facade.upkeep import KeyValue
from memotherm.memory import Memotherm
from memotherm.model import Scope
from memotherm.model.clock import new_id, system_clock
from memotherm.operations.codec import to_json

__all__ = ["Job", "JobBoard", "Jobs"]

_log = logging.getLogger(__name__)

#: How many jobs run at the same time, and how many are kept with those that have ended.
_MOST_RUNNING = 2
_MOST_KEPT = 50
_RUNNING = "running"
_SHOWN = ("id", "kind", "state", "done", "total", "started_at", "finished_at", "result", "error")
#: How long a copy is kept: longer than a job takes between two copies.
_KEPT = timedelta(hours=1)
#: The time between two copies of a running job for the other processes, in seconds.
_COPY_SECONDS = 0.5

Json = dict[str, Any]
#: Takes a function to call with (done, total), and returns the result.
Work = Callable[[Callable[[int, int], None]], Json]


class JobBoard:
    """The jobs as all processes of a server see them: a copy of each in the store, and requests to cancel one."""

    def __init__(self, mem: Memotherm) -> None:
        self._jobs: KeyValue = mem.store.key_value("jobs")
        self._cancelled: KeyValue = mem.store.key_value("cancelled_jobs")

    def put(self, job: Json, scope: Scope) -> None:
        """Store a copy of a job."""
        self._jobs.put(job["id"], {"job": job, "scope": dict(scope.items())}, _KEPT)

    def get(self, job_id: str, scope: Scope) -> Json | None:
        """Return the fields of a job of a scope with their times, or None."""
        copy = self._jobs.get(job_id)
        if copy is None or Scope(**copy["scope"]) != scope:
            return None
        job: Json = copy["job"]
        times = {name: job[name] and datetime.fromisoformat(job[name]) for name in ("started_at", "finished_at")}
        return {**job, **times}

    def running(self) -> int:
        """Return how many jobs are running in all processes."""
        return sum(copy["job"]["state"] == "running" for copy in self._jobs.all().values())

    def cancel(self, job_id: str) -> None:
        """Ask the process of a job to end it."""
        self._cancelled.put(job_id, {}, _KEPT)

    def is_cancelled(self, job_id: str) -> bool:
        """Return whether a process has asked to end a job."""
        return self._cancelled.get(job_id) is not None


class _Cancelled(Exception):
    """The job was cancelled."""


@dataclass(slots=True)
class Job:
    """One job: its progress, and its result or error when it has ended."""

    id: str
    kind: str
    scope: Scope
    started_at: datetime
    #: running, done, failed or cancelled.
    state: str = _RUNNING
    done: int = 0
    total: int = 0
    finished_at: datetime | None = None
    result: Json | None = None
    error: Json | None = None
    #: Shows the job to the other processes of the server.
    board: JobBoard | None = field(default=None, repr=False)
    _cancel: threading.Event = field(default_factory=threading.Event, repr=False)
    _copied_at: float = field(default=0.0, repr=False)

    def as_dict(self) -> Json:
        """Return the job as plain values."""
        return {name: to_json(getattr(self, name)) for name in _SHOWN}

    def cancel(self) -> None:
        """Let the job end at its next step, in whichever process it runs."""
        self._cancel.set()
        if self.board is not None and self.state == _RUNNING:
            self.board.cancel(self.id)

    def advance(self, done: int, total: int) -> None:
        """Note the progress; raise if the job was cancelled."""
        self.done, self.total = done, total
        if self.board is not None and time.monotonic() - self._copied_at > _COPY_SECONDS:
            self.copy(_RUNNING)
            if self.board.is_cancelled(self.id):
                self._cancel.set()
        if self._cancel.is_set():
            raise _Cancelled

    def copy(self, state: str) -> None:
        """Show the other processes how far the job is."""
        if self.board is not None:
            self._copied_at = time.monotonic()
            self.board.put({**self.as_dict(), "state": state}, self.scope)

    def run(self, work: Work) -> None:
        """Do the work, and note how it ended."""
        try:
            result = work(self.advance)
            self.result, state = result, "done"
        except _Cancelled:
            state = "cancelled"
        except MemothermError as exc:
            self.error, state = {"code": exc.code, "detail": str(exc)}, "failed"
        except Exception:  # noqa: BLE001 - a job must end, whatever happens
            _log.exception("a job failed")
            self.error, state = {"code": "error", "detail": "the job failed: see the log of the server"}, "failed"
        self.finished_at = system_clock()
        try:
            self.copy(state)
        except MemothermError:
            _log.exception("the other processes do not see how a job has ended")
        # Last, so that whoever sees the state sees the rest.
        self.state = state


class Jobs:
    """The jobs of one server.

    Args:
        board: Where the processes of the server show each other their jobs; None for a server of one process.
    """

    def __init__(self, board: JobBoard | None = None) -> None:
        self._board = board
        self._jobs: dict[str, Job] = {}
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()

    def start(self, kind: str, scope: Scope, work: Work) -> Job:
        """Start a job, unless too many are running."""
        job = Job(new_id("job", system_clock()), kind, scope, system_clock(), board=self._board)
        thread = threading.Thread(target=job.run, args=(work,), name=job.id, daemon=True)
        with self._lock:
            shared = None if self._board is None else self._board.running()
            running = sum(each.state == _RUNNING for each in self._jobs.values()) if shared is None else shared
            if running >= _MOST_RUNNING:
                raise LimitReached(f"{_MOST_RUNNING} jobs are running: wait for one, or cancel it")
            ended = [each.id for each in self._jobs.values() if each.state != _RUNNING]
            for job_id in ended[: max(0, len(self._jobs) + 1 - _MOST_KEPT)]:
                del self._jobs[job_id]
            self._jobs[job.id] = job
            job.copy(_RUNNING)
            self._threads = [*(each for each in self._threads if each.is_alive()), thread]
            thread.start()
        return job

    def get(self, job_id: str, scope: Scope) -> Job:
        """Return a job of a scope, or raise `NotFound`."""
        job = self._jobs.get(job_id)
        copy = self._board.get(job_id, scope) if job is None and self._board is not None else None
        if copy is not None:
            return Job(scope=scope, board=self._board, **copy)
        if job is None or job.scope != scope:
            raise NotFound(
                f"this scope has no job {job_id}: a job is seen in the scope that started it, until the server stops"
            )
        return job

    def close(self) -> None:
        """Cancel all jobs, and wait until they have ended."""
        for job in list(self._jobs.values()):
            job.cancel()
        for thread in self._threads:
            thread.join()
