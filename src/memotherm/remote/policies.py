"""The tier policies of a store on a server."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from memotherm.errors import InvalidInput
from memotherm.model import Tier
from memotherm.model.results import TierCount
from memotherm.remote import decoding
from memotherm.remote.jobs import Remote, finished_job
from memotherm.remote.verbs import plain
from memotherm.tiers.adoption import Adoption, Rollback, ShadowReport, Skipped
from memotherm.tiers.lab.replay import Cause, Interval, Replay, ReplayRow
from memotherm.tiers.policies import Policies, PolicySource
from memotherm.tiers.policy import PRESETS, Difference, Finding, Policy, load, unpacked
from memotherm.vectors.vectorizer import Progress

__all__ = ["RemotePolicies"]

Json = dict[str, Any]


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

    def current(self) -> Policy:
        """Return the policy in force: the one adopted last, or the built-in one."""
        return unpacked(self._memory._call("policy_show", {})["packed"])

    def unused(self) -> str | None:
        """Return why the adopted policy is not used, such as rules that were given to `open`; None if it is."""
        why: str | None = self._memory._call("policy_show", {})["unused"]
        return why

    def diff(self, first: PolicySource, second: PolicySource) -> list[Difference]:
        """Return the memories whose next move differs between two policies."""
        body = {"against": _body(first), "policy": _body(second), "memories": True}
        return [_difference_of(found) for found in self._memory._call("policy_diff", body)["differences"]]

    def replay(
        self,
        policies: Sequence[PolicySource],
        since: datetime | str | None = None,
        limit: int = 10,
        progress: Progress | None = None,
    ) -> Replay:
        """Return what policies would have done with the past of these memories, without the final tiers.

        The server replays as a job, which is cancelled if this call is interrupted.
        """
        if not policies:
            raise InvalidInput("name at least one policy to replay, such as builtin")
        body = {"policies": [_body(policy) for policy in policies], **plain({"since": since, "limit": limit})}
        return _replay_of(finished_job(self._memory, self._memory._call("policy_replay", body), progress))


def _body(policy: PolicySource) -> Json:
    """Return a policy as the server takes it: the name of one of the package, or a text."""
    loaded = policy if isinstance(policy, Policy) else load(policy)
    if loaded.name in PRESETS and loaded == load(loaded.name):
        return {"name": loaded.name}
    return {"text": loaded.text}


def _finding_of(found: Json) -> Finding:
    return Finding(
        code=found["code"],
        message=found["message"],
        warning=found["severity"] == "warning",
        line=found["line"],
        path=tuple(int(part) if part.isdecimal() else part for part in found["path"].split(".") if part),
    )


def _difference_of(found: Json) -> Difference:
    first, second = (
        None if found[side] is None else decoding.moves_of([found[side]])[0] for side in ("first", "second")
    )
    return Difference(memory=decoding.memory_of(found["memory"]), run=found["run"], first=first, second=second)


def _replay_of(found: Json) -> Replay:
    return Replay(
        rows=tuple(ReplayRow(**{**row, "interval": _interval_of(row["interval"])}) for row in found["policies"]),
        causes=tuple(Cause(**cause) for cause in found["causes"]),
        regret_by_rule=found["regret_by_rule"],
        differences={(pair["first"], pair["second"]): _interval_of(pair["interval"]) for pair in found["differences"]},
        questions=found["questions"],
        askable=found["asked_again"],
        demanded=found["demanded"],
        notes=tuple(found["notes"]),
    )


def _interval_of(bounds: Sequence[float]) -> Interval:
    return Interval(low=bounds[0], high=bounds[1])


def _adoption_of(found: Json) -> Adoption:
    return Adoption(**{**found, "at": datetime.fromisoformat(found["at"])})


def _report_of(found: Json) -> ShadowReport:
    differing = {
        (Tier.of(part["shadow"]), Tier.of(part["tier"])): TierCount(memories=part["memories"], tokens=part["tokens"])
        for part in found["differing"]
    }
    return ShadowReport(**{**found, "since": datetime.fromisoformat(found["since"]), "differing": differing})
