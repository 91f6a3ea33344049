"""Call the method of an operation on what it belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memotherm.errors import InvalidInput, NotFound
from memotherm.operations.operation import Operation

if TYPE_CHECKING:
    from memotherm.memory import Memotherm

__all__ = ["perform"]


def perform(
    operation: Operation, memory: Memotherm, arguments: Mapping[str, Any], session_id: str | None = None
) -> Any:  # noqa: ANN401 - the result of the facade
    """Return the result of an operation for a caller outside of Python.

    Args:
        operation: The operation.
        memory: The memory in the scope of the caller.
        arguments: The arguments of the facade.
        session_id: The session of an operation of a session.
    """
    return getattr(_target(operation, memory, session_id), operation.verb)(**arguments)


def _target(operation: Operation, memory: Memotherm, session_id: str | None) -> Any:  # noqa: ANN401
    """Return what has the method."""
    if operation.owner == "memory":
        return memory
    if operation.owner == "session":
        if operation.begun:
            memory.inspect.session(str(session_id))  # an unknown session must not begin
        return memory.session(str(session_id))
    if operation.owner != "notes":
        return getattr(memory, operation.owner)
    if not memory.settings.notes_root:
        raise NotFound("there are no notes: set notes_root to their folder")
    if operation.writes and memory.scope.tenant is not None:
        raise InvalidInput("the notes of a server belong to all its tenants: curate them without a tenant")
    return memory.notes()
