"""Jobs of a server: waiting for the result of one."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol

from memotherm.errors import MemothermError, StoreError
from memotherm.remote.transport import error_class
from memotherm.vectors.vectorizer import Progress

__all__ = ["Remote", "finished_job"]

Json = dict[str, Any]

_FIRST_WAIT, _MOST_WAIT = 0.05, 1.0


class Remote(Protocol):
    """A memory whose verbs are requests."""

    def _call(self, operation: str, arguments: Mapping[str, Any]) -> Json:
        """Carry out an operation."""


def finished_job(memory: Remote, job: Json, progress: Progress | None = None) -> Json:
    """Return the result of a job, or raise its error; cancel it if the wait is interrupted.

    Args:
        memory: The memory whose scope the job belongs to.
        job: The job, as the server returned it when it was started.
        progress: Called with (done, total) after each time that the server was asked.
    """
    wait = _FIRST_WAIT
    try:
        while job["state"] == "running":
            time.sleep(wait)
            wait = min(2 * wait, _MOST_WAIT)
            job = memory._call("job", {"job_id": job["id"]})
            if progress is not None:
                progress(job["done"], job["total"])
    except BaseException:
        with suppress(MemothermError):
            memory._call("job_cancel", {"job_id": job["id"]})
        raise
    if job["state"] == "done":
        result: Json = job["result"]
        return result
    if job["state"] == "cancelled":
        raise StoreError(f"{job['id']} was cancelled on the server: start it again")
    raise (error_class(job["error"]["code"]) or StoreError)(job["error"]["detail"])
