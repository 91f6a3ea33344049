"""Sessions: their state, their working memory, and what was injected into their prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from memotherm.model import Scope
from memotherm.storage.values import Record

__all__ = ["SessionStore", "SessionTransaction"]


class SessionStore(Protocol):
    """Reads and marks of sessions."""

    def session_state(self, space: int) -> str | None:
        """Return the state of a session: active, archived or summarized; None if it does not exist."""

    def open_sessions(self, spaces: Sequence[int]) -> frozenset[str]:
        """Return the names of the active sessions in some spaces."""

    def idle_sessions(self, spaces: Sequence[int], before: datetime, limit: int) -> list[tuple[int, Scope]]:
        """Return the active sessions in some spaces without a change or use since a moment, longest idle first."""

    def injected(self, space: int) -> dict[int, int]:
        """Return the memories in a session's prompt: number -> time of the last update then, in microseconds."""

    def mark_injected(self, space: int, updated: Mapping[int, int]) -> None:
        """Record that memories were put into a session's prompt, with the time of their last update."""

    def clear_injected(self, space: int) -> None:
        """Delete the record of what a session's prompt contains."""

    def flush_state(self, space: int) -> tuple[int, bool] | None:
        """Return the last cycle in which a session was prompted to flush, and whether it may be prompted again."""


class SessionTransaction(Protocol):
    """Changes of sessions."""

    def session_state(self, space: int) -> str | None:
        """Return whether a session is active, archived or summarized; None when it never began."""

    def set_session(self, space: int, state: str, now: datetime) -> None:
        """Set the state of a session: active, archived or summarized."""

    def hot_tokens(self, space: int, now: datetime) -> int:
        """Return the number of tokens of the hot memories of a space."""

    def prunable(self, space: int, now: datetime, limit: int) -> list[Record]:
        """Return the cold memories of a space that may be pruned: least relevant and least used first."""

    def claim_flush(self, space: int, cycle: int | None, *, due: bool) -> bool:
        """Return whether to prompt for a flush in this cycle, and record that it was done."""
