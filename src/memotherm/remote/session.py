"""The working memory of a session on a server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memotherm.model.results import Compaction, SessionStatus
from memotherm.operations.codec import from_json
from memotherm.operations.operation import Operation
from memotherm.operations.table import OPERATIONS
from memotherm.remote.verbs import result_of, with_verbs
from memotherm.session import Session

if TYPE_CHECKING:
    from memotherm.notes.flush import Flush
    from memotherm.remote.client import RemoteMemotherm

Json = dict[str, Any]


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
