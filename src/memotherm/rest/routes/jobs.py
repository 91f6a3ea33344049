"""Long work: start it, ask how far it is, and cancel it."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response

from memotherm.rest.jobs import Job, Jobs
from memotherm.rest.routes.declaring import route
from memotherm.rest.routes.parameters import View
from memotherm.rest.schemas.jobs import JobResponse, ReplayRequest
from memotherm.rest.schemas.policies import PolicyRequest
from memotherm.tiers.policy import Policy, load, loads
from memotherm.tools import serializers

__all__ = ["router"]

Json = dict[str, Any]
JobId = Annotated[str, Path(pattern=r"^job_[0-9a-z]{26}$")]

router = APIRouter(tags=["jobs"])


def _jobs(request: Request) -> Jobs:
    jobs: Jobs = request.app.state.jobs
    return jobs


def _found(job: Job, response: Response) -> Json:
    response.headers["location"] = f"/jobs/{job.id}"
    return job.as_dict()


def _read(body: PolicyRequest) -> Policy:
    return load(body.name) if body.name is not None else loads(body.text or "")


@route(router, "policy_replay", response_model=JobResponse, status_code=202)
def replay(view: View, body: ReplayRequest, request: Request, response: Response) -> Json:
    """Start a replay of the past of the scope under some policies; nothing is changed. The job has the report."""
    policies = [_read(policy) for policy in body.policies]
    job = _jobs(request).start(
        "replay",
        view.scope,
        lambda advance: serializers.replay_json(view.replay(policies, body.since, body.limit, advance)),
    )
    return _found(job, response)


@route(router, "job", response_model=JobResponse)
def job(view: View, job_id: JobId, request: Request, response: Response) -> Json:
    """Return a job of the scope: its progress, and when it has ended its result or error."""
    return _found(_jobs(request).get(job_id, view.scope), response)


@route(router, "job_cancel", response_model=JobResponse, status_code=202)
def cancel(view: View, job_id: JobId, request: Request, response: Response) -> Json:
    """Cancel a job of the scope; it ends at its next step."""
    found = _jobs(request).get(job_id, view.scope)
    found.cancel()
    return _found(found, response)
