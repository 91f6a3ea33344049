"""The part of a store that is the same on every SQL database."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, Generic, Self, TypeVar

from memotherm.errors import LeaseLost
from memotherm.model import Event, Retention, Scope, Tier
from memotherm.model.clock import from_micros, to_micros
from memotherm.model.ids import id_millis
from memotherm.model.process import OwnProcess
from memotherm.model.recall import TimedRecall
from memotherm.model.receipts import KeptReceipt
from memotherm.model.results import LoggedRecall, ScopeCount, TierCount
from memotherm.model.uses import Strength
from memotherm.rules.select import Select
from memotherm.storage import notes
from memotherm.storage.candidates import Candidates, candidate_row
from memotherm.storage.log_writer import Logged, LogWriter
from memotherm.storage.logged import without_purged, write_entries
from memotherm.storage.receipts import receipt_of, timed_recall_of
from memotherm.storage.rows import changes_of, event_of, record_of, scope_of, scope_row
from memotherm.storage.selecting import found_count, found_rows, passing_rows, selected_rows
from memotherm.storage.statements import Row, Statements
from memotherm.storage.transaction import settle_words, words_outdated
from memotherm.storage.values import (
    AdoptionRow,
    ChunkLocation,
    ChunkRow,
    Counts,
    Filter,
    Find,
    Identity,
    LaterUse,
    LogEntry,
    NoteRow,
    RecallEntry,
    Record,
    RootRow,
    ShadowTier,
    Tally,
    TierChange,
    UseRow,
)

__all__ = [
    "MOST_SCOPES",
    "SqlClaim",
    "SqlStore",
    "any_expired",
    "identity_of",
    "visible_rows",
]

PartStore = TypeVar("PartStore", bound="SqlStore")

_TIERS = tuple(Tier)
#: At this time, nothing has expired.
_FIRST_MOMENT = 0
_RETENTIONS = tuple(Retention)
_MICROS_PER_DAY = 86_400_000_000
#: Larger than any number of a memory or an event.
_EVERY = 1 << 62
#: How many scopes are cached, and how many spaces whose scope is.
MOST_SCOPES = 10_000


class _Shared:
    """What all views of a store know together."""

    def __init__(self, window_micros: int) -> None:
        #: The time in which uses count as recent.
        self.window_micros = window_micros
        #: The number of the last adoption of a policy that was seen; a replica may still show an earlier one.
        self.adopted = 0
        #: The hash of the policy in the shadow; empty without one.
        self.shadow = ""

    def saw(self, adopted: int) -> None:
        """Note the number of an adoption that was read."""
        self.adopted = max(self.adopted, adopted)


class SqlClaim(Generic[PartStore]):
    """A claim that is one row of a table."""

    def __init__(
        self, store: PartStore, statement: str, row: Mapping[str, object], now: Callable[[], datetime], term: timedelta
    ) -> None:
        #: The part of the store, restricted by this claim.
        self.store = store
        self._statement = statement
        self._row = row
        self._now = now
        self._term = term
        store.claim = self

    def renew(self) -> bool:
        """Extend the claim by its term; return False if another holder has it."""
        with self.store._marking() as statements:
            return self._renewed(statements)

    def require(self, statements: Statements) -> None:
        """Renew the claim inside a transaction, or raise `LeaseLost`."""
        if not self._renewed(statements):
            raise LeaseLost(f"another process has taken over {self._row['name']!r}: its lease had expired")

    def _renewed(self, statements: Statements) -> bool:
        until = to_micros(self._now() + self._term)
        return statements.row(self._statement, **self._row, until=until) is not None


class SqlStore(ABC):
    """The part of `Store` that is the same in SQL everywhere."""

    #: The tenant that this view of the store is for; None for all tenants.
    tenant: str | None = None
    #: The claim that restricts the writes of this view of the store.
    claim: SqlClaim[Any] | None = None

    def __init__(
        self, name: str, schema: int, use_window_days: float, scopes: dict[int, Scope], *, log_at_once: bool = False
    ) -> None:
        self.name = name
        self._process = OwnProcess(name)
        self.schema = schema
        self._shared = _Shared(int(use_window_days * _MICROS_PER_DAY))
        self._scopes = scopes
        self._log = LogWriter(self._process, self._write_log, threaded=not log_at_once)

    def _view(self) -> Self:
        """Return another object for the same store, which shares its connections and caches."""
        view = object.__new__(type(self))
        view.__dict__.update(self.__dict__)
        return view

    @abstractmethod
    def _reading(self, *, once: bool = False, logged: bool = True) -> AbstractContextManager[Statements]:
        """Return statements that all see one state of the store; `once` for a single statement.

        With `logged`, and outside a snapshot, they see the log and the uses of all recalls before.
        """

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Statements]:
        """Return statements in one transaction that excludes other writers."""

    @abstractmethod
    def _marking(self, *, join: bool = False) -> AbstractContextManager[Statements]:
        """Return statements in a transaction that does not exclude other writers, or in one that waits (`join`)."""

    @abstractmethod
    def _logging(self) -> AbstractContextManager[Statements]:
        """Return statements in a transaction that does not wait for locks but raises StoreBusy."""

    @abstractmethod
    def _made_by(self, number: int) -> dict[str, object]:
        """Return the statement parameter that selects an embedder's vectors."""

    # Reading

    def spaces(self, scope: Scope) -> tuple[int, ...]:
        """Return the spaces whose memories a scope can see."""
        rows = self._visible_spaces(scope)
        if rows:
            self._shared.saw(rows[0][1])
        return tuple(row[0] for row in rows)

    def _visible_spaces(self, scope: Scope) -> list[Row]:
        return self._unlogged_rows("spaces_visible", **scope_row(scope))

    def spaces_within(self, scope: Scope) -> tuple[int, ...]:
        """Return the spaces that lie inside a scope: equal to it or narrower."""
        return tuple(space for (space,) in self._unlogged_rows("spaces_within", **scope_row(scope)))

    def scopes(self, spaces: Sequence[int]) -> list[ScopeCount]:
        """Return what each of the scopes of some spaces holds, without empty ones, in the order of their fields."""
        found = []
        for fields, rows in groupby(self._rows("scopes_within", spaces=list(spaces)), lambda row: row[:6]):
            tiers, hidden = {tier: TierCount() for tier in Tier}, 0
            for tier, retention, memories, tokens in (row[6:] for row in rows):
                if _RETENTIONS[retention] is Retention.ACTIVE:
                    tiers[_TIERS[tier]] = TierCount(memories=memories, tokens=tokens)
                else:
                    hidden += memories
            found.append(ScopeCount(scope=scope_of(fields), tiers=tiers, hidden=hidden))
        return found

    def get(self, spaces: Sequence[int], memory_id: str) -> Record | None:
        """Return a memory that lies in one of the spaces."""
        records = self._records("memory_by_id", id=memory_id)
        return next((record for record in records if record.space in spaces), None)

    def with_key(self, spaces: Sequence[int], key: str, now: datetime) -> list[Record]:
        """Return the visible memories of some spaces with a key, one for each scope that has it."""
        return self._records("memories_with_key", spaces=list(spaces), key=key, now=to_micros(now))

    def keys(self, spaces: Sequence[int], first: str, last: str, now: datetime, limit: int) -> list[str]:
        """Return the distinct keys of visible memories from `first` to before `last`, in the order of their UTF-8."""
        values = {"spaces": list(spaces), "first": first, "last": last, "now": to_micros(now), "limit": limit}
        return [key for (key,) in self._rows("keys", **values)]

    def ids(self, spaces: Sequence[int], prefix: str, limit: int) -> list[str]:
        """Return the ids that begin with a prefix, in order."""
        # No id has a character above the tilde.
        rows = self._rows("ids_from", low=prefix, high=f"{prefix}~", spaces=list(spaces), limit=limit)
        return [memory_id for (memory_id,) in rows]

    def find(self, spaces: Sequence[int], find: Find) -> list[Record]:
        """Return a page of memories in the order of the listing."""
        with self._reading(once=True) as statements:
            in_order = self._reads_in_order(statements, spaces, find)
            return self._converted(statements, found_rows(statements, spaces, find, in_order=in_order))

    def count(self, spaces: Sequence[int], find: Find) -> int:
        """Return how many memories a listing has, on all its pages."""
        with self._reading(once=True) as statements:
            in_order = self._reads_in_order(statements, spaces, find)
            return found_count(statements, spaces, find, in_order=in_order)

    def _reads_in_order(self, statements: Statements, spaces: Sequence[int], find: Find) -> bool:  # noqa: ARG002
        """Return whether a page is found sooner by reading the table in its own order than by an index."""
        return False

    def records(self, nos: Sequence[int]) -> Mapping[int, Record]:
        """Return memories by number, as they are now."""
        with self._reading(once=True) as statements:
            rows = self._current(statements, self._memory_rows(statements, nos))
            scopes = {space: self._scope(statements, space, self._scopes) for space in {row[2] for row in rows}}
            return {row[0]: record_of(row, scopes[row[2]]) for row in rows}

    def _memory_rows(self, statements: Statements, nos: Sequence[int]) -> list[Row]:
        return statements.rows("memories_of", nos=list(nos))

    def pinned(self, spaces: Sequence[int], now: datetime) -> list[Record]:
        """Return the visible pinned memories, oldest first."""
        return self._records("pinned", spaces=list(spaces), now=to_micros(now))

    def candidates(self, spaces: Sequence[int], tiers: Sequence[Tier], nos: Sequence[int], where: Filter) -> Candidates:
        """Return those of some memories that scope, tiers, retention and filter let through."""
        with self._reading(once=not where.selective) as statements:
            rows = visible_rows(statements, "candidates", spaces, tiers, nos, where)
            candidates = Candidates.of(map(candidate_row, rows))
            candidates.add_uses(statements.waiting)
            return candidates

    def active(self, nos: Sequence[int]) -> Candidates:
        """Return those of some memories that are active, in any space and tier: the turns before a message."""
        return Candidates.of(map(candidate_row, self._rows("candidates", nos=list(nos), now=_FIRST_MOMENT)))

    def select(self, spaces: Sequence[int], selects: Select, now: datetime, after: int, limit: int) -> list[Record]:
        """Return the memories that a rule looks at, in order of number, a page at a time."""
        with self._reading(once=True) as statements:
            return self._converted(statements, selected_rows(statements, spaces, selects, now, after, limit))

    # Sessions and counters

    def list_tier(self, space: int, tier: Tier, now: datetime, limit: int) -> list[Record]:
        """Return the visible memories of one space in one tier, newest first."""
        return self._records("tier_list", space=space, tier=tier.rank, now=to_micros(now), limit=limit)

    def count_tier(self, space: int, tier: Tier, now: datetime) -> TierCount:
        """Return how many visible memories one space has in one tier, and their tokens."""
        ((memories, tokens),) = self._rows("tier_tokens", space=space, tier=tier.rank, now=to_micros(now))
        return TierCount(memories=memories, tokens=tokens)

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

    def tallies(self, spaces: Sequence[int]) -> dict[str, Tally]:
        """Return the counters of some spaces, by name."""
        rows = self._rows("tallies_of", spaces=list(spaces))
        return {name: Tally(times, amount) for name, times, amount in rows}

    def recall_micros(self, spaces: Sequence[int], limit: int) -> list[int]:
        """Return the durations of the last recalls in microseconds, newest first."""
        return [micros for (micros,) in self._rows("recalls_micros", spaces=list(spaces), limit=limit)]

    def trim_recalls(self, before: datetime) -> None:
        """Delete the log entries of recalls before a time."""
        with self._writing() as statements:
            statements.run("recalls_trim", before=to_micros(before))
            statements.run("uses_trim", before=to_micros(before))

    def receipts(self, spaces: Sequence[int], past: int | None, limit: int) -> list[KeptReceipt]:
        """Return receipts of contexts in some spaces, newest first; `past` = only with a smaller number."""
        with self._reading(once=True) as statements:
            values = {"spaces": list(spaces), "past": _EVERY if past is None else past, "limit": limit}
            rows = statements.rows("receipts_before", **values)
            return [receipt_of(row, self._scope(statements, row[2], self._scopes)) for row in rows]

    def receipts_of(self, spaces: Sequence[int], memory_id: str, limit: int) -> list[KeptReceipt]:
        """Return the last receipts of contexts in some spaces that name a memory, newest first."""
        with self._reading(once=True) as statements:
            rows = statements.rows("receipts_of", spaces=list(spaces), id=memory_id, limit=limit)
            return [receipt_of(row, self._scope(statements, row[2], self._scopes)) for row in rows]

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
        with self._writing() as statements:
            statements.run("receipts_trim", before=to_micros(before))

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

    def lease(self, name: str, holder: str, now: datetime, until: datetime) -> bool:
        """Take or renew a lease; return False if another holder has it."""
        times = {"now": to_micros(now), "until": to_micros(until), "late": to_micros(until + (until - now))}
        with self._marking() as statements:
            return statements.row("lease_take", name=name, holder=holder, **times) is not None

    def release(self, name: str, holder: str) -> None:
        """Release a lease."""
        with self._marking() as statements:
            statements.run("lease_drop", name=name, holder=holder)

    # The ledger

    def written_before(self, spaces: Sequence[int], moment: datetime, after: int, limit: int) -> list[Record]:
        """Return memories that existed at a moment and still have their content, in order of number."""
        values = {"spaces": list(spaces), "moment": to_micros(moment)}
        return self._records("written_before", after=after, limit=limit, **values)

    def events(self, record: Record) -> list[Event]:
        """Return the history of one memory, oldest first."""
        return [event_of(row) for row in self._rows("events_of", no=record.no)]

    def event(self, spaces: Sequence[int], seq: int) -> tuple[Event, Record] | None:
        """Return one event of a memory in one of the spaces, and that memory as it is now."""
        rows = self._rows("event_get", seq=seq)
        if not rows or rows[0][10] not in spaces:
            return None
        (record,) = self._records("memory_by_no", no=rows[0][9])
        return event_of(rows[0]), record

    def ledger(self, spaces: Sequence[int], past: int | None, limit: int, *, oldest_first: bool) -> list[Event]:
        """Return events of memories in some spaces, including purged ones, in ascending or descending order."""
        name, begin = ("events_after", 0) if oldest_first else ("events_before", _EVERY)
        rows = self._rows(name, spaces=list(spaces), past=begin if past is None else past, limit=limit)
        return [event_of(row) for row in rows]

    def tier_changes(self, spaces: Sequence[int], since: datetime) -> list[TierChange]:
        """Return the events of memories in some spaces since a moment, newest first, with where they are now."""
        rows = self._rows("tier_changes", spaces=list(spaces), since=to_micros(since))
        return [
            TierChange(no, from_micros(at), changes_of(changes), _TIERS[tier], _RETENTIONS[retention])
            for no, at, changes, tier, retention in rows
        ]

    def counts(self, spaces: Sequence[int], now: datetime) -> Counts:
        """Return the number of memories and tokens in some spaces; expired memories count as deleted."""
        tiers = {tier: TierCount() for tier in Tier}
        retention = dict.fromkeys(Retention, 0)
        with self._reading() as statements:
            counted = statements.rows("counts", spaces=list(spaces))
            expired_counts = statements.rows("counts_expired", spaces=list(spaces), now=to_micros(now))
        for tier, rank, memories, tokens in counted:
            retention[_RETENTIONS[rank]] += memories
            if _RETENTIONS[rank] is Retention.ACTIVE:
                tiers[_TIERS[tier]] = TierCount(memories=memories, tokens=tokens)
        for tier, memories, tokens in expired_counts:
            count = tiers[_TIERS[tier]]
            tiers[_TIERS[tier]] = TierCount(memories=count.memories - memories, tokens=count.tokens - tokens)
            retention[Retention.ACTIVE] -= memories
            retention[Retention.DELETED] += memories
        return Counts(tiers=tiers, retention=retention)

    def pending(self, spaces: Sequence[int]) -> int:
        """Return the number of visible memories without vectors."""
        return int(self._unlogged_rows("pending_in", spaces=list(spaces))[0][0])

    def seq(self) -> int:
        """Return the sequence number of the newest event."""
        return int(self._unlogged_rows("event_last")[0][0])

    # Policies

    @property
    def adopted(self) -> int:
        """The number of the last adoption that a read or a transaction of this process has seen."""
        return self._shared.adopted

    def adoptions(self) -> list[AdoptionRow]:
        """Return the policies that were adopted and rolled back, in order."""
        names = ("number", "at", "actor", "action", "name", "hash", "document")
        rows = [dict(zip(names, row, strict=True)) for row in self._unlogged_rows("adoptions")]
        if rows:
            self._shared.saw(rows[-1]["number"])
        return [AdoptionRow(**{**row, "at": from_micros(row["at"])}) for row in rows]

    def set_shadow(self, policy: str) -> None:
        """Let the log of recalls count what the policy with a hash would have had cold."""
        self._shared.shadow = policy

    def shadow_tiers(self, spaces: Sequence[int], policy: str) -> dict[int, ShadowTier]:
        """Return the tiers in which a policy in the shadow would have memories of some spaces, by number."""
        rows = self._rows("shadow_tiers_of", spaces=list(spaces), policy=policy)
        return {no: ShadowTier(no, _TIERS[tier], rule, from_micros(since)) for no, tier, rule, since in rows}

    def shadow_counts(self, spaces: Sequence[int], policy: str) -> dict[tuple[Tier, Tier], TierCount]:
        """Return how many active memories a policy in the shadow would have in another tier: (its tier, the real)."""
        rows = self._rows("shadow_counts", spaces=list(spaces), policy=policy)
        return {
            (_TIERS[shadow], _TIERS[real]): TierCount(memories=memories, tokens=tokens)
            for shadow, real, memories, tokens in rows
        }

    def set_use_window(self, days: float) -> None:
        """Set the days in which uses count as recent."""
        self._shared.window_micros = int(days * _MICROS_PER_DAY)

    # The log of recalls

    def log_recall(self, entry: RecallEntry, *, keep: bool) -> None:
        """Count the uses of a recall, keep its receipt, and, with `keep`, log it; it is written a moment later."""
        self._log.add(Logged(entry, keep, self._log_tenant))

    @property
    def _log_tenant(self) -> str | None:
        """The tenant whose log this view of the store writes, if each has its own transactions."""
        return None

    def _write_log(
        self, _tenant: str | None, waiting: Sequence[Logged], committing: AbstractContextManager[None]
    ) -> None:
        """Write entries in one transaction; it is committed inside a context."""
        with ExitStack() as transaction:
            statements = transaction.enter_context(self._logging())
            self._log_entries(statements, without_purged(statements, waiting))
            with committing:
                transaction.close()

    def _log_entries(self, statements: Statements, entries: Sequence[Logged]) -> None:
        write_entries(statements, entries, self._shared.window_micros, self._shared.shadow)

    def log_entries(self, spaces: Sequence[int], after: int, limit: int) -> list[LogEntry]:
        """Return entries of the recall log with a greater number than `after`, in order of number."""
        return [_log_entry(row) for row in self._rows("recalls_after", spaces=list(spaces), after=after, limit=limit)]

    def timed_recalls(self, spaces: Sequence[int], limit: int, *, slowest: bool) -> list[TimedRecall]:
        """Return queries of the recall log, slowest or newest first."""
        with self._reading(once=True) as statements:
            query = "recalls_slowest" if slowest else "recalls_newest"
            rows = statements.rows(query, spaces=list(spaces), limit=limit)
            return [timed_recall_of(row, self._scope(statements, row[2], self._scopes)) for row in rows]

    def logged_recall(self, spaces: Sequence[int], recall_id: str) -> LogEntry | None:
        """Return the entry of the recall log with an id, if its space is among some."""
        millis = id_millis(recall_id)
        times = {"first": millis * 1000, "last": millis * 1000 + 999}
        rows = self._rows("recall_by_id", spaces=list(spaces), id=recall_id, **times)
        return _log_entry(rows[0]) if rows else None

    def recent_recalls(self, spaces: Sequence[int], since: datetime, until: datetime, limit: int) -> list[LogEntry]:
        """Return the last recalls of a period in some spaces, newest first."""
        period = {"since": to_micros(since), "until": to_micros(until)}
        return [_log_entry(row) for row in self._rows("recalls_recent", spaces=list(spaces), limit=limit, **period)]

    def later_uses(self, spaces: Sequence[int]) -> list[UseRow]:
        """Return the uses that followed recalls in some spaces, in order of time."""
        rows = self._rows("uses_of", spaces=list(spaces))
        return [UseRow(recall, no, Strength(strength), from_micros(at)) for recall, no, strength, at in rows]

    def log_later_use(self, later: LaterUse) -> None:
        """Record and count a use that followed a recall; never wait for other writers."""
        self._log.add(Logged(later, keep=False, tenant=self._log_tenant))

    # Embedders and their vectors

    def identity(self, name: str | None = None) -> Identity | None:
        """Return the embedder that serves searches, or the one with a name; None if there is none."""
        if name is None:
            return _identity(self._unlogged_rows("embedder_serving"))
        rows = self._unlogged_rows("embedder_by_name", name=name)
        return Identity(number=rows[0][0], name=name, dimensions=rows[0][1]) if rows else None

    def without_vectors(self, number: int, after: int, limit: int) -> list[tuple[int, str]]:
        """Return (number, content) of memories without vectors of an embedder."""
        rows = self._rows("vectors_missing", **self._made_by(number), after=after, limit=limit)
        return [(no, content) for no, content in rows]

    def digests_with_vectors(self, digests: Collection[str]) -> Collection[str]:
        """Return those of some digests for which `cached_vectors` may return vectors: all, as asking it is cheap."""
        return digests

    def count_without_vectors(self, number: int) -> int:
        """Return the number of memories without vectors of an embedder."""
        return int(self._rows("vectors_missing_count", **self._made_by(number))[0][0])

    # Notes

    def collection(self, scope: Scope, collection: str) -> int | None:
        """Return the number of a collection of a scope, if it exists."""
        with self._reading(once=True) as statements:
            return notes.collection_number(statements, scope, collection)

    def roots(self, spaces: Sequence[int]) -> list[RootRow]:
        """Return the folders whose notes are in some spaces."""
        with self._reading(once=True) as statements:
            return notes.roots_of(statements, spaces)

    def flush_state(self, space: int) -> tuple[int, bool] | None:
        """Return the last cycle in which a session was prompted to flush, and whether it may be prompted again."""
        rows = self._rows("flush_get", space=space)
        return (int(rows[0][0]), bool(rows[0][1])) if rows else None

    def notes(self, space: int) -> list[NoteRow]:
        """Return the files of a space."""
        with self._reading(once=True) as statements:
            return notes.notes_of(statements, space)

    def links(self, space: int) -> list[tuple[str, ChunkRow]]:
        """Return the list items of a space's files that are memories of their own, each with its path."""
        with self._reading() as statements:
            return notes.links_of(statements, space, lambda number: self._scope(statements, number, self._scopes))

    def misplaced_notes(self, space: int) -> list[str]:
        """Return the paths of a space's files with a chunk whose memory is in another space."""
        with self._reading(once=True) as statements:
            return notes.misplaced_notes(statements, space)

    def chunk_locations(self, nos: Sequence[int]) -> dict[int, ChunkLocation]:
        """Return the files and lines of memories."""
        with self._reading(once=True) as statements:
            return notes.chunk_locations(statements, nos)

    # Key-value pairs

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
        with self._marking(join=True) as statements:
            statements.run("values_expire", now=moment)
            if replace:
                statements.run("value_put", **row)
                return None
            claimed = statements.row("value_claim", **row)
            return None if claimed else str(statements.value("value_get", namespace=namespace, key=key, now=moment))

    def delete_value(self, namespace: str, key: str) -> bool:
        """Delete a value and return whether it existed."""
        with self._marking() as statements:
            return statements.row("value_delete", namespace=namespace, key=key) is not None

    # Helpers

    def _rebuild_if_outdated(self, rebuild: Callable[[Any], None]) -> None:
        """Rebuild the text index if it was built with another version of the tokenizer."""
        with self._reading(once=True) as statements:
            if not words_outdated(statements):
                return
        with self._writing() as statements:
            if words_outdated(statements):
                rebuild(statements)
                settle_words(statements)

    def _rows(self, name: str, /, **values: object) -> list[Row]:
        with self._reading(once=True) as statements:
            return statements.rows(name, **values)

    def _unlogged_rows(self, name: str, /, **values: object) -> list[Row]:
        """Return rows that do not depend on the log or on uses, so that nothing needs to be logged before."""
        with self._reading(once=True, logged=False) as statements:
            return statements.rows(name, **values)

    def _records(self, name: str, /, **values: object) -> list[Record]:
        with self._reading(once=True) as statements:
            return self._converted(statements, statements.rows(name, **values))

    def _converted(self, statements: Statements, rows: Sequence[Row]) -> list[Record]:
        current = self._current(statements, rows)
        return [record_of(row, self._scope(statements, row[2], self._scopes)) for row in current]

    def _current(self, statements: Statements, rows: Sequence[Row]) -> Sequence[Row]:
        """Return rows of memories with the uses that a snapshot does not see."""
        waiting = statements.waiting
        return [waiting.counted_in(row, self._shared.window_micros) for row in rows] if waiting else rows

    def _scope(self, statements: Statements, space: int, cache: dict[int, Scope]) -> Scope:
        """Return the scope of a space; it never changes, so it is cached."""
        scope = self._scopes.get(space) or cache.get(space)
        if scope is None:
            if len(cache) >= MOST_SCOPES:
                cache.clear()
            ((*fields,),) = statements.rows("space_scope", space=space)
            scope = cache[space] = scope_of(fields)
        return scope


