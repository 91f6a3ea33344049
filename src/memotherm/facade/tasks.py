"""The verbs of tasks: which are open, and that one has ended."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from memotherm.errors import InvalidInput
from memotherm.facade.queries import LARGEST_PAGE, require_limit
from memotherm.facade.view import View
from memotherm.model import Memory
from memotherm.model.actions import Action
from memotherm.tiers.rules.properties import is_closed


class Tasks:
    """What `Memotherm` offers for tasks: memories of the kind `task` whose status does not say that they are done."""

    _view: View

    def tasks(self, limit: int = 50, include_narrower: bool = False) -> list[Memory]:
        """Return the open tasks, newest first.

        Args:
            limit: The most tasks.
            include_narrower: List the tasks at and below this scope, instead of those that it can see.
        """
        require_limit(limit, LARGEST_PAGE)
        store, search = self._view.listing(kind="task", include_narrower=include_narrower)
        page = replace(search, limit=LARGEST_PAGE)
        return [record.memory for record in store.find(page) if not is_closed(record.memory)][:limit]

    def finish(self, memory_id: str, status: Literal["done", "cancelled"] = "done", why: str = "") -> Memory:
        """Close a task; `undo` opens it again.

        Args:
            memory_id: The task.
            status: done or cancelled.
            why: The reason, for the ledger.
        """
        if status not in ("done", "cancelled"):
            raise InvalidInput(f"status must be done or cancelled, not {status!r}")

        memory = self._view.record(memory_id).memory
        if memory.kind != "task" and "task" not in memory.tags:
            raise InvalidInput(f"{memory.id} is no task, but of the kind {memory.kind}")
        metadata = {**memory.metadata, "status": status}
        return self._view.update(memory_id, None, {"metadata": metadata}, why=why or status, action=Action.FINISH)


def is_open(memory: Memory) -> bool:
    """Return whether the status of a memory does not say that it is done; without a status, nothing does."""
    return not is_closed(memory)
