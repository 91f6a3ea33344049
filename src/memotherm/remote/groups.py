"""The methods of a remote memory, made from the table of operations: the same signature, sent to the server.

Those that belong together are groups: `bulk`, `inspect`, `notes`, `policies`, `receipts`, and a session.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from enum import Enum
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from memotherm.errors import InvalidInput
from memotherm.facade.bulk import Bulk
from memotherm.facade.inspection import Inspection, Receipts
from memotherm.model import Memory, Priority
from memotherm.model.clock import as_duration
from memotherm.model.results import Adoption, Compaction, SessionStatus
from memotherm.notes.notes import Notes
from memotherm.operations.codec import from_json
from memotherm.operations.operation import Operation
from memotherm.operations.parameters import Parameter, PolicyBody
from memotherm.operations.table import OPERATIONS, operations_of
from memotherm.session import Session
from memotherm.text.redaction import redactor
from memotherm.tiers.policies import Policies
from memotherm.tiers.policy import Policy, unpacked

if TYPE_CHECKING:
    from memotherm.notes.flush import Flush
    from memotherm.remote.client import RemoteMemotherm


Class = TypeVar("Class", bound=type)


class NotRemote(InvalidInput, AttributeError):
    """A verb that a server does not offer, because it needs the store itself; `hasattr` is false for it."""


def with_verbs(owner: str, **groups: Callable[[Any], object]) -> Callable[[Class], Class]:
    """Return a decorator that replaces what a class inherits from the facade and does not define itself.

    The verbs of the table become requests, and `groups` properties that make a group of the memory; other public
    attributes need the store itself and raise `NotRemote`. Type checkers see the methods of the facade.
    """
    offered = {operation.verb: operation for operation in operations_of(owner)}

    def add(cls: Class) -> Class:
        for name in dir(cls):
            if name in groups:
                setattr(cls, name, property(groups[name], doc=getattr(cls, name).__doc__))
            elif not name.startswith("_") and name not in vars(cls):
                setattr(cls, name, _sent(offered[name]) if name in offered else _refused(name))
        return cls

    return add


def _refused(name: str) -> property:
    def refuse(self: object) -> NoReturn:
        raise NotRemote(f"{name} needs the store itself: run it where the server of {self!r} runs")

    return property(refuse)


def _sent(operation: Operation) -> Any:  # noqa: ANN401 - a method
    """Return the method of an operation as a request: its arguments under their names, and its result."""
    function = operation.function
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        _, *given = bound.arguments.items()
        arguments = {name: value for name, value in given if name != "filters"} | bound.arguments.get("filters", {})
        # What a program stores is stored, whether it has something to remember or not.
        forced = {"force": True} if "force" in operation.more else {}
        return result_of(operation, self._call(operation, write_arguments(operation, arguments) | forced))

    return call


def result_of(operation: Operation, found: dict[str, Any]) -> Any:  # noqa: ANN401 - the result of the method
    """Return the value that the JSON of a response is."""
    if operation.result_type is type(None):
        return None
    return from_json(operation.result_type, found[operation.result] if operation.result else found)


Json = dict[str, Any]


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
        """Return which policies were adopted and rolled back, in order."""
        return from_json(list[Adoption], self._shown()["adoptions"])


@with_verbs("session")
class RemoteSession(Session["RemoteMemotherm"]):
    """The working memory of one session on a server; it begins when it is opened."""

    def __init__(self, memory: RemoteMemotherm, session_id: str) -> None:
        #: The memory in the scope of the session.
        self.memory = memory
        self.id = session_id
        memory._send("POST /sessions/{session_id}", {"session_id": session_id})

    def _call(self, operation: Operation, arguments: Mapping[str, Any]) -> Json:
        """Carry out an operation of this session."""
        return self.memory._call(operation, {**arguments, "session_id": self.id})

    def status(self) -> SessionStatus:
        """Return the counts of the session, the use of its hot tokens, and suggestions."""
        return from_json(SessionStatus, self._call(OPERATIONS["session_status"], {}))

    def end(self, summary: str | None = None) -> Compaction | None:
        """End the session, forget what was injected, and run compaction if the server's settings say so."""
        return self.session_end(summary)

    def flush_due(
        self,
        total_tokens: int | None,
        context_window: int = 200_000,
        *,
        root: str | PathLike[str] | None = None,
        compactions: int | None = None,
        heartbeat: bool = False,
        read_only: bool = False,
    ) -> Flush | None:
        """Return the prompt to run before the host compacts its context, at most once between two compactions.

        The folder `root` is of this machine; its file replaces the one that the server names.
        """
        from memotherm.notes.edits import writable
        from memotherm.notes.files import Layout

        if total_tokens is None:
            return None
        cannot_write = read_only or (root is not None and not writable(Path(root).expanduser()))
        arguments = {
            "total_tokens": total_tokens, "context_window": context_window, "compactions": compactions,
            "heartbeat": heartbeat, "read_only": cannot_write,
        }  # fmt: skip
        operation = OPERATIONS["session_flush_due"]
        flush: Flush | None = result_of(operation, self._call(operation, arguments))
        if flush is None or root is None:
            return flush
        file = Layout(root).day(flush.date)
        return replace(
            flush,
            file=file,
            prompt=flush.prompt.replace(flush.file, file),
            system=flush.system.replace(flush.file, file),
        )


