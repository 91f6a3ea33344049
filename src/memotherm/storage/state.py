"""The recall log, sessions, notes, policies and small values of a store."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from memotherm.model import Scope, Tier
from memotherm.model.clock import from_micros, id_millis, to_micros
from memotherm.model.recall import TimedRecall, UseKind
from memotherm.model.receipts import KeptReceipt
from memotherm.model.results import Adoption, LoggedRecall
from memotherm.storage.base import StoreBase
from memotherm.storage.recall_log import log_entry_of, receipt_of, timed_recall_of
from memotherm.storage.rows import chunk_locations_of, note_of, scope_of, scope_row
from memotherm.storage.statements import Statements
from memotherm.storage.values import (
    ChunkLocation,
    LogEntry,
    NoteRow,
    RootRow,
    Tally,
    UseRow,
)

#: Larger than any number of a receipt.
_EVERY = 1 << 62


class StateStore(StoreBase):
    """The part of a store that is not about single memories."""

    # The recall log, receipts of contexts, uses and counters

    def recall_micros(self, spaces: Sequence[int], limit: int) -> list[int]:
        """Return the durations of the last recalls in microseconds, newest first."""
        return [micros for (micros,) in self._rows("recalls_micros", spaces=list(spaces), limit=limit)]

    def log_entries(self, spaces: Sequence[int], after: int, limit: int) -> list[LogEntry]:
        """Return entries of the recall log with a greater number than `after`, in order of number."""
        return [log_entry_of(row) for row in self._rows("recalls_after", spaces=list(spaces), after=after, limit=limit)]

    def timed_recalls(self, spaces: Sequence[int], limit: int, *, slowest: bool) -> list[TimedRecall]:
        """Return queries of the recall log, slowest or newest first."""
        name = "recalls_slowest" if slowest else "recalls_newest"
        rows = self._scoped_rows(name, spaces=list(spaces), limit=limit)
        return [timed_recall_of(row, scope) for row, scope in rows]

    def logged_recall(self, spaces: Sequence[int], recall_id: str) -> LogEntry | None:
        """Return the entry of the recall log with an id, if its space is among some."""
        millis = id_millis(recall_id)
        times = {"first": millis * 1000, "last": millis * 1000 + 999}
        rows = self._rows("recall_by_id", spaces=list(spaces), id=recall_id, **times)
        return log_entry_of(rows[0]) if rows else None

    def recent_recalls(self, spaces: Sequence[int], since: datetime, until: datetime, limit: int) -> list[LogEntry]:
        """Return the last recalls of a period in some spaces, newest first."""
        period = {"since": to_micros(since), "until": to_micros(until)}
        return [log_entry_of(row) for row in self._rows("recalls_recent", spaces=list(spaces), limit=limit, **period)]

    def later_uses(self, spaces: Sequence[int]) -> list[UseRow]:
        """Return the uses that followed recalls in some spaces, in order of time."""
        rows = self._rows("uses_of", spaces=list(spaces))
        return [UseRow(recall, no, UseKind(strength), from_micros(at)) for recall, no, strength, at in rows]

    def trim_recalls(self, before: datetime) -> None:
        """Delete the log entries of recalls before a time."""

        def trim(statements: Statements) -> None:
            statements.run("recalls_trim", before=to_micros(before))
            statements.run("uses_trim", before=to_micros(before))

        self._write(trim)

    def receipts(
        self, spaces: Sequence[int], past: int | None, limit: int, *, entries: bool = True
    ) -> list[KeptReceipt]:
        """Return receipts of contexts in some spaces, newest first; `past` = only with a smaller number."""
        values = {"past": _EVERY if past is None else past, "limit": limit, "entries": int(entries)}
        rows = self._scoped_rows("receipts_before", spaces=list(spaces), **values)
        return [receipt_of(row, scope) for row, scope in rows]

    def receipts_of(self, spaces: Sequence[int], memory_id: str, limit: int) -> list[KeptReceipt]:
        """Return the last receipts of contexts in some spaces that name a memory, newest first."""
        rows = self._scoped_rows("receipts_of", spaces=list(spaces), id=memory_id, limit=limit)
        return [receipt_of(row, scope) for row, scope in rows]

    def injections_of(self, spaces: Sequence[int], memory_id: str) -> tuple[int, datetime | None]:
        """Return how many stored receipts of contexts in some spaces include a memory, and the time of the last."""
        ((count, last),) = self._rows("injections_of", spaces=list(spaces), id=memory_id)
        return count, None if last is None else from_micros(last)

    def recalls_of(self, spaces: Sequence[int], no: int, limit: int) -> list[LoggedRecall]:
        """Return the last logged recalls in some spaces that returned a memory, newest first."""
        rows = self._rows("recalls_of", spaces=list(spaces), no=no, limit=limit)
        return [
            LoggedRecall(
                at=from_micros(at),
                query=query,
                tiers=tuple(Tier(tier) for tier in tiers.split()),
                returned=len(json.loads(returned)),
            )
            for at, query, tiers, returned in rows
        ]

    def trim_receipts(self, before: datetime) -> None:
        """Delete the receipts of contexts before a time."""
        self._write(lambda statements: statements.run("receipts_trim", before=to_micros(before)))

    def tallies(self, spaces: Sequence[int]) -> dict[str, Tally]:
        """Return the counters of some spaces, by name."""
        rows = self._rows("tallies_of", spaces=list(spaces))
        return {name: Tally(times, amount) for name, times, amount in rows}

    # Sessions

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
        self._write(lambda statements: statements.run_many("injected_put", rows), exclusive=False)

    def clear_injected(self, space: int) -> None:
        """Delete the record of what a session's prompt contains."""
        self._write(lambda statements: statements.run("injected_clear", space=space), exclusive=False)

    def flush_state(self, space: int) -> tuple[int, bool] | None:
        """Return the last cycle in which a session was prompted to flush, and whether it may be prompted again."""
        rows = self._rows("flush_get", space=space)
        return (int(rows[0][0]), bool(rows[0][1])) if rows else None

    # Notes

    def collection(self, scope: Scope, collection: str) -> int | None:
        """Return the number of a collection of a scope, if it exists."""
        rows = self._rows("space_find", **scope_row(scope), collection=collection)
        return int(rows[0][0]) if rows else None

    def roots(self, spaces: Sequence[int]) -> list[RootRow]:
        """Return the folders whose notes are in some spaces."""
        rows = self._rows("roots_of", spaces=list(spaces))
        return [RootRow(row[0], row[1], tuple(json.loads(row[2])), scope_of(row[4:]), row[3]) for row in rows]

    def notes(self, space: int) -> list[NoteRow]:
        """Return the files of a space."""
        return [note_of(row) for row in self._rows("notes_of", space=space)]

    def misplaced_notes(self, space: int) -> list[str]:
        """Return the paths of a space's files with a chunk whose memory is in another space."""
        return [path for (path, *_) in self._rows("notes_misplaced", space=space)]

    def chunk_locations(self, nos: Sequence[int]) -> dict[int, ChunkLocation]:
        """Return the files and lines of memories."""
        return chunk_locations_of(self._rows("chunk_locations", nos=list(nos)))

    # Values under a key

    def meta(self, key: str) -> str | None:
        """Return a value of the store's own metadata."""
        rows = self._unlogged_rows("meta_get", key=key)
        return rows[0][0] if rows else None

    def get_values(self, namespace: str, now: datetime, key: str | None = None) -> dict[str, str]:
        """Return the values of a namespace by key, or only the one under a key; expired values are left out."""
        if key is None:
            return dict(self._unlogged_rows("values_of", namespace=namespace, now=to_micros(now)))
        rows = self._unlogged_rows("value_get", namespace=namespace, key=key, now=to_micros(now))
        return {key: rows[0][0]} if rows else {}

    def put_value(
        self, namespace: str, key: str, value: str, now: datetime, expires: datetime | None, *, replace: bool
    ) -> str | None:
        """Store a value; without `replace`, an existing value stays and is returned."""
        moment = to_micros(now)
        expires_at = None if expires is None else to_micros(expires)
        row = {"namespace": namespace, "key": key, "value": value, "expires_at": expires_at}

        def put(statements: Statements) -> str | None:
            statements.run("values_expire", now=moment)
            if replace:
                statements.run("value_put", **row)
                return None
            claimed = statements.row("value_claim", **row)
            return None if claimed else str(statements.value("value_get", namespace=namespace, key=key, now=moment))

        return self._write(put, exclusive=False)

    def delete_value(self, namespace: str, key: str) -> bool:
        """Delete a value and return whether it existed."""
        deleted = self._write(
            lambda statements: statements.row("value_delete", namespace=namespace, key=key), exclusive=False
        )
        return deleted is not None

    # Policies

    def adoptions(self) -> list[Adoption]:
        """Return the policies that were adopted and rolled back, in order."""
        names = ("number", "at", "actor", "action", "name", "hash", "document")
        rows = [dict(zip(names, row, strict=True)) for row in self._unlogged_rows("adoptions")]
        if rows:
            self._saw(rows[-1]["number"])
        return [Adoption(**{**row, "at": from_micros(row["at"])}) for row in rows]
