"""Long work of a server: jobs that run on threads of their own, with progress, a result, and an end on request.

Each belongs to the scope of the request that started it. The store has its state and its result, so that every process
on the store can show and cancel it, and an erasure finds it; a process that ends takes its running jobs with it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from memotherm.errors import LimitReached, MemothermError, NotFound
from memotherm.facade.upkeep import CANCELLED_JOBS, JOBS
from memotherm.memory import Memotherm
from memotherm.model import Scope
from memotherm.model.clock import new_id, system_clock
from memotherm.operations.codec import to_json

_log = logging.getLogger(__name__)

#: How many jobs of a tenant run at the same time, and how many are kept with those that have ended.
_MOST_RUNNING = 2
_MOST_KEPT = 50
_RUNNING = "running"
_SHOWN = ("id", "kind", "state", "done", "total", "started_at", "finished_at", "result", "error")
#: How long a job is stored after it has ended, and while it runs; a process that was killed does not renew it.
_KEPT = timedelta(hours=1)
LEASE = timedelta(seconds=30)
#: How often the state of a running job is stored, in seconds.
_STORE_SECONDS = 1.0

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
    #: Set when the work has ended.
    ended: threading.Event = field(default_factory=threading.Event, repr=False)

    def as_dict(self) -> Json:
        """Return the job as plain values."""
        return {name: to_json(getattr(self, name)) for name in _SHOWN}


class Jobs:
    """The jobs of one server.

    Args:
        mem: The memory whose store has them.
    """

    def __init__(self, mem: Memotherm) -> None:
        self._stored = mem.store.key_value(JOBS)
        self._cancelled = mem.store.key_value(CANCELLED_JOBS)
        #: The jobs that run in this process.
        self._running: dict[str, Job] = {}
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()

    def start(self, kind: str, scope: Scope, work: Work) -> Job:
        """Start a job, unless too many of the tenant are running."""
        job = Job(new_id("job", system_clock()), kind, scope, system_clock())
        thread = threading.Thread(target=self._run, args=(job, work), name=job.id, daemon=True)
        with self._lock:
            stored = self._stored.all()
            own = sorted(name for name, each in stored.items() if each["scope"].get("tenant") == scope.tenant)
            ended = [name for name in own if stored[name]["job"]["state"] != _RUNNING]
            if len(own) - len(ended) >= _MOST_RUNNING:
                raise LimitReached(f"{_MOST_RUNNING} jobs are running: wait for one, or cancel it")
            for name in ended[: max(0, len(own) + 1 - _MOST_KEPT)]:
                self._stored.delete(name)
            self._store(job, _RUNNING)
            self._running[job.id] = job
            self._threads = [*(each for each in self._threads if each.is_alive()), thread]
            thread.start()
        return job

    def get(self, job_id: str, scope: Scope) -> Json:
        """Return a job of a scope as plain values, or raise `NotFound`."""
        stored = self._stored.get(job_id)
        if stored is None or Scope(**stored["scope"]) != scope:
            raise NotFound(
                f"this scope has no job {job_id}: a job is seen in the scope that started it, for an hour after its "
                "end, unless its server was stopped or the scope was erased"
            )
        job = self._running.get(job_id)
        found: Json = stored["job"] if job is None else job.as_dict()
        return found

    def cancel(self, job_id: str, scope: Scope) -> Json:
        """Let a job of a scope end at its next step, in whichever process it runs; return it as it is now."""
        found = self.get(job_id, scope)
        job = self._running.get(job_id)
        if job is not None:
            job.cancelled.set()
        elif found["state"] == _RUNNING:
            self._cancelled.put(job_id, {}, _KEPT)
        return found

    def close(self) -> None:
        """Cancel all jobs, and wait until they have ended."""
        for job in list(self._running.values()):
            job.cancelled.set()
        for thread in self._threads:
            thread.join()

    def _run(self, job: Job, work: Work) -> None:
        """Do the work, and store how it ended."""

        def advance(done: int, total: int) -> None:
            job.done, job.total = done, total
            if job.cancelled.is_set():
                raise _Cancelled

        heartbeat = threading.Thread(target=self._renew, args=(job,), name=f"{job.id} lease", daemon=True)
        heartbeat.start()
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
        job.ended.set()
        heartbeat.join()
        try:
            if self._cancelled.get(job.id) is not None:
                # Its scope may have been erased meanwhile.
                job.result, state = None, "cancelled"
            self._store(job, state)
        except MemothermError:
            _log.exception("the end of a job could not be stored")
        # Last, so that whoever sees the state sees the rest.
        job.state = state
        self._running.pop(job.id, None)

    def _renew(self, job: Job) -> None:
        """Store the state of a job again and again while it runs, and let it end if another process wants that."""
        while not job.ended.wait(_STORE_SECONDS):
            try:
                if self._cancelled.get(job.id) is not None:
                    job.cancelled.set()
                self._store(job, _RUNNING)
            except MemothermError:
                _log.exception("the state of a job could not be stored")

    def _store(self, job: Job, state: str) -> None:
        entry = {"job": {**job.as_dict(), "state": state}, "scope": dict(job.scope.items())}
        self._stored.put(job.id, entry, LEASE if state == _RUNNING else _KEPT)
