"""Long work of a server: jobs that run on threads of their own, with progress, a result, and an end on request.

Jobs live in the memory of the process; where a server has several, the others see copies in the store. Each belongs
to the scope of the request that started it.
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
from memotherm.memory import Memotherm
from memotherm.model import Scope
from memotherm.model.clock import new_id, system_clock
from memotherm.operations.codec import to_json

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
    #: Set to let the job end at its next step.
    cancelled: threading.Event = field(default_factory=threading.Event, repr=False)
    copied_at: float = field(default=0.0, repr=False)

    def as_dict(self) -> Json:
        """Return the job as plain values."""
        return {name: to_json(getattr(self, name)) for name in _SHOWN}


class Jobs:
    """The jobs of one server.

    Args:
        mem: The memory in whose store the processes of the server show each other their jobs; None: there is only one.
    """

    def __init__(self, mem: Memotherm | None = None) -> None:
        self._copies = None if mem is None else mem.store.key_value("jobs")
        self._cancelled = None if mem is None else mem.store.key_value("cancelled_jobs")
        self._jobs: dict[str, Job] = {}
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()

    def start(self, kind: str, scope: Scope, work: Work) -> Job:
        """Start a job, unless too many are running."""
        job = Job(new_id("job", system_clock()), kind, scope, system_clock())
        thread = threading.Thread(target=self._run, args=(job, work), name=job.id, daemon=True)
        with self._lock:
            states = [each.state for each in self._jobs.values()]
            if self._copies is not None:
                states = [copy["job"]["state"] for copy in self._copies.all().values()]
            if states.count(_RUNNING) >= _MOST_RUNNING:
                raise LimitReached(f"{_MOST_RUNNING} jobs are running: wait for one, or cancel it")
            ended = [each.id for each in self._jobs.values() if each.state != _RUNNING]
            for job_id in ended[: max(0, len(self._jobs) + 1 - _MOST_KEPT)]:
                del self._jobs[job_id]
            self._jobs[job.id] = job
            self._copy(job, _RUNNING)
            self._threads = [*(each for each in self._threads if each.is_alive()), thread]
            thread.start()
        return job

    def get(self, job_id: str, scope: Scope) -> Json:
        """Return a job of a scope as plain values, or raise `NotFound`."""
        job = self._jobs.get(job_id)
        if job is not None and job.scope == scope:
            return job.as_dict()
        copy = self._copies.get(job_id) if job is None and self._copies is not None else None
        if copy is None or Scope(**copy["scope"]) != scope:
            raise NotFound(
                f"this scope has no job {job_id}: a job is seen in the scope that started it, until the server stops"
            )
        found: Json = copy["job"]
        return found

    def cancel(self, job_id: str, scope: Scope) -> Json:
        """Let a job of a scope end at its next step, in whichever process it runs; return it as it is now."""
        found = self.get(job_id, scope)
        job = self._jobs.get(job_id)
        if job is not None:
            job.cancelled.set()
        elif self._cancelled is not None and found["state"] == _RUNNING:
            self._cancelled.put(job_id, {}, _KEPT)
        return found

    def close(self) -> None:
        """Cancel all jobs, and wait until they have ended."""
        for job in list(self._jobs.values()):
            job.cancelled.set()
        for thread in self._threads:
            thread.join()

    def _run(self, job: Job, work: Work) -> None:
        """Do the work, and note how it ended."""

        def advance(done: int, total: int) -> None:
            job.done, job.total = done, total
            if self._cancelled is not None and time.monotonic() - job.copied_at > _COPY_SECONDS:
                self._copy(job, _RUNNING)
                if self._cancelled.get(job.id) is not None:
                    job.cancelled.set()
            if job.cancelled.is_set():
                raise _Cancelled

        try:
            job.result, state = work(advance), "done"
        except _Cancelled:
            state = "cancelled"
        except MemothermError as exc:
            job.error, state = {"code": exc.code, "detail": str(exc)}, "failed"
        except Exception:  # noqa: BLE001 - a job must end, whatever happens
            _log.exception("a job failed")
            job.error, state = {"code": "error", "detail": "the job failed: see the log of the server"}, "failed"
        job.finished_at = system_clock()
        try:
            self._copy(job, state)
        except MemothermError:
            _log.exception("the other processes do not see how a job has ended")
        # Last, so that whoever sees the state sees the rest.
        job.state = state

    def _copy(self, job: Job, state: str) -> None:
        """Show the other processes how far a job is."""
        if self._copies is not None:
            job.copied_at = time.monotonic()
            copy = {"job": {**job.as_dict(), "state": state}, "scope": dict(job.scope.items())}
            self._copies.put(job.id, copy, _KEPT)
