"""Jobs as all processes of a server see them: a copy of each in the store, and requests to cancel one."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from memotherm.memory import KeyValue, Memotherm
from memotherm.model import Scope

__all__ = ["JobBoard"]

Json = dict[str, Any]

#: How long a copy is kept: longer than a job takes between two copies.
_KEPT = timedelta(hours=1)


class JobBoard:
    """The copies of the jobs of a server with several processes."""

    def __init__(self, mem: Memotherm) -> None:
        self._jobs: KeyValue = mem.key_value("jobs")
        self._cancelled: KeyValue = mem.key_value("cancelled_jobs")

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
