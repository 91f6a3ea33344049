"""Contexts for the turns of a session: without the memories that are in its prompt already.

What was injected is recorded in the store, so that the separate processes of an agent's hooks share it.
"""

from __future__ import annotations

from dataclasses import replace

from memotherm.context.assembler import Assembler, Request
from memotherm.context.values import Context
from memotherm.model.clock import to_micros
from memotherm.storage.store import Store

__all__ = ["Turns"]


class Turns:
    """Contexts for the turns of sessions."""

    def __init__(self, store: Store, assembler: Assembler) -> None:
        self._store = store
        self._assembler = assembler

    def context(self, space: int, request: Request, *, repeat: bool = False) -> Context:
        """Return a context without what was injected before and is unchanged; record what it includes.

        With `repeat`, it may include what was injected before.
        """
        injected = {} if repeat else self._store.injected(space)
        context, included = self._assembler.assemble(replace(request, injected=injected))
        if included and request.track:
            changed = {each.number: to_micros(each.memory.updated_at) for each in included if each.number is not None}
            self._store.mark_injected(space, changed)
        return context

    def forget(self, space: int) -> None:
        """Forget what was injected: the prompt of the session is new, or was summarised."""
        self._store.clear_injected(space)
