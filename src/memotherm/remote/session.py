"""The working memory of a session on a server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from memotherm.model.results import Compaction
from memotherm.notes.edits import writable
from memotherm.notes.files import Layout
from memotherm.notes.flush import Flush
from memotherm.remote import decoding
from memotherm.remote.jobs import Remote
from memotherm.remote.verbs import sent
from memotherm.session import Session

__all__ = ["RemoteSession"]

Json = dict[str, Any]


M = TypeVar("M", bound=Remote)


class RemoteSession(Session[M]):
    """The working memory of one session on a server."""

    def __init__(self, memory: M, session_id: str) -> None:
        self.memory = memory
        self.id = session_id
        self._call("session_begin", {})

    def _call(self, operation: str, arguments: Mapping[str, Any]) -> Json:
        """Carry out an operation of this session."""
        return self.memory._call(operation, {**arguments, "session_id": self.id})

    add = sent(Session.add, "session_add", decoding.memory_of)
    hot = sent(Session.hot, "session_hot", lambda found: [decoding.memory_of(memory) for memory in found["memories"]])
    spill = sent(Session.spill, "session_spill", decoding.spill_of)
    promote = sent(Session.promote, "session_promote", lambda found: bool(found["promoted"]))
    demote = sent(Session.demote, "session_demote", decoding.memory_of)
    recall = sent(Session.recall, "session_recall", decoding.recall_of)
    status = sent(Session.status, "session_status", decoding.session_status_of)
    prune = sent(Session.prune, "session_prune", lambda found: list(found["pruned"]))
    forget = sent(Session.forget, "session_forget", decoding.memory_of)
    keep = sent(Session.keep, "session_keep", decoding.memory_of)
    clear = sent(Session.clear, "session_clear", lambda found: int(found["cleared"]))
    session_start = sent(Session.session_start, "session_start", decoding.context_of)
    before_turn = sent(Session.before_turn, "session_context", decoding.context_of)
    context_compacted = sent(Session.context_compacted, "session_compacted", lambda _: None)
    run_ended = sent(Session.run_ended, "session_run_ended", decoding.ended_of)
    session_end = sent(Session.session_end, "session_end", decoding.ended_of)

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
        cannot_write = read_only or (root is not None and not writable(Path(root).expanduser()))
        arguments = {
            "total_tokens": total_tokens, "context_window": context_window, "compactions": compactions,
            "heartbeat": heartbeat, "read_only": cannot_write,
        }  # fmt: skip
        flush = None if total_tokens is None else decoding.flush_of(self._call("session_flush", arguments))
        if flush is None or root is None:
            return flush
        file = Layout(root).day(flush.date)
        return replace(
            flush,
            file=file,
            prompt=flush.prompt.replace(flush.file, file),
            system=flush.system.replace(flush.file, file),
        )
