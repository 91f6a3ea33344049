"""A conversation of another framework: the contexts of its turns, and the capture of what was said."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from memotherm.context.values import Context
from memotherm.memory import Memotherm
from memotherm.model import Memory
from memotherm.model.results import Captured
from memotherm.session import Session
from memotherm.text.marker import without_blocks
from memotherm.text.redaction import redactor

__all__ = ["BUDGET", "Conversation", "known", "storable"]

#: The most tokens of the context of a turn, unless the caller says otherwise.
BUDGET = 1000
_PAGE = 1000


class Conversation:
    """One conversation: its contexts leave out what was said in it, because the model has that already."""

    def __init__(self, memory: Memotherm, session_id: str, source: str) -> None:
        """Name a conversation; nothing is read or written until a turn begins.

        Args:
            memory: The memory, whose scope has the texts that are captured.
            session_id: The conversation.
            source: The framework, as the source of captured memories.
        """
        self.memory = memory
        self.id = session_id
        self.source = source

    @cached_property
    def session(self) -> Session[Memotherm]:
        """The session that records what was injected."""
        return self.memory.session(self.id)

    def context(self, prompt: str, budget: int = BUDGET, *, repeat: bool = False) -> Context:
        """Return what the memory has about a prompt; its text is empty where there is nothing new.

        Args:
            prompt: The new prompt.
            budget: The most tokens.
            repeat: Whether to include what earlier turns were given, because their contexts were not kept.
        """
        return self.session.before_turn(prompt, budget, repeat=repeat, where={"session": {"$ne": self.id}})

    def capture(self, role: str, text: str) -> Captured | None:
        """Store what was said by the user or the assistant, as hooks do; nothing if it has no text."""
        said = _whole(text)[: self.memory.settings.max_content_chars]
        if not said.strip():
            return None
        return self.memory.capture(said, metadata={"role": role, "session": self.id}, source=self.source)


def _whole(text: str) -> str:
    """Return a text with half characters replaced, which no store takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def storable(memory: Memotherm, text: str) -> str:
    """Return a text of a conversation as it may be stored: without recalled blocks, credentials and half characters."""
    kept = without_blocks(_whole(text)).replace("\x00", "").strip()
    (redacted,), _ = redactor(memory.settings).redact_values([kept])
    return str(redacted)[: memory.settings.max_content_chars]


def known(memory: Memotherm, prefix: str) -> Iterator[Memory]:
    """Yield the memories whose keys begin with a prefix, also archived and deleted ones."""
    cursor = None
    while True:
        page = memory.find(prefix=prefix, retention="any", limit=_PAGE, cursor=cursor)
        yield from page
        cursor = page.cursor
        if cursor is None:
            return
