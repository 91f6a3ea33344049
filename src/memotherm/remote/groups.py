"""What belongs together on a server: `bulk`, `inspect`, `notes`, `policies` and `receipts` of a remote memory."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memotherm.errors import InvalidInput, MemothermError, StoreError
from memotherm.facade.bulk import Bulk
from memotherm.facade.inspection import Inspection, Receipts
from memotherm.model.receipts import ReceiptPage
from memotherm.notes.notes import Notes
from memotherm.operations.arguments import policy_body, write_arguments
from memotherm.operations.codec import from_json
from memotherm.operations.operation import Operation
from memotherm.operations.table import OPERATIONS
from memotherm.remote.transport import error_class
from memotherm.remote.verbs import with_verbs
from memotherm.text.redaction import redactor
from memotherm.tiers.adoption import Adoption
from memotherm.tiers.lab.replay import Replay
from memotherm.tiers.policies import Policies, PolicySource
from memotherm.tiers.policy import Policy, unpacked
from memotherm.vectors.vectorizer import Progress

if TYPE_CHECKING:
    from memotherm.remote.client import RemoteMemotherm

Json = dict[str, Any]

_FIRST_WAIT, _MOST_WAIT = 0.05, 1.0


class _Group:
    """Methods that are requests in the scope of a memory."""

    def __init__(self, memory: RemoteMemotherm) -> None:
        self._memory = memory

    def __repr__(self) -> str:
        return repr(self._memory)

    def _call(self, operation: Operation, arguments: Mapping[str, Any]) -> Json:
        return self._memory._call(operation, arguments)


@with_verbs("inspect")
class RemoteInspection(_Group, Inspection):
    """What the store on a server holds and how it is used."""

    def secrets_in(self, content: str) -> tuple[str, ...]:
        """Return what a text seems to contain that should not be stored, by the settings of this machine."""
        return redactor(self._memory.settings).find(content)


@with_verbs("notes")
class RemoteNotes(_Group, Notes):
    """The notes of the folder that a server has in `notes_root`, to search, read and curate."""


@with_verbs("receipts")
class RemoteReceipts(_Group, Receipts):
    """The receipts of contexts on a server."""

    def list(
        self, session: str | None = None, limit: int = 20, cursor: str | None = None, *, entries: bool = True
    ) -> ReceiptPage:
        """Return what was injected by contexts inside this scope, newest first, a page at a time."""
        given = {"limit": limit, "cursor": cursor, "entries": entries}
        arguments = write_arguments(OPERATIONS["receipts"], given)
        view = self._memory if session is None else self._memory.scoped(session=session)
        return from_json(ReceiptPage, view._call(OPERATIONS["receipts"], arguments))


@with_verbs("bulk")
class RemoteBulk(_Group, Bulk):
    """Changes of all memories on a server that filters select."""

    def _call(self, operation: Operation, arguments: Mapping[str, Any]) -> Json:
        """Change what a dry run has found; if that is something else by then, nothing is changed."""
        if "dry_run" not in operation.by_wire:
            return super()._call(operation, arguments)
        found = super()._call(operation, {**arguments, "dry_run": True, "memories": True})
        if arguments["dry_run"] or not found["count"]:
            return found
        # The response of a purge, if it were repeated, could not contain what was purged.
        wanted = operation.verb != "purge"
        changed = super()._call(operation, {**arguments, "count": found["count"], "memories": wanted})
        return changed if wanted else found


@with_verbs("policies")
class RemotePolicies(_Group, Policies):
    """The policies of a store on a server; a policy may extend only those that come with the package."""

    def _call(self, operation: Operation, arguments: Mapping[str, Any]) -> Json:
        # A policy that is the only argument is the body itself.
        return super()._call(operation, arguments.get("policy", arguments))

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
