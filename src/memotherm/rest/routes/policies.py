"""Tier policies of the whole store, for requests that no API key restricts."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from starlette.exceptions import HTTPException

from memotherm import Memotherm
from memotherm.errors import PolicyError
from memotherm.remote import encoding
from memotherm.rest.idempotency import once
from memotherm.rest.routes.declaring import route
from memotherm.rest.routes.parameters import WholeStore
from memotherm.rest.schemas.policies import (
    AdoptionResponse,
    DiffRequest,
    DiffResponse,
    LintResponse,
    PolicyRequest,
    PolicyResponse,
    RollbackResponse,
    ShadowResponse,
    TestsResponse,
)
from memotherm.tiers import policy
from memotherm.tiers.policies import Policies
from memotherm.tiers.policy import Finding, Policy
from memotherm.tools import serializers

__all__ = ["router"]

Json = dict[str, Any]

router = APIRouter(tags=["policies"])


async def administered(request: Request) -> Policies:
    """Return the policies of the store, unless the request is restricted to a part of it."""
    mem: Memotherm = request.scope["memotherm"]
    if mem.scope.items():
        raise HTTPException(403, "a policy applies to the whole store: an API key of a tenant cannot see or change it")
    return mem.policies


Administered = Annotated[Policies, Depends(administered)]


def _read(body: PolicyRequest) -> Policy:
    """Return the policy of a body; a text can extend only those that come with the package."""
    return policy.load(body.name) if body.name is not None else policy.loads(body.text or "")


@route(router, "policy_show", response_model=PolicyResponse)
def show(policies: Administered, mem: WholeStore) -> Json:
    """Return the policy in force with what its rules moved, and which ones were adopted, rolled back and shadowed."""
    history, moves = policies.history(), mem.metrics().moves
    current = policies.current()
    shown = serializers.policy_json(current)
    last_in_shadow = next((one for one in reversed(history) if one.action in ("shadow", "end_shadow")), None)
    return {
        **shown,
        "packed": current.packed(),
        "rules": [{**rule, "moved": moves.get(rule["id"], 0)} for rule in shown["rules"]],
        "unused": policies.unused(),
        "shadow": last_in_shadow.name if last_in_shadow is not None and last_in_shadow.action == "shadow" else None,
        "adoptions": [serializers.adoption_json(adoption) for adoption in history],
    }


@route(router, "policy_lint", response_model=LintResponse)
def lint(policies: Administered, body: PolicyRequest) -> Json:
    """Return errors and warnings of a policy, also about what it would do to the memories of the store."""
    try:
        found = policies.lint(_read(body))
    except PolicyError as exc:
        if not exc.findings:
            raise
        found = [finding for finding in exc.findings if isinstance(finding, Finding)]
    return {"findings": [serializers.finding_json(finding) for finding in found]}


@route(router, "policy_test", response_model=TestsResponse)
def test(policies: Administered, body: PolicyRequest) -> Json:  # noqa: ARG001 - it checks the key
    """Run the tests of a policy."""
    results = [serializers.case_json(result) for result in _read(body).test()]
    return {"tests": results, "failed": sum(not result["passed"] for result in results)}


@route(router, "policy_diff", response_model=DiffResponse)
def diff(policies: Administered, body: DiffRequest) -> Json:
    """Return the memories whose next move differs from that of the policy in force, or of another one."""
    against = policies.current() if body.against is None else _read(body.against)
    found = policies.diff(against, _read(body.policy))
    return {
        "differences": [
            {
                **serializers.difference_json(difference),
                "memory": encoding.memory_json(difference.memory) if body.memories else None,
            }
            for difference in found
        ]
    }


@route(router, "policy_adopt", response_model=AdoptionResponse)
@once
def adopt(policies: Administered, body: PolicyRequest) -> Json:
    """Put a policy in force for the whole store; one with errors or failing tests is refused with all of them."""
    return serializers.adoption_json(policies.adopt(_read(body)))


@route(router, "policy_rollback", response_model=RollbackResponse)
@once
def rollback(policies: Administered) -> Json:
    """Take back all moves of the policy in force, and put the one before it in force."""
    return serializers.rollback_json(policies.rollback())


@route(router, "policy_shadow_report", response_model=ShadowResponse)
def shadow_report(policies: Administered) -> Json:
    """Return what the policy in the shadow would have missed and spared."""
    return serializers.shadow_json(policies.shadow_report())


@route(router, "policy_shadow_start", response_model=AdoptionResponse)
@once
def start_shadow(policies: Administered, body: PolicyRequest) -> Json:
    """Let a policy decide beside the one in force, without moving anything."""
    return serializers.adoption_json(policies.start_shadow(_read(body)))


@route(router, "policy_shadow_stop", response_model=ShadowResponse)
def stop_shadow(policies: Administered) -> Json:
    """Take the policy out of the shadow, and return its last report."""
    return serializers.shadow_json(policies.stop_shadow())
