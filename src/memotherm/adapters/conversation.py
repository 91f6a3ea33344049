"""Conversations of other frameworks: contexts for turns, and capture of messages."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Unpack

from memotherm import opening
from memotherm.context.values import Context
from memotherm.memory import Memotherm
from memotherm.model import Memory, Scope
from memotherm.model.memory import MemoryFilters
from memotherm.model.results import Captured
from memotherm.session import Session
from memotherm.text.content import without_blocks
from memotherm.text.redaction import redactor

#: Default token budget of the context of a turn.
BUDGET = 1000


class Conversation:
    """One conversation; its contexts leave out its own messages, which the model already has."""

    def __init__(self, memory: Memotherm, session_id: str, source: str) -> None:
        """Name a conversation; nothing is read or written until a turn begins."""
        self.memory = memory
        self.id = session_id
        self.source = source

    @cached_property
    def session(self) -> Session[Memotherm]:
        """The session that records injected memories."""
        return self.memory.session(self.id)

    def context(self, prompt: str, budget: int = BUDGET, *, repeat: bool = False) -> Context:
        """Return the context for a prompt; its text is empty if there is nothing new.

        Args:
            prompt: The new prompt.
            budget: The most tokens.
            repeat: Whether to include what earlier turns were given, because their contexts were not kept.
        """
        return self.session.before_turn(prompt, budget, repeat=repeat, where={"session": {"$ne": self.id}})

    def capture(self, role: str, text: str) -> Captured | None:
        """Capture a message of the user or the assistant, as hooks do; empty messages are skipped."""
        said = _whole(text)[: self.memory.settings.max_content_chars]
        if not said.strip():
            return None
        # The framework tells who said it, as a host does for hooks.
        memory = self.memory.by("person") if role == "user" else self.memory
        return memory.capture(said, metadata={"role": role, "session": self.id}, source=self.source)


def _whole(text: str) -> str:
    """Return a text with lone surrogates replaced, which stores refuse."""
    return text.encode("utf-8", "replace").decode("utf-8")


def storable(memory: Memotherm, text: str) -> str:
    """Return a message without recalled blocks, secrets and lone surrogates."""
    kept = without_blocks(_whole(text)).replace("\x00", "").strip()
    (redacted,), _ = redactor(memory.settings).redact_values([kept])
    return str(redacted)[: memory.settings.max_content_chars]


def opened(
    memory: Memotherm | str | os.PathLike[str] | None, scope: Scope | None, settings: Mapping[str, Any]
) -> tuple[Memotherm, bool]:
    """Return an open memory, or open the one of a path or URL; and whether it was opened here."""
    if isinstance(memory, str | os.PathLike | None):
        return opening.open(memory, scope=scope, settings=settings), True
    return memory, False


def found(memory: Memotherm, *, limit: int = 1000, **filters: Unpack[MemoryFilters]) -> Iterator[Memory]:
    """Yield all memories that match filters, newest first; `limit` are read at a time."""
    cursor = None
    while True:
        page = memory.find(limit=limit, cursor=cursor, **filters)
        yield from page
        cursor = page.cursor
        if cursor is None:
            return
