"""Tasks: which are open, that one has ended, and what a user reports about tasks and rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Literal, Protocol, Self

from memotherm.errors import Forbidden, InvalidInput
from memotherm.facade.correction import update
from memotherm.facade.queries import LARGEST_PAGE, require_limit
from memotherm.facade.view import View
from memotherm.model import Memory, Scope
from memotherm.model.actions import Action
from memotherm.model.results import Page
from memotherm.text.phrases import sentences
from memotherm.text.words import stemmed_words
from memotherm.tiers.rules.properties import is_closed

#: The open tasks, and the rules, of which one may be meant by what is said.
_MOST_OPEN = 200


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
        return [record.memory for record in store.find(page) if is_open(record.memory)][:limit]

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
        return update(self._view, memory_id, None, {"metadata": metadata}, why=why or status, action=Action.FINISH)


def is_open(memory: Memory) -> bool:
    """Return whether the status of a memory does not say that it is done; without a status, nothing does."""
    return not is_closed(memory)


class Reported(Protocol):
    """A memory, here or on a server."""

    @property
    def scope(self) -> Scope:
        """The scope."""

    def for_user(self) -> Self:
        """Return the memory of the user in all projects."""

    def tasks(self, limit: int = ...) -> list[Memory]:
        """Return the open tasks."""

    def finish(self, memory_id: str, status: Literal["done", "cancelled"] = ..., why: str = ...) -> Memory:
        """Close a task."""

    def find(self, *, limit: int = ..., kind: str) -> Page:
        """List memories."""

    def update(self, memory_id: str, *, why: str = ..., valid_until: datetime) -> Memory:
        """Change a memory."""


def apply_reports(mem: Reported, text: str, at: datetime) -> None:
    """Close the open tasks that a user reports as done or cancelled, and end the rules that the user takes back.

    Args:
        mem: The memory of the user's project, here or on a server.
        text: What the user said.
        at: When it was said.
    """
    # A process that captures nothing loads nothing of what reads statements.
    from memotherm.statements.endings import ended, taken_back

    tasks, rules = list[Memory](), list[Memory]()
    for end in list(ended(text, _contents(tasks, text, lambda: mem.tasks(_MOST_OPEN)))):
        _apply(partial(mem.finish, tasks[end.place].id, end.status), end.sentence)
    for place, sentence in list(taken_back(text, _contents(rules, text, lambda: _rules(mem)))):
        rule = rules[place]
        # A rule for all projects is a memory of the user.
        owner = mem if rule.scope.project or not mem.scope.user else mem.for_user()
        _apply(partial(owner.update, rule.id, valid_until=max(at, rule.created_at)), sentence)


def _apply(change: Callable[..., Memory], sentence: str) -> None:
    """Make a change with the sentence that asks for it as the reason, or without one if that was forgotten."""
    try:
        change(why=f"said: {sentence}")
    except Forbidden:
        change()


def _rules(mem: Reported) -> list[Memory]:
    """Return the rules and preferences that hold."""
    found = (memory for kind in ("rule", "preference") for memory in mem.find(kind=kind, limit=_MOST_OPEN))
    return [memory for memory in found if memory.valid_until is None]


def _contents(found: list[Memory], text: str, read: Callable[[], list[Memory]]) -> Callable[[], list[str]]:
    """Return a function that reads memories, keeps them, and returns their contents.

    What the text only says again is left out: its own words do not end it.
    """

    def contents() -> list[str]:
        said = {tuple(stemmed_words(part)) for part in (text, *sentences(text))}
        found.extend(memory for memory in read() if tuple(stemmed_words(memory.content)) not in said)
        return [memory.content for memory in found]

    return contents
