"""Memories, the ledger and vectors of a store: reading and listing them."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING

from memotherm.model import Event, Memory, Retention, Scope, Tier
from memotherm.model.clock import from_micros, to_micros
from memotherm.model.marks import OUTDATED, PERHAPS_OUTDATED
from memotherm.model.results import ScopeCount, TierCount
from memotherm.storage.base import Expected, StoreBase
from memotherm.storage.filters import found_count, found_kinds, found_rows
from memotherm.storage.rows import RETENTIONS, TIERS, changes_of, event_of, scope_of, scope_row
from memotherm.storage.selections import selected_rows
from memotherm.storage.statements import Row, Statements, identity_in
from memotherm.storage.tombstones import Tombstones
from memotherm.storage.values import (
    EVERY_EVENT,
    ClaimRow,
    Counts,
    EventFilter,
    Identity,
    Record,
    Search,
    Succession,
    TierChange,
)
from memotherm.tiers.rules import Select, Situation
from memotherm.tiers.rules.rule import Selector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memotherm.model.reports import Batch

    Vectors = NDArray[np.float32]

#: Larger than any number of a memory or an event.
_EVERY = 1 << 62
#: How many memories of a selection are read at once.
_SELECTED = 5000


class MemoryStore(StoreBase):
    """The part of a store that reads memories. `spaces` are the numbers of the visible scopes."""

    # Memories

    def spaces(self, scope: Scope) -> tuple[int, ...]:
        """Return the spaces whose memories a scope can see."""
        with self._reading(once=True, logged=False, expected={"spaces_visible": scope_row(scope)}) as statements:
            return self._seen(self._visible_rows(statements, scope))

    def visible(self, scope: Scope) -> tuple[tuple[int, ...], Identity | None]:
        """Return the spaces whose memories a scope can see, and the embedder that serves searches, in one read."""
        expected: Expected = {"spaces_visible": scope_row(scope), "embedder_serving": {}}
        with self._reading(once=True, logged=False, expected=expected) as statements:
            return self._seen(self._visible_rows(statements, scope)), statements.embedder()

    def _visible_rows(self, statements: Statements, scope: Scope) -> list[Row]:
        return statements.rows("spaces_visible", **scope_row(scope))

    def _seen(self, rows: Sequence[Row]) -> tuple[int, ...]:
        """Return the spaces of rows of `spaces_visible`, and note the last adoption."""
        if rows:
            self._saw(rows[0][1])
        return tuple(row[0] for row in rows)

    def spaces_within(self, scope: Scope) -> tuple[int, ...]:
        """Return the spaces that lie inside a scope: equal to it or narrower."""
        return tuple(space for (space,) in self._unlogged_rows("spaces_within", **scope_row(scope)))

    @contextmanager
    def tombstones(self) -> Iterator[Tombstones]:
        """Return the tombstones for reading, outside of a transaction that writes."""
        with self._reading(logged=False) as statements:
            yield Tombstones(statements, exist=bool(statements.value("tombstones_exist")))

    def scopes(self, spaces: Sequence[int]) -> list[ScopeCount]:
        """Return what each of the scopes of some spaces holds, without empty ones, in the order of their fields."""
        found = []
        for fields, rows in groupby(self._rows("scopes_within", spaces=list(spaces)), lambda row: row[:6]):
            tiers, hidden = {tier: TierCount() for tier in Tier}, 0
            for tier, retention, memories, tokens in (row[6:] for row in rows):
                if RETENTIONS[retention] is Retention.ACTIVE:
                    tiers[TIERS[tier]] = TierCount(memories=memories, tokens=tokens)
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

    def ids(self, spaces: Sequence[int], part: str, limit: int) -> list[str]:
        """Return the ids that begin with a text, or end with letters and digits, in order."""
        # No id has a character above the tilde.
        rows = self._rows("ids_from", low=part, high=f"{part}~", spaces=list(spaces), limit=limit)
        if not rows and part.isalnum():
            rows = self._rows("ids_ending", pattern=f"%{part.lower()}", spaces=list(spaces), limit=limit)
        return [memory_id for (memory_id,) in rows]

    def find(self, search: Search) -> list[Record]:
        """Return a page of memories in the order of the listing."""
        with self._reading(once=True) as statements:
            in_order = self._reads_in_order(statements, search)
            return self._converted(statements, found_rows(statements, search, in_order=in_order))

    def each(self, search: Search) -> Iterator[Record]:
        """Yield the memories of all pages of a listing, newest first."""
        page = self.find(search)
        while page:
            yield from page
            search = replace(search, before=page[-1].no)
            page = self.find(search) if len(page) == search.limit else []

    def count(self, search: Search) -> int:
        """Return how many memories a listing has, on all its pages."""
        with self._reading(once=True) as statements:
            return found_count(statements, search, in_order=self._reads_in_order(statements, search))

    def kinds(self, search: Search) -> dict[str, int]:
        """Return how many memories of each kind a listing has, on all its pages."""
        with self._reading(once=True) as statements:
            return found_kinds(statements, search, in_order=self._reads_in_order(statements, search))

    def _reads_in_order(self, statements: Statements, search: Search) -> bool:  # noqa: ARG002
        """Return whether a page is found sooner by reading the table in its own order than by an index."""
        return False

    def records(self, nos: Sequence[int]) -> Mapping[int, Record]:
        """Return memories by number, as they are now."""
        with self._reading(once=True) as statements:
            rows = statements.rows("memories_of", nos=list(nos))
            return {record.no: record for record in self._converted(statements, rows)}

    def successors(self, nos: Sequence[int], others: Sequence[int], now: datetime) -> list[Succession]:
        """Return those of some memories that others have superseded, or perhaps superseded."""
        rows = self._unlogged_rows("successors", nos=list(nos), others=list(others), now=to_micros(now))
        found = []
        for no, successor, successor_id, ended, metadata, content in rows:
            named = json.loads(metadata)
            parts = {**named.get(OUTDATED, {}), **named.get(PERHAPS_OUTDATED, {})}
            own = tuple(part for part, by in parts.items() if by == successor_id)
            found.append(Succession(no, successor, () if ended or "" in own else own, content))
        return found

    def disputed_claims(
        self, spaces: Sequence[int], ids: Sequence[str], most_values: int, most_outlined: int
    ) -> list[ClaimRow]:
        """Return the claims about what not all active memories of some spaces say the same of, newest first.

        If there are `ids`, it is only about what these memories claim. Left out are slots that have more values in each
        of the spaces, and outlines that more claims have.
        """
        values = {"ids": list(ids), "every": int(not ids), "most_values": most_values, "most_outlined": most_outlined}
        return [ClaimRow(*row) for row in self._unlogged_rows("claims_disputed", spaces=list(spaces), **values)]

    def select(
        self,
        spaces: Sequence[int],
        selects: Select,
        situation: Situation,
        after: int = 0,
        limit: int = _EVERY,
        read: Sequence[Memory] | None = None,
    ) -> list[Record]:
        """Return the memories that a rule looks at, in order of number, a page at a time.

        Of memories that a recall has `read`, nothing but their uses may be newer than in the store; so nothing has to
        be written before.
        """
        with self._reading(once=True, logged=read is None) as statements:
            rows = selected_rows(statements, spaces, selects, situation, after, limit, read)
            return self._converted(statements, rows)

    def selector(self, spaces: Sequence[int], read: Sequence[Memory] | None = None) -> Selector:
        """Return the function that selects memories of some spaces, a page at a time."""

        def selected(selects: Select, situation: Situation) -> Iterator[Memory]:
            after = 0
            while page := self.select(spaces, selects, situation, after, _SELECTED, read):
                yield from (record.memory for record in page)
                if len(page) < _SELECTED:
                    return
                after = page[-1].no

        return selected

    def list_tier(self, space: int, tier: Tier, now: datetime, limit: int) -> list[Record]:
        """Return the visible memories of one space in one tier, newest first."""
        return self._records("tier_list", space=space, tier=tier.rank, now=to_micros(now), limit=limit)

    def counts(self, spaces: Sequence[int], now: datetime) -> Counts:
        """Return the number of memories and tokens in some spaces; expired memories count as deleted."""
        tiers = {tier: TierCount() for tier in Tier}
        retention = dict.fromkeys(Retention, 0)
        with self._reading() as statements:
            counted = statements.rows("counts", spaces=list(spaces))
            expired_counts = statements.rows("counts_expired", spaces=list(spaces), now=to_micros(now))
        for tier, rank, memories, tokens in counted:
            retention[RETENTIONS[rank]] += memories
            if RETENTIONS[rank] is Retention.ACTIVE:
                tiers[TIERS[tier]] = TierCount(memories=memories, tokens=tokens)
        for tier, memories, tokens in expired_counts:
            count = tiers[TIERS[tier]]
            tiers[TIERS[tier]] = TierCount(memories=count.memories - memories, tokens=count.tokens - tokens)
            retention[Retention.ACTIVE] -= memories
            retention[Retention.DELETED] += memories
        return Counts(tiers=tiers, retention=retention)

    # The ledger

    def written_before(self, spaces: Sequence[int], moment: datetime, after: int, limit: int) -> list[Record]:
        """Return memories that existed at a moment and still have their content, in order of number."""
        values = {"spaces": list(spaces), "moment": to_micros(moment)}
        return self._records("written_before", after=after, limit=limit, **values)

    def events(self, record: Record) -> list[Event]:
        """Return the history of one memory, oldest first."""
        return [event_of(row) for row in self._rows("events_of", nos=[record.no])]

    def histories(self, nos: Sequence[int]) -> dict[str, list[Event]]:
        """Return the histories of memories, oldest event first, by id."""
        found: dict[str, list[Event]] = {}
        for event in map(event_of, self._rows("events_of", nos=list(nos))):
            found.setdefault(event.memory_id, []).append(event)
        return found

    def event(self, spaces: Sequence[int], seq: int) -> tuple[Event, Record] | None:
        """Return one event of a memory in one of the spaces, and that memory as it is now."""
        rows = self._rows("event_get", seq=seq)
        if not rows or rows[0][10] not in spaces:
            return None
        (record,) = self._records("memory_by_no", no=rows[0][9])
        return event_of(rows[0]), record

    def ledger(
        self,
        spaces: Sequence[int],
        past: int | None,
        limit: int,
        where: EventFilter = EVERY_EVENT,
        *,
        oldest_first: bool,
    ) -> list[Event]:
        """Return events of memories in some spaces, including purged ones, in ascending or descending order."""
        values = {"spaces": list(spaces), "limit": limit, **where._asdict()}
        if oldest_first:
            return [event_of(row) for row in self._events_after(past=past or 0, **values)]
        return [event_of(row) for row in self._rows("events_before", past=_EVERY if past is None else past, **values)]

    def _events_after(self, **values: object) -> list[Row]:
        return self._rows("events_after", **values)

    def changed_between(self, spaces: Sequence[int], after: datetime, until: datetime) -> bool:
        """Return whether memories of some spaces were created or changed after a moment and up to another."""
        values = {"spaces": list(spaces), "after": to_micros(after), "until": to_micros(until)}
        return bool(self._rows("changed_between", **values)[0][0])

    def batches(self, spaces: Sequence[int], prefix: str) -> list[Batch]:
        """Return what actors whose names begin with a prefix have stored in some spaces, newest first."""
        from memotherm.model.reports import Batch

        values = {"spaces": list(spaces), "name": f"{prefix}%", "deleted": RETENTIONS.index(Retention.DELETED)}
        return [
            Batch(name=name, at=from_micros(at), stored=stored, left=int(left))
            for name, at, stored, left in self._rows("batches", **values)
        ]

    def tier_changes(
        self, spaces: Sequence[int], since: datetime, until: datetime, step: timedelta
    ) -> list[TierChange]:
        """Return the events of memories in some spaces since a moment, newest first, with where they are now.

        Memories that were stored within one step, counted back from `until`, and never changed, are one of them.
        """
        period = {"since": to_micros(since), "until": to_micros(until), "step": step // timedelta(microseconds=1)}
        return [
            TierChange(no, from_micros(at), changes_of(changes), TIERS[tier], RETENTIONS[retention], memories)
            for no, at, changes, tier, retention, memories in self._rows("tier_changes", spaces=list(spaces), **period)
        ]

    def seq(self) -> int:
        """Return the sequence number of the newest event."""
        return int(self._unlogged_rows("event_last")[0][0])

    # Embedders and vectors

    def identity(self, name: str | None = None) -> Identity | None:
        """Return the embedder that serves searches, or the one with a name; None if there is none."""
        if name is None:
            return identity_in(self._unlogged_rows("embedder_serving"))
        rows = self._unlogged_rows("embedder_by_name", name=name)
        return Identity(number=rows[0][0], name=name, dimensions=rows[0][1]) if rows else None

    def register_embedder(self, name: str, dimensions: int, *, serve: bool = True) -> Identity:
        """Register an embedder and return its number; the first one with `serve` serves searches at once."""

        def register(statements: Statements) -> int:
            number = int(statements.value("embedder_put", name=name, dimensions=dimensions))
            if serve and statements.embedder() is None:
                statements.run("meta_set", key="embedder", value=str(number))
            return number

        return Identity(number=self._write(register), name=name, dimensions=dimensions)

    def without_vectors(self, number: int, before: int, limit: int) -> list[tuple[int, str]]:
        """Return (number, content) of memories without vectors of an embedder, newest first."""
        rows = self._rows("vectors_missing", number=number, before=before, limit=limit)
        return [(no, content) for no, content in rows]

    @abstractmethod
    def served_vectors(self, digests: Collection[str]) -> tuple[Identity | None, Mapping[str, Vectors]]:
        """Return the serving embedder, and what it has made of the contents with some digests, if any is stored."""

    def cached_vectors(self, digest: str) -> Vectors | None:
        """Return the stored vectors of the same content, made by the serving embedder."""
        return self.served_vectors([digest])[1].get(digest)

    def count_without_vectors(self, number: int) -> int:
        """Return the number of memories without vectors of an embedder."""
        return int(self._rows("vectors_missing_count", number=number)[0][0])

    def pending(self, spaces: Sequence[int], number: int | None = None) -> int:
        """Return the number of visible memories without vectors of an embedder; None is the serving one."""
        if number is None:
            return int(self._unlogged_rows("pending_in", spaces=list(spaces))[0][0])
        return int(self._unlogged_rows("pending_of", spaces=list(spaces), number=number)[0][0])
