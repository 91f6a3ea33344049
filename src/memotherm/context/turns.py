"""What a session gets at each turn: a context without what stands in its prompt already.

What was given is kept in the store, so that the separate processes of an agent's hooks share it.
"""

from __future__ import annotations

from dataclasses import replace

from memotherm.context.assembler import Assembler, Request
from memotherm.context.values import Context
from memotherm.model.clock import to_micros
from memotherm.storage.contract import SessionStore

__all__ = ["Turns"]


class Turns:
    """Contexts for the turns of sessions."""

    def __init__(self, store: SessionStore, assembler: Assembler) -> None:
        self._store = store
        self._assembler = assembler

    def context(self, space: int, request: Request) -> Context:
        """Return what a session was not given yet, or what has changed since; it counts as given now."""
        wanted = replace(request, given=self._store.injected(space))
        context, included = self._assembler.assemble(wanted)
        if included and request.track:
            self._store.mark_injected(space, {record.no: to_micros(record.memory.updated_at) for record in included})
        return context

    def forget(self, space: int) -> None:
        """Let everything come again: the prompt of the session is new, or was summarised."""
        self._store.clear_injected(space)
