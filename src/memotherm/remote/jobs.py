"""The long work of a server: wait for a job, and read its result."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Protocol

from memotherm.policy.replay import Cause, Interval, Replay, ReplayRow
from memotherm.remote.transport import error_of
from memotherm.vectors.vectorizer import Progress

__all__ = ["Remote", "finished_job", "replay_of"]

Json = dict[str, Any]

#: Seconds between two questions how far a job is: at first, and at most.
_FIRST_WAIT = 0.05
_MOST_WAIT = 1.0


class Remote(Protocol):
    """A memory whose verbs are requests."""

    def _call(self, operation: str, arguments: Mapping[str, Any]) -> Json:
        """Carry out an operation."""


def finished_job(memory: Remote, job: Json, progress: Progress | None) -> Json:
    """Return the result of a job when it has ended, or raise its error; cancel it if waiting is interrupted."""
    wait = _FIRST_WAIT
    try:
        while job["state"] == "running":
            if progress is not None and job["total"]:
                progress(job["done"], job["total"])
            time.sleep(wait)
            wait = min(2 * wait, _MOST_WAIT)
            job = memory._call("job", {"job_id": job["id"]})
    except BaseException:
        memory._call("job_cancel", {"job_id": job["id"]})
        raise
    if job["state"] != "done":
        error = job["error"] or {"code": "", "detail": f"the job {job['id']} was {job['state']} on the server"}
        raise error_of(error["code"], error["detail"])
    if progress is not None:
        progress(job["total"], job["total"])
    result: Json = job["result"]
    return result


def replay_of(found: Json) -> Replay:
    """Return the report of a replay."""
    return Replay(
        rows=tuple(ReplayRow(**{**row, "interval": _interval_of(row["interval"])}) for row in found["policies"]),
        causes=tuple(Cause(**cause) for cause in found["causes"]),
        regret_by_rule=found["regret_by_rule"],
        differences={(each["first"], each["second"]): _interval_of(each["interval"]) for each in found["differences"]},
        questions=found["questions"],
        askable=found["asked_again"],
        demanded=found["demanded"],
        notes=tuple(found["notes"]),
    )


def _interval_of(found: list[float]) -> Interval:
    low, high = found
    return Interval(low=low, high=high)
