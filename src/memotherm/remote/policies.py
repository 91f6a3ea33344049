"""The tier policies of a store on a server."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memotherm.errors import InvalidInput, MemothermError, StoreError
from memotherm.operations.arguments import policy_body
from memotherm.operations.codec import from_json
from memotherm.operations.operation import Operation
from memotherm.remote.session import RemoteMemory
from memotherm.remote.transport import error_class
from memotherm.remote.verbs import refuse, with_verbs
from memotherm.tiers.adoption import Adoption
from memotherm.tiers.lab.replay import Replay
from memotherm.tiers.policies import Policies, PolicySource
from memotherm.tiers.policy import Policy, unpacked
from memotherm.vectors.vectorizer import Progress

__all__ = ["RemotePolicies"]

Json = dict[str, Any]

_FIRST_WAIT, _MOST_WAIT = 0.05, 1.0


@with_verbs("policies")
class RemotePolicies:
    """The policies of a store on a server; a policy may extend only those that come with the package."""

    def __init__(self, memory: RemoteMemory) -> None:
        self._memory = memory

    def __repr__(self) -> str:
        return repr(self._memory)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401
            raise refuse(name, Policies, self)

    def _call(self, operation: Operation, arguments: Mapping[str, Any]) -> Json:
        # A policy that is the only argument is the body itself.
        return self._memory._call(operation, arguments.get("policy", arguments))

    def _shown(self) -> Json:
        return self._memory._send("GET /policy", {})

    def current(self) -> Policy:
        """Return the policy in force: the one adopted last, or the built-in one."""
        return unpacked(self._shown()["packed"])

    def unused(self) -> str | None:
        """Return why the adopted policy is not used, such as rules that were given to `open`; None if it is."""
        why: str | None = self._shown()["unused"]
        return why

    def history(self) -> list[Adoption]:
        """Return which policies were adopted, rolled back and run in the shadow, in order."""
        return from_json(list[Adoption], self._shown()["adoptions"])

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
        moment = since.isoformat() if isinstance(since, datetime) else since
        body = {"policies": [policy_body(policy) for policy in policies], "since": moment, "limit": limit}
        job = self._memory._send("POST /policy/replay", body)
        return from_json(Replay, self._finished(job, progress))

    def _finished(self, job: Json, progress: Progress | None) -> Json:
        """Return the result of a job, or raise its error; cancel it if the wait is interrupted."""
        wait = _FIRST_WAIT
        try:
            while job["state"] == "running":
                time.sleep(wait)
                wait = min(2 * wait, _MOST_WAIT)
                job = self._memory._send("GET /jobs/{job_id}", {"job_id": job["id"]})
                if progress is not None:
                    progress(job["done"], job["total"])
        except BaseException:
            with suppress(MemothermError):
                self._memory._send("DELETE /jobs/{job_id}", {"job_id": job["id"]})
            raise
        if job["state"] == "done":
            result: Json = job["result"]
            return result
        if job["state"] == "cancelled":
            raise StoreError(f"{job['id']} was cancelled on the server: start it again")
        raise (error_class(job["error"]["code"]) or StoreError)(job["error"]["detail"])
