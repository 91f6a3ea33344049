"""The notes of a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memotherm.notes import Notes
from memotherm.operations.operation import Operation
from memotherm.remote.verbs import Remote, refuse, with_verbs

__all__ = ["RemoteNotes"]


@with_verbs("notes")
class RemoteNotes:
    """The notes of the folder that a server has in `notes_root`, to search, read and curate."""

    def __init__(self, memory: Remote) -> None:
        self._memory = memory

    def __repr__(self) -> str:
        return repr(self._memory)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401
            raise refuse(name, Notes, self)

    def _call(self, operation: Operation, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return self._memory._call(operation, arguments)
