"""Tier policies of the whole store where a request is more than a call, and replays, which are jobs."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from pydantic import Field
from typing_extensions import TypedDict

from memotherm.errors import PolicyError
from memotherm.operations.arguments import policy_of
from memotherm.operations.codec import to_json
from memotherm.rest.dependencies import View, WholeStore
from memotherm.rest.jobs import Job, Jobs
from memotherm.rest.problems import PROBLEMS
from memotherm.rest.requests import PolicyRequest, RequestBody
from memotherm.tiers.policy import Finding
from memotherm.tools.results import policy_json

__all__ = ["OWN", "router"]

Json = dict[str, Any]
JobId = Annotated[str, Path(pattern=r"^job_[0-9a-z]{26}$")]

#: Operations of the table with a route here.
OWN = ("policy_lint",)

router = APIRouter(responses=PROBLEMS)


class Shown(TypedDict):
    """The policy in force, which ones were adopted, rolled back and run in the shadow, and what its rules moved."""

    name: str
    hash: str
    description: str
    limits: Json
    rules: list[Json]
    text: str
    #: The texts of everything that it extends and its own, each with its `origin`, as JSON.
    packed: str
    #: Why it is not used; null if it is.
    unused: str | None
    #: The name of the policy in the shadow.
    shadow: str | None
    adoptions: list[Json]


class Findings(TypedDict):
    """All that lint found."""

    findings: list[Json]


class TestResults(TypedDict):
    """The results of the tests of a policy."""

    tests: list[Json]
    failed: int


class JobState(TypedDict):
    """A job: its progress, and its result or error when it has ended."""

    id: str
    kind: str
    state: str
    done: int
    total: int
    started_at: str
    finished_at: str | None
    result: Json | None
    error: Json | None


class ReplayRequest(RequestBody):
    """The policies to replay, each under a name of its own."""

    policies: list[PolicyRequest] = Field(min_length=1, max_length=10)
    since: str | None = Field(None, max_length=100, description="When the period begins, or how long ago: `90d`.")
    limit: int = Field(10, ge=1, le=100, description="How many of the best hits of a question it demands at most.")


@router.get("/policy", operation_id="policy_show", tags=["policies"])
def show(mem: WholeStore) -> Shown:
    """Return the policy in force with what its rules moved, and which ones were adopted, rolled back and shadowed."""
    policies, moves = mem.policies, mem.metrics().moves
    current, history = policies.current(), policies.history()
    shown = policy_json(current)
    last = next((one for one in reversed(history) if one.action in ("shadow", "end_shadow")), None)
    return Shown(
        **{**shown, "rules": [{**rule, "moved": moves.get(rule["id"], 0)} for rule in shown["rules"]]},  # type: ignore[typeddict-item]
        packed=current.packed(),
        unused=policies.unused(),
        shadow=last.name if last is not None and last.action == "shadow" else None,
        adoptions=to_json(history),
    )


@router.post("/policy/lint", operation_id="policy_lint", tags=["policies"])
def lint(mem: WholeStore, body: PolicyRequest) -> Findings:
    """Return errors and warnings of a policy, also about what it would do to the memories of the store."""
    try:
        found = mem.policies.lint(policy_of(body.model_dump()))
    except PolicyError as exc:
        if not exc.findings:
            raise
        found = [finding for finding in exc.findings if isinstance(finding, Finding)]
    return Findings(findings=to_json(found))


@router.post("/policy/test", operation_id="policy_test", tags=["policies"])
def test(mem: WholeStore, body: PolicyRequest) -> TestResults:  # noqa: ARG001 - it checks the key
    """Run the tests of a policy."""
    results = policy_of(body.model_dump()).test()
    return TestResults(tests=to_json(results), failed=sum(not result.passed for result in results))


@router.post("/policy/replay", operation_id="policy_replay", tags=["jobs"], status_code=202)
def replay(view: View, body: ReplayRequest, request: Request, response: Response) -> JobState:
    """Start a replay of the past of the scope under some policies; nothing is changed. The job has the report."""
    policies = [policy_of(policy.model_dump()) for policy in body.policies]
    job = _jobs(request).start(
        "replay", view.scope, lambda advance: to_json(view.policies.replay(policies, body.since, body.limit, advance))
    )
    return _state(job, response)


@router.get("/jobs/{job_id}", operation_id="job", tags=["jobs"])
def job(view: View, job_id: JobId, request: Request, response: Response) -> JobState:
    """Return a job of the scope: its progress, and when it has ended its result or error."""
    return _state(_jobs(request).get(job_id, view.scope), response)


@router.delete("/jobs/{job_id}", operation_id="job_cancel", tags=["jobs"], status_code=202)
def cancel(view: View, job_id: JobId, request: Request, response: Response) -> JobState:
    """Cancel a job of the scope; it ends at its next step."""
    found = _jobs(request).get(job_id, view.scope)
    found.cancel()
    return _state(found, response)


def _jobs(request: Request) -> Jobs:
    jobs: Jobs = request.app.state.jobs
    return jobs


def _state(job: Job, response: Response) -> JobState:
    response.headers["location"] = f"/jobs/{job.id}"
    state: JobState = JobState(**job.as_dict())  # type: ignore[typeddict-item]
    return state
