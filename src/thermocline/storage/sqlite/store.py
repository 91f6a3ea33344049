"""A store in one SQLite file, or in memory."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thermocline.clock import to_micros
from thermocline.errors import StoreBusy, StoreDamaged, StoreError, StoreFull, StoreUnavailable
from thermocline.model import Event, Priority, Problem, Retention, Scope, Tier, TierCount
from thermocline.settings import Settings
from thermocline.storage.rows import event_of, record_of, scope_of, scope_row
from thermocline.storage.sqlite import notes
from thermocline.storage.sqlite.backup import copy
from thermocline.storage.sqlite.band import best
from thermocline.storage.sqlite.bands import Bands, Place, decoded
from thermocline.storage.sqlite.check import check, check_text_structure
from thermocline.storage.sqlite.connect import MEMORY, Connections, require_openable
from thermocline.storage.sqlite.keys import MEMORY_MASK, vector_base, vector_range
from thermocline.storage.sqlite.migrate import migrate, require_ours
from thermocline.storage.sqlite.postings import MOST_KEPT, Postings, strengths
from thermocline.storage.sqlite.statements import SQL
from thermocline.storage.sqlite.textindex import rebuild_if_outdated
from thermocline.storage.sqlite.writing import SqliteWriting
from thermocline.storage.store import (
    Candidate,
    ChunkPlace,
    ChunkRow,
    Counts,
    Filter,
    Find,
    Found,
    Identity,
    NoteRow,
    RecallEntry,
    Record,
    RootRow,
    Saying,
    Tally,
    Watch,
)

__all__ = ["SqliteStore"]

_log = logging.getLogger(__name__)

Vectors = NDArray[np.float32]

_TIERS = tuple(Tier)
_PRIORITIES = tuple(Priority)
_RETENTIONS = tuple(Retention)
_MICROS_PER_DAY = 86_400_000_000
#: How many scopes' spaces are remembered.
_MOST_SCOPES = 10_000
#: How many recalls wait to be logged while another process writes.
_MOST_WAITING = 1000


class SqliteStore:
    """Rows, words and vectors in one file; several processes may use it at once."""

    def __init__(self, path: str, settings: Settings) -> None:
        require_openable(path)
        require_ours(path)
        self.name = path
        self._window_micros = int(settings.use_window_days * _MICROS_PER_DAY)
        self._connections = Connections(path, settings)
        self._scopes: dict[int, Scope] = {}
        #: Scope -> the last space when it was looked up, and the spaces it can see.
        self._visible: dict[Scope, tuple[int, tuple[int, ...]]] = {}
        self._waiting: deque[tuple[RecallEntry, bool]] = deque(maxlen=_MOST_WAITING)
        try:
            migrate(self._connections)
            rebuild_if_outdated(self._connections)
            store = str(self._note("store"))
        except BaseException:
            self._connections.close()
            raise
        folder = None if path == MEMORY else Path(f"{path}-vectors")
        self._bands = Bands(store, folder, settings.exact_band_limit)
        # A store in memory reads what may yet be taken back, so nothing is kept there.
        self._postings = Postings(0 if path == MEMORY else MOST_KEPT)

    # Reading

    def snapshot(self) -> AbstractContextManager[None]:
        """Let the reads of this thread see one state of the store until it is left."""
        return self._connections.snapshot()

    def spaces(self, scope: Scope) -> tuple[int, ...]:
        """Return the spaces whose memories a scope can see."""
        known = self._visible.get(scope)
        if known is not None and known[0] == self._rows("space_last")[0][0]:
            return known[1]
        with self._connections.reading() as connection:
            last = connection.execute(SQL["space_last"]).fetchone()[0]
            found = tuple(space for (space,) in connection.execute(SQL["spaces_visible"], scope_row(scope)))
        # Spaces are only ever added, so this stays true until there is a new one (in memory, it may be taken back).
        if self.name != MEMORY:
            if len(self._visible) >= _MOST_SCOPES:
                self._visible.clear()
            self._visible[scope] = (last, found)
        return found

    def spaces_within(self, scope: Scope) -> tuple[int, ...]:
        """Return the spaces that lie inside a scope: equal to it or narrower."""
        return tuple(space for (space,) in self._rows("spaces_within", **scope_row(scope)))

    def get(self, spaces: Sequence[int], memory_id: str) -> Record | None:
        """Return a memory that lies in one of the spaces."""
        records = self._records("memory_by_id", id=memory_id)
        return next((record for record in records if record.space in spaces), None)

    def find(self, spaces: Sequence[int], find: Find) -> list[Record]:
        """Return a page of memories, newest first."""
        return self._records(
            "find",
            spaces=json.dumps(spaces),
            before=MEMORY_MASK if find.before is None else find.before,
            retention=find.retention.rank,
            tiers=_ranks(Tier if find.tier is None else [find.tier]),
            priority=None if find.priority is None else find.priority.rank,
            kind=find.kind,
            tags=None if find.tags is None else json.dumps(find.tags),
            expired=find.retention is not Retention.ACTIVE,
            now=to_micros(find.now),
            limit=find.limit,
        )

    def records(self, nos: Sequence[int]) -> dict[int, Record]:
        """Return whole memories by number."""
        return {record.no: record for record in self._records("memories_of", nos=json.dumps(nos))}

    def pinned(self, spaces: Sequence[int], now: datetime) -> list[Record]:
        """Return the visible pinned memories, oldest first."""
        return self._records("pinned", spaces=json.dumps(spaces), now=to_micros(now))

    def candidates(
        self, spaces: Sequence[int], tiers: Sequence[Tier], nos: Sequence[int], where: Filter
    ) -> dict[int, Candidate]:
        """Return those of the memories that may be shown: the last wall behind both legs."""
        with self._connections.reading() as connection:
            rows = _shown(connection, "candidates", spaces, tiers, nos, where)
        return {
            no: Candidate(no, space, _TIERS[tier], _PRIORITIES[priority], *rest)
            for no, space, tier, priority, *rest in rows
        }

    def search_text(
        self, spaces: Sequence[int], tiers: Sequence[Tier], words: Sequence[str], limit: int, where: Filter
    ) -> list[Found]:
        """Return the best keyword matches, strongest first, newest first among equals."""
        with self._connections.reading() as connection:
            nos, worth = strengths(*self._counted(connection, spaces, tiers, words))
            expired = _expired(connection, spaces, where.now)
            if expired:
                lasting = ~np.isin(nos, expired)
                nos, worth = nos[lasting], worth[lasting]
            wanted = limit
            while True:
                found, strength = best(nos, worth, wanted)
                kept = list(map(Found, found.tolist(), strength.tolist()))
                if where.selective:
                    shown = {row[0] for row in _shown(connection, "visible", spaces, tiers, found.tolist(), where)}
                    kept = [each for each in kept if each.no in shown]
                if len(kept) >= limit or wanted >= len(nos):
                    return kept[:limit]
                wanted *= 4

    def search_vector(
        self, spaces: Sequence[int], tiers: Sequence[Tier], vector: Vectors, limit: int, where: Filter
    ) -> list[Found]:
        """Return the memories with the nearest vectors, nearest first."""
        places = [Place(space, tier) for space in spaces for tier in tiers]
        with self._connections.reading() as connection:
            identity = _identity(connection)
            if identity is None:
                return []
            expired = set(_expired(connection, spaces, where.now))
            found = self._bands.search(connection, identity, places, vector, limit + len(expired), where)
        return [each for each in found if each.no not in expired][:limit]

    def similarities(
        self, spaces: Sequence[int], tiers: Sequence[Tier], nos: Sequence[int], vector: Vectors
    ) -> dict[int, float]:
        """Return the cosine of each of the memories that has vectors; its nearest part counts."""
        places = [Place(space, tier) for space in spaces for tier in tiers]
        with self._connections.reading() as connection:
            identity = _identity(connection)
            return {} if identity is None else self._bands.cosines(connection, identity, places, nos, vector)

    def sayings(self, nos: Sequence[int]) -> dict[int, Saying]:
        """Return what active memories say, by number."""
        return {no: Saying(*said) for no, *said in self._rows("sayings", nos=json.dumps(nos))}

    def frequencies(
        self, spaces: Sequence[int], tiers: Sequence[Tier], words: Sequence[str]
    ) -> tuple[int, dict[str, int]]:
        """Return how many memories there are in some spaces and tiers, and how many have each word."""
        with self._connections.reading() as connection:
            lists, total = self._counted(connection, spaces, tiers, words)
        return total, dict(zip(words, map(len, lists), strict=True))

    def _counted(
        self, connection: sqlite3.Connection, spaces: Sequence[int], tiers: Sequence[Tier], words: Sequence[str]
    ) -> tuple[list[NDArray[np.int64]], int]:
        """Return the memories that have each word, and how many there are in all."""
        (seq,) = connection.execute(SQL["event_last"]).fetchone()
        values = {"spaces": json.dumps(spaces), "tiers": _ranks(tiers)}
        (total,) = connection.execute(SQL["count_in"], values).fetchone()
        return [self._postings.of(connection, seq, spaces, tiers, word) for word in words], int(total)

    def watch(self, watch: Watch, after: int, limit: int) -> list[Record]:
        """Return a batch of what a policy wants to look at, in order of number."""
        moments = {name: to_micros(moment) for name, moment in watch.moments.items()}
        values = {"spaces": json.dumps(watch.spaces), "now": to_micros(watch.now), **moments}
        return self._records(f"watch_{watch.name}", after=after, limit=limit, **values)

    # Sessions and what happened

    def place(self, space: int, tier: Tier, now: datetime, limit: int) -> list[Record]:
        """Return the visible memories of one space in one tier, newest first."""
        return self._records("session_place", space=space, tier=tier.rank, now=to_micros(now), limit=limit)

    def place_count(self, space: int, tier: Tier, now: datetime) -> TierCount:
        """Return how many visible memories one space has in one tier, and their tokens."""
        ((memories, tokens),) = self._rows("session_tokens", space=space, tier=tier.rank, now=to_micros(now))
        return TierCount(memories=memories, tokens=tokens)

    def session_state(self, space: int) -> str | None:
        """Return whether a session is active, archived or summarized; None when it never began."""
        rows = self._rows("session_state", space=space)
        return rows[0][0] if rows else None

    def open_sessions(self, spaces: Sequence[int]) -> frozenset[str]:
        """Return the names of the sessions that go on in some spaces."""
        return frozenset(name for (name,) in self._rows("sessions_open", spaces=json.dumps(spaces)))

    def tallies(self, spaces: Sequence[int]) -> dict[str, Tally]:
        """Return what happened in some spaces, by name."""
        rows = self._rows("tallies_of", spaces=json.dumps(spaces))
        return {name: Tally(times, amount) for name, times, amount in rows}

    def recall_micros(self, spaces: Sequence[int], limit: int) -> list[int]:
        """Return how long the last recalls took, newest first."""
        return [micros for (micros,) in self._rows("recalls_micros", spaces=json.dumps(spaces), limit=limit)]

    def trim_recalls(self, before: datetime) -> None:
        """Drop the log of what was asked before a moment."""
        with self._connections.writing() as connection:
            connection.execute(SQL["recalls_trim"], {"before": to_micros(before)})

    def given(self, space: int) -> dict[int, int]:
        """Return what a session has in its prompt: memory number -> when it had last changed, in microseconds."""
        return dict(self._rows("given_of", space=space))

    def give(self, space: int, updated: Mapping[int, int]) -> None:
        """Remember that a session was given memories, and when each had last changed."""
        rows = [{"space": space, "no": no, "updated_at": moment} for no, moment in updated.items()]
        with self._connections.writing() as connection:
            connection.executemany(SQL["given_put"], rows)

    def clear_given(self, space: int) -> None:
        """Forget what a session was given: its prompt was cut, or it has ended."""
        with self._connections.writing() as connection:
            connection.execute(SQL["given_clear"], {"space": space})

    def lease(self, name: str, holder: str, now: datetime, until: datetime) -> bool:
        """Take or renew a lease; False when somebody else holds it."""
        values = {"name": name, "holder": holder, "now": to_micros(now), "until": to_micros(until)}
        with self._connections.writing() as connection:
            return connection.execute(SQL["lease_take"], values).fetchone() is not None

    def release(self, name: str, holder: str) -> None:
        """Give a lease back."""
        with self._connections.writing() as connection:
            connection.execute(SQL["lease_drop"], {"name": name, "holder": holder})

    # The ledger

    def written_before(self, spaces: Sequence[int], moment: datetime, after: int, limit: int) -> list[Record]:
        """Return memories that existed at a moment and still have their content, in order of number."""
        values = {"spaces": json.dumps(spaces), "moment": to_micros(moment)}
        return self._records("written_before", after=after, limit=limit, **values)

    def events(self, record: Record) -> list[Event]:
        """Return the history of one memory, oldest first."""
        return [event_of(row) for row in self._rows("events_of", no=record.no)]

    def event(self, spaces: Sequence[int], seq: int) -> tuple[Event, Record] | None:
        """Return one event of a memory in one of the spaces, and that memory as it is now."""
        rows = self._rows("event_get", seq=seq)
        if not rows or rows[0][9] not in spaces:
            return None
        (record,) = self._records("memory_by_no", no=rows[0][8])
        return event_of(rows[0]), record

    def counts(self, spaces: Sequence[int]) -> Counts:
        """Return how much some spaces hold."""
        tiers = {tier: TierCount() for tier in Tier}
        retention = dict.fromkeys(Retention, 0)
        for tier, kept, memories, tokens in self._rows("counts", spaces=json.dumps(spaces)):
            retention[_RETENTIONS[kept]] += memories
            if kept == 0:
                tiers[_TIERS[tier]] = TierCount(memories=memories, tokens=tokens)
        return Counts(tiers=tiers, retention=retention)

    def pending(self, spaces: Sequence[int]) -> int:
        """Return how many visible memories wait for their vectors."""
        return int(self._rows("pending_in", spaces=json.dumps(spaces))[0][0])

    def seq(self) -> int:
        """Return the sequence number of the newest event."""
        return int(self._rows("event_last")[0][0])

    def size(self) -> int:
        """Return the bytes the store takes, without the log of what is not checkpointed yet."""
        with self._connections.reading() as connection:
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            (page_size,) = connection.execute("PRAGMA page_size").fetchone()
        return int(pages * page_size)

    # Writing

    @contextmanager
    def write(self, *, made_by: int | None = None) -> Iterator[SqliteWriting]:
        """Begin a transaction."""
        with self._connections.writing() as connection:
            # Kept apart: if the transaction is taken back, its new numbers may go to other scopes.
            scopes: dict[int, Scope] = {}
            writing = SqliteWriting(
                connection, lambda space: self._scope(connection, space, scopes), self._window_micros, made_by
            )
            yield writing
        if writing.purged:
            self._erase_traces()

    def log_recall(self, entry: RecallEntry, *, keep: bool) -> None:
        """Count the uses of a recall and, if `keep`, log it; never waits for other writers."""
        self._waiting.append((entry, keep))
        self._log_waiting()

    def _log_waiting(self) -> None:
        """Write what waits, unless the store cannot be written now: then the next recall tries again."""
        waiting: list[tuple[RecallEntry, bool]] = []
        try:
            with self._connections.logging() as connection:
                waiting += [self._waiting.popleft() for _ in range(len(self._waiting))]
                self._log_entries(connection, waiting)
        except (StoreBusy, StoreFull, StoreUnavailable) as exc:
            self._waiting.extendleft(reversed(waiting))
            if not isinstance(exc, StoreBusy):
                # What was found is still worth returning, though nobody will know that it was used.
                _log.warning("the uses of a recall could not be counted: %s", exc)

    def _log_entries(self, connection: sqlite3.Connection, waiting: Sequence[tuple[RecallEntry, bool]]) -> None:
        for entry, keep in waiting:
            now = to_micros(entry.at)
            window = now - self._window_micros
            touches = [{"no": no, "now": now, "window": window} for no in entry.touched]
            connection.executemany(SQL["memory_touch"], touches)
            changed = [{"no": no, "relevance": value} for no, value in entry.relevance]
            connection.executemany(SQL["relevance_set"], changed)
            if keep:
                connection.execute(SQL["recall_add"], _recall_row(entry))
                connection.executemany(SQL["tally_add"], _recall_tallies(entry))

    # Embedders and their vectors

    def identity(self) -> Identity | None:
        """Return the embedder whose vectors serve searches, if there is one."""
        with self._connections.reading() as connection:
            return _identity(connection)

    def adopt(self, name: str, dimensions: int) -> Identity:
        """Give an embedder a number; the first one serves at once."""
        with self._connections.writing() as connection:
            (number,) = connection.execute(SQL["embedder_put"], {"name": name, "dimensions": dimensions}).fetchone()
            if _identity(connection) is None:
                connection.execute(SQL["meta_set"], {"key": "embedder", "value": str(number)})
        return Identity(number=number, name=name, dimensions=dimensions)

    def cached(self, digest: str) -> Vectors | None:
        """Return the serving vectors already made for the same content."""
        if not self._rows("vectors_by_digest", digest=bytes.fromhex(digest)):
            return None
        with self._connections.reading() as connection:
            identity = _identity(connection)
            row = connection.execute(SQL["vectors_by_digest"], {"digest": bytes.fromhex(digest)}).fetchone()
            if identity is None or row is None:
                return None
            rows = connection.execute(
                SQL["vectors_between"], vector_range(identity.number, row[0])._asdict()
            ).fetchall()
        return decoded([blob for _, blob in rows], identity.dimensions) if rows else None

    def without_vectors(self, number: int, after: int, limit: int) -> list[tuple[int, str]]:
        """Return (number, content) of memories an embedder has not seen yet."""
        return self._rows("vectors_missing", base=vector_base(number), after=after, limit=limit)

    def count_without_vectors(self, number: int) -> int:
        """Return how many memories an embedder has not seen yet."""
        return int(self._rows("vectors_missing_count", base=vector_base(number))[0][0])

    def sample_vectors(self, limit: int) -> Vectors | None:
        """Return some of the serving vectors, the same ones every time."""
        identity = self.identity()
        if identity is None:
            return None
        base = vector_base(identity.number)
        rows = self._rows("vectors_sample", low=base, high=vector_base(identity.number + 1) - 1, limit=limit)
        return decoded([blob for _, blob in rows], identity.dimensions) if rows else None

    # Notes

    def shelf(self, scope: Scope, shelf: str) -> int | None:
        """Return the number of a shelf of a scope, if it exists."""
        with self._connections.reading() as connection:
            return notes.shelf_of(connection, scope, shelf)

    def roots(self, spaces: Sequence[int]) -> list[RootRow]:
        """Return the folders whose notes are in some spaces."""
        with self._connections.reading() as connection:
            return notes.roots_of(connection, spaces)

    def flush_state(self, space: int) -> tuple[int, bool] | None:
        """Return the cycle that a session was last told to flush in, and whether it may be told again."""
        rows = self._rows("flush_get", space=space)
        return (int(rows[0][0]), bool(rows[0][1])) if rows else None

    def notes(self, space: int) -> list[NoteRow]:
        """Return the files of a space."""
        with self._connections.reading() as connection:
            return notes.notes_of(connection, space)

    def links(self, space: int) -> list[tuple[str, ChunkRow]]:
        """Return the list items of a space's files that are memories of their own, each with its path."""
        with self._connections.reading() as connection:
            return notes.links_of(connection, space, lambda each: self._scope(connection, each, self._scopes))

    def chunk_places(self, nos: Sequence[int]) -> dict[int, ChunkPlace]:
        """Return where memories stand in files."""
        with self._connections.reading() as connection:
            return notes.chunk_places(connection, nos)

    # What doors keep

    def kept(self, drawer: str, now: datetime, key: str | None = None) -> dict[str, str]:
        """Return what a drawer holds by key, or the one thing under a key."""
        if key is None:
            return dict(self._rows("kept_all", drawer=drawer, now=to_micros(now)))
        rows = self._rows("kept_get", drawer=drawer, key=key, now=to_micros(now))
        return {key: rows[0][0]} if rows else {}

    def keep(
        self, drawer: str, key: str, value: str, now: datetime, until: datetime | None, *, replace: bool
    ) -> str | None:
        """Put a thing into a drawer; without `replace`, what is there already stays and is returned."""
        moment = to_micros(now)
        with self._connections.writing() as connection:
            connection.execute(SQL["kept_expire"], {"now": moment})
            there = connection.execute(SQL["kept_get"], {"drawer": drawer, "key": key, "now": moment}).fetchone()
            if there is not None and not replace:
                return str(there[0])
            over = None if until is None else to_micros(until)
            connection.execute(SQL["kept_put"], {"drawer": drawer, "key": key, "value": value, "until": over})
        return None

    def unkeep(self, drawer: str, key: str) -> bool:
        """Take a thing out of a drawer; tell whether it was there."""
        with self._connections.writing() as connection:
            return connection.execute(SQL["kept_drop"], {"drawer": drawer, "key": key}).rowcount > 0

    # Upkeep

    def check(self) -> list[Problem]:
        """Compare everything with everything else and say what does not agree."""
        try:
            with self._connections.reading() as connection:
                problems = check(connection, _identity(connection))
            with self._connections.writing() as connection:
                return problems + check_text_structure(connection)
        except (StoreDamaged, ValueError, LookupError, TypeError, AttributeError) as exc:
            # Pages that cannot be read, or that read back as something no writer writes.
            return [Problem(code="file", detail=f"the file is damaged and could not be read to the end: {exc}")]

    def checkpoint(self, path: Path) -> None:
        """Write a consistent copy while others go on working."""
        with self._connections.reading() as connection:
            copy(connection, path)

    def close(self) -> None:
        """Give up all connections; calling it twice is harmless."""
        with suppress(StoreError):
            if self._waiting:
                self._log_waiting()
        self._bands.close()
        self._connections.close()

    def _erase_traces(self) -> None:
        """After a purge: rewrite the text indexes and empty the log, so that no copy is left."""
        self._bands.forget_files()
        with self._connections.writing() as connection:
            connection.execute(SQL["text_live_optimize"])
            connection.execute(SQL["text_cold_optimize"])
        self._connections.truncate_log()

    # Small steps

    def _rows(self, name: str, /, **values: object) -> list[Any]:
        with self._connections.reading(once=True) as connection:
            return connection.execute(SQL[name], values).fetchall()

    def _records(self, name: str, /, **values: object) -> list[Record]:
        with self._connections.reading(once=True) as connection:
            rows = connection.execute(SQL[name], values).fetchall()
            return [record_of(row, self._scope(connection, row[2], self._scopes)) for row in rows]

    def _scope(self, connection: sqlite3.Connection, space: int, kept: dict[int, Scope]) -> Scope:
        """Return the scope behind a number; the two never change, so they are kept."""
        scope = self._scopes.get(space) or kept.get(space)
        if scope is None:
            scope = scope_of(connection.execute(SQL["space_scope"], {"space": space}).fetchone())
            kept[space] = scope
        return scope

    def _note(self, key: str) -> str | None:
        rows = self._rows("meta_get", key=key)
        return rows[0][0] if rows else None


