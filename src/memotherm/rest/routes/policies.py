"""Tier policies of the whole store where a request is more than a call."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import Field

from memotherm.errors import PolicyError
from memotherm.operations.arguments import policy_of
from memotherm.operations.codec import schema, to_json
from memotherm.rest.dependencies import View, WholeStore
from memotherm.rest.requests import PolicyRequest, RequestBody
from memotherm.rest.routes.derived import SCHEMAS, described, object_schema
from memotherm.tiers.policy import Finding
from memotherm.tiers.replay import Replay
from memotherm.tools.results import policy_json

Json = dict[str, Any]

#: Operations of the table with a route here.
OWN = ("policy_lint",)

router = APIRouter()


_POLICY = object_schema(
    "Shown",
    "The policy in force, which ones were adopted and rolled back, and what its rules moved; "
    "`packed` has the texts of everything that it extends and its own as JSON, `unused` is why it is not used.",
    name=str, hash=str, description=str, limits=Json, rules=list[Json], text=str, packed=str, unused=str | None,
    adoptions=list[Json],
)  # fmt: skip
_FINDINGS = object_schema("Findings", "All that lint found.", findings=list[Finding])
_TESTS = object_schema("TestResults", "The results of the tests of a policy.", tests=list[Json], failed=int)


class ReplayRequest(RequestBody):
    """The policies to replay, each under a name of its own."""

    policies: list[PolicyRequest] = Field(min_length=1, max_length=10)
    since: str | None = Field(None, max_length=100, description="When the period begins, or how long ago: `90d`.")
    limit: int = Field(10, ge=1, le=100, description="How many of the best hits of a question it demands at most.")


@described(router, "GET /policy", "policy_show", "policies", _POLICY)
def show(mem: WholeStore) -> Json:
    """Return the policy in force with what its rules moved, and which ones were adopted and rolled back."""
    policies, moves = mem.policies, mem.metrics().moves
    current = policies.current()
    shown = policy_json(current)
    return {
        **shown,
        "rules": [{**rule, "moved": moves.get(rule["id"], 0)} for rule in shown["rules"]],
        "packed": current.packed(),
        "unused": policies.unused(),
        "adoptions": to_json(policies.history()),
    }


@described(router, "POST /policy/lint", "policy_lint", "policies", _FINDINGS)
def lint(mem: WholeStore, body: PolicyRequest) -> Json:
    """Return errors and warnings of a policy, also about what it would do to the memories of the store."""
    try:
        found = mem.policies.lint(policy_of(body.model_dump()))
    except PolicyError as exc:
        if not exc.findings:
            raise
        found = [finding for finding in exc.findings if isinstance(finding, Finding)]
    return {"findings": to_json(found)}


@described(router, "POST /policy/test", "policy_test", "policies", _TESTS)
def test(mem: WholeStore, body: PolicyRequest) -> Json:  # noqa: ARG001 - it checks the key
    """Run the tests of a policy."""
    results = policy_of(body.model_dump()).test()
    return {"tests": to_json(results), "failed": sum(not result.passed for result in results)}


@described(router, "POST /policy/replay", "policy_replay", "policies", schema(Replay, SCHEMAS))
def replay(view: View, body: ReplayRequest) -> Json:
    """Replay the past of the scope under some policies, and return the report; nothing is changed."""
    policies = [policy_of(policy.model_dump()) for policy in body.policies]
    report: Json = to_json(view.policies.replay(policies, body.since, body.limit))
    return report
