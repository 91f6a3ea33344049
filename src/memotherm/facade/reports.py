"""What a user reports about tasks and rules: that a task has ended, and that a rule no longer holds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Literal, Protocol, Self

from memotherm.model import Memory, Scope
from memotherm.model.results import Page
from memotherm.statements.endings import ended, taken_back

#: The open tasks, and the rules, of which one may be meant by what is said.
_MOST_OPEN = 200


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
    tasks, rules = list[Memory](), list[Memory]()
    for end in list(ended(text, _contents(tasks, lambda: mem.tasks(_MOST_OPEN)))):
        mem.finish(tasks[end.place].id, end.status, f"said: {end.sentence}")
    for place, sentence in list(taken_back(text, _contents(rules, lambda: _rules(mem)))):
        rule = rules[place]
        # A rule for all projects is a memory of the user.
        owner = mem if rule.scope.project or not mem.scope.user else mem.for_user()
        owner.update(rule.id, valid_until=max(at, rule.created_at), why=f"said: {sentence}")


def _rules(mem: Reported) -> list[Memory]:
    """Return the rules and preferences that hold."""
    found = (memory for kind in ("rule", "preference") for memory in mem.find(kind=kind, limit=_MOST_OPEN))
    return [memory for memory in found if memory.valid_until is None]


def _contents(found: list[Memory], read: Callable[[], list[Memory]]) -> Callable[[], list[str]]:
    """Return a function that reads memories, keeps them, and returns their contents."""

    def contents() -> list[str]:
        found.extend(read())
        return [memory.content for memory in found]

    return contents
