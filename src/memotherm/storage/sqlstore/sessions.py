"""Sessions, and what their prompts contain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from memotherm.model import Scope
from memotherm.model.clock import to_micros
from memotherm.storage.rows import scope_of
from memotherm.storage.sqlstore.base import SqlBase

__all__ = ["SqlSessions"]


class SqlSessions(SqlBase):
    """The part of `SessionStore` that is the same in SQL everywhere."""

    def session_state(self, space: int) -> str | None:
        """Return the state of a session: active, archived or summarized; None if it does not exist."""
        rows = self._unlogged_rows("session_state", space=space)
        return rows[0][0] if rows else None

    def open_sessions(self, spaces: Sequence[int]) -> frozenset[str]:
        """Return the names of the active sessions in some spaces."""
        return frozenset(name for (name,) in self._rows("sessions_open", spaces=list(spaces)))

    def idle_sessions(self, spaces: Sequence[int], before: datetime, limit: int) -> list[tuple[int, Scope]]:
        """Return the active sessions in some spaces without a change or use since a moment."""
        rows = self._rows("sessions_idle", spaces=list(spaces), before=to_micros(before), limit=limit)
        return [(row[0], scope_of(row[1:])) for row in rows]

    def injected(self, space: int) -> dict[int, int]:
        """Return the memories in a session's prompt: number -> time of the last update then, in microseconds."""
        return dict(self._unlogged_rows("injected_of", space=space))

    def mark_injected(self, space: int, updated: Mapping[int, int]) -> None:
        """Record that memories were put into a session's prompt, with the time of their last update."""
        rows = [{"space": space, "no": no, "updated_at": moment} for no, moment in sorted(updated.items())]
        with self._marking() as statements:
            statements.run_many("injected_put", rows)

    def clear_injected(self, space: int) -> None:
        """Delete the record of what a session's prompt contains."""
        with self._marking() as statements:
            statements.run("injected_clear", space=space)

    def flush_state(self, space: int) -> tuple[int, bool] | None:
        """Return the last cycle in which a session was prompted to flush, and whether it may be prompted again."""
        rows = self._rows("flush_get", space=space)
        return (int(rows[0][0]), bool(rows[0][1])) if rows else None
