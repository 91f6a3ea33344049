"""Sessions: their state, their working memory, and what was injected into their prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from memotherm.storage.values import Record

__all__ = ["SessionStore", "SessionTransaction"]


class SessionStore(Protocol):
    """Reads and marks of sessions."""

    def session_state(self, space: int) -> str | None:
        """Return whether a session is active, archived or summarized; None when it never began."""

    def open_sessions(self, spaces: Sequence[int]) -> frozenset[str]:
        """Return the names of the sessions that go on in some spaces."""

    def given(self, space: int) -> dict[int, int]:
        """Return what a session has in its prompt: memory number -> when it had last changed, in microseconds."""

    def give(self, space: int, updated: Mapping[int, int]) -> None:
        """Remember that a session was given memories, and when each had last changed."""

    def clear_given(self, space: int) -> None:
        """Forget what a session was given: its prompt was cut, or it has ended."""

    def flush_state(self, space: int) -> tuple[int, bool] | None:
        """Return the cycle that a session was last told to flush in, and whether it may be told again."""


class SessionTransaction(Protocol):
    """Changes of sessions."""

    def session_state(self, space: int) -> str | None:
        """Return whether a session is active, archived or summarized; None when it never began."""

    def set_session(self, space: int, state: str, now: datetime) -> None:
        """Record that a session goes on (active), has ended (archived) or was summarized."""

    def hot_tokens(self, space: int, now: datetime) -> int:
        """Return what the hot memories of a space cost in a prompt."""

    def prunable(self, space: int, now: datetime, limit: int) -> list[Record]:
        """Return the cold memories of a space that are worth the least."""

    def claim_flush(self, space: int, cycle: int | None, *, due: bool) -> bool:
        """Tell whether a flush is due that nobody was told of in this cycle, and remember that it was told."""