def visible_rows(
    statements: Statements,
    name: str,
    spaces: Sequence[int],
    tiers: Sequence[Tier],
    nos: Sequence[int],
    where: Filter,
) -> list[Row]:
    """Return the rows of those memories that scope, tier, retention, expiry and the filter let through."""
    ranks = {tier.rank for tier in tiers}
    rows = statements.rows(name, nos=list(nos), now=to_micros(where.now))
    return passing_rows(statements, [row for row in rows if row[2] in ranks and row[1] in spaces], where)


def any_expired(statements: Statements, spaces: Sequence[int], now: datetime) -> bool:
    """Return whether there are expired memories that maintenance has not processed yet."""
    return bool(statements.value("expired", now=to_micros(now), spaces=list(spaces)))


def identity_of(statements: Statements) -> Identity | None:
    """Return the embedder that serves searches, if there is one."""
    return _identity(statements.rows("embedder_serving"))


def _identity(rows: Sequence[Row]) -> Identity | None:
    """Return the embedder of a row of the statement `embedder_serving`."""
    return Identity(number=rows[0][0], name=rows[0][1], dimensions=rows[0][2]) if rows else None


def _log_entry(row: Row) -> LogEntry:
    """Return the entry of a row of the recall log."""
    number, at, space, query, tiers, returned, options, recall_id = row
    return LogEntry(
        number=number,
        at=from_micros(at),
        space=space,
        query=query,
        tiers=tuple(Tier(tier) for tier in tiers.split()),
        returned=tuple(json.loads(returned)),
        options=json.loads(options) if options else {},
        id=recall_id,
    )
