"""The tier policies of a store on a server."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol

from memotherm.model import Tier
from memotherm.model.results import TierCount
from memotherm.policies import Policies, PolicySource
from memotherm.policy import Finding, Policy, load
from memotherm.policy.document import PRESETS
from memotherm.remote import decoding
from memotherm.remote.verbs import refused
from memotherm.tiers.adoption import Adoption, Rollback, ShadowReport, Skipped

__all__ = ["RemotePolicies"]

Json = dict[str, Any]


class Remote(Protocol):
    """A memory whose verbs are requests."""

    def _call(self, operation: str, arguments: Mapping[str, Any]) -> Json:
        """Carry out an operation."""


class RemotePolicies(Policies):
    """The policies of a store on a server; a policy may extend only those that come with the package."""

    def __init__(self, memory: Remote) -> None:
        self._memory = memory

    def __repr__(self) -> str:
        return repr(self._memory)

    def lint(self, policy: PolicySource) -> list[Finding]:
        """Return errors and warnings of a policy, also about what it would do to the memories of the store."""
        return [_finding_of(found) for found in self._memory._call("policy_lint", _body(policy))["findings"]]

    def history(self) -> list[Adoption]:
        """Return which policies were adopted, rolled back and run in the shadow, in order."""
        return [_adoption_of(found) for found in self._memory._call("policy_show", {})["adoptions"]]

    def adopt(self, policy: PolicySource) -> Adoption:
        """Put a policy in force for the whole store; one with errors or failing tests is refused."""
        return _adoption_of(self._memory._call("policy_adopt", _body(policy)))

    def rollback(self) -> Rollback:
        """Take back all moves of the policy in force, and put the one before it in force."""
        found = self._memory._call("policy_rollback", {})
        return Rollback(
            name=found["name"],
            hash=found["hash"],
            adoption=_adoption_of(found["adoption"]),
            moves=decoding.moves_of(found["moves"]),
            skipped=tuple(Skipped(id=skipped["id"], why=skipped["why"]) for skipped in found["skipped"]),
        )

    def start_shadow(self, policy: PolicySource) -> Adoption:
        """Let a policy decide beside the one in force, without moving anything."""
        return _adoption_of(self._memory._call("policy_shadow_start", _body(policy)))

    def stop_shadow(self) -> ShadowReport:
        """Take the policy out of the shadow, and return its last report."""
        return _report_of(self._memory._call("policy_shadow_stop", {}))

    def shadow_report(self) -> ShadowReport:
        """Return what the policy in the shadow would have missed and spared, and where it would have memories."""
        return _report_of(self._memory._call("policy_shadow_report", {}))

    current = refused(Policies.current)
    diff = refused(Policies.diff)
    replay = refused(Policies.replay)
    unused = refused(Policies.unused)


def _body(policy: PolicySource) -> Json:
    """Return a policy as the server takes it: the name of one of the package, or a text."""
    if isinstance(policy, str) and policy in PRESETS:
        return {"name": policy}
    return {"text": policy.text if isinstance(policy, Policy) else load(policy).text}


def _finding_of(found: Json) -> Finding:
    return Finding(
        code=found["code"],
        message=found["message"],
        warning=found["severity"] == "warning",
        line=found["line"],
        path=tuple(int(part) if part.isdecimal() else part for part in found["path"].split(".") if part),
    )


def _adoption_of(found: Json) -> Adoption:
    return Adoption(**{**found, "at": datetime.fromisoformat(found["at"])})


def _report_of(found: Json) -> ShadowReport:
    differing = {
        (Tier.of(part["shadow"]), Tier.of(part["tier"])): TierCount(memories=part["memories"], tokens=part["tokens"])
        for part in found["differing"]
    }
    return ShadowReport(**{**found, "since": datetime.fromisoformat(found["since"]), "differing": differing})