def _shown(
    connection: sqlite3.Connection,
    name: str,
    spaces: Sequence[int],
    tiers: Sequence[Tier],
    nos: Sequence[int],
    where: Filter,
) -> list[Any]:
    """Return the rows of those memories that scope, tier, retention, expiry and the filter let through."""
    ranks = {tier.rank for tier in tiers}
    rows = [
        row
        for row in connection.execute(SQL[name], {"nos": json.dumps(nos), "now": to_micros(where.now)})
        if row[2] in ranks and row[1] in spaces and (where.kinds is None or row[4] in where.kinds)
    ]
    if where.tags is not None and rows:
        values = {"tags": json.dumps(where.tags), "nos": json.dumps([row[0] for row in rows])}
        tagged = {no for (no,) in connection.execute(SQL["tagged"], values)}
        rows = [row for row in rows if row[0] in tagged]
    return rows


def _ranks(tiers: Iterable[Tier]) -> str:
    return json.dumps([tier.rank for tier in tiers])


def _expired(connection: sqlite3.Connection, spaces: Sequence[int], now: datetime) -> list[int]:
    values = {"now": to_micros(now), "spaces": json.dumps(spaces)}
    return [no for (no,) in connection.execute(SQL["expired"], values)]


def _identity(connection: sqlite3.Connection) -> Identity | None:
    row = connection.execute(SQL["meta_get"], {"key": "embedder"}).fetchone()
    if row is None:
        return None
    name, dimensions = connection.execute(SQL["embedder_by_number"], {"number": int(row[0])}).fetchone()
    return Identity(number=int(row[0]), name=name, dimensions=dimensions)


def _recall_tallies(entry: RecallEntry) -> list[dict[str, object]]:
    """Count the recall, and apart whether it found something, promoted, or looked into cold."""
    counted = {"recall": entry.micros}
    if entry.found:
        counted["recall.hit"] = 0
    if entry.promoted:
        counted["recall.promoted"] = len(entry.promoted)
    if Tier.COLD in entry.tiers:
        counted["recall.cold"] = entry.micros
    space = entry.space or 0
    return [{"space": space, "name": name, "times": 1, "amount": amount} for name, amount in counted.items()]


def _recall_row(entry: RecallEntry) -> dict[str, object]:
    return {
        "at": to_micros(entry.at),
        "space": entry.space,
        "query": entry.query,
        "tiers": " ".join(entry.tiers),
        "micros": entry.micros,
        "best": entry.best,
        "candidates": json.dumps([[no, round(score, 4)] for no, score in entry.candidates], separators=(",", ":")),
        "returned": json.dumps(list(entry.returned)),
        "promoted": json.dumps(list(entry.promoted)),
        "degraded": json.dumps(list(entry.degraded)) if entry.degraded else "",
    }