# Arguments


def write_arguments(operation: Operation, arguments: Mapping[str, Any]) -> Json:
    """Return arguments of the facade as the server takes them, without those that are None."""
    found = {}
    for parameter in operation.parameters:
        value = arguments.get(parameter.name)
        if value is not None:
            found[parameter.wire] = _written(parameter, value)
    return {name: value for name, value in found.items() if value is not None}


def _written(parameter: Parameter, value: Any) -> Any:  # noqa: ANN401 - any argument
    if parameter.wire == "ttl_minutes":
        return as_duration(value) / timedelta(minutes=1)
    if parameter.type is PolicyBody:
        return policy_body(value)
    if parameter.name == "policies":
        return [policy_body(each) for each in value]
    if parameter.name == "priority" and isinstance(value, int):
        return str(Priority.of(value))
    if parameter.name == "prefix":
        return value or None
    if parameter.name == "memories" and parameter.multiple:
        return [_written_draft(draft) for draft in value]
    if parameter.multiple and isinstance(value, str):
        return [value]
    return _plain(value)


def _written_draft(draft: Mapping[str, Any]) -> Json:
    """Return a memory to store; names that are no parameters are left to the server to refuse."""
    remember = OPERATIONS["remember"]
    ours = {parameter.name for parameter in remember.parameters}
    unknown = {name: _plain(value) for name, value in draft.items() if name not in ours}
    return write_arguments(remember, draft) | unknown


def _plain(value: Any) -> Any:  # noqa: ANN401 - any argument
    if isinstance(value, Enum):
        return str(value)
    if isinstance(value, Memory):
        return value.id
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise InvalidInput(f"{value!r} has no time zone: write datetime(2026, 1, 31, tzinfo=UTC)")
        return value.isoformat()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, str | int | float) or value is None:
        return value
    if hasattr(value, "recall_id"):
        if value.recall_id is None:
            raise InvalidInput("that recall is not in the recall log: set recall_log to text, and leave track on")
        return value.recall_id
    return [_plain(part) for part in value]


def policy_body(policy: Any) -> Json:  # noqa: ANN401 - a policy, the path of its file, or a name
    """Return a policy as the server takes it: the name of one of the package, or a text."""
    from memotherm.tiers.policy import PRESETS, Policy, load

    loaded = policy if isinstance(policy, Policy) else load(policy)
    if loaded.name in PRESETS and loaded == load(loaded.name):
        return {"name": loaded.name}
    return {"text": loaded.text}
