"""A store: rows of memories in an SQL database, found by words and by vectors.

A store keeps rows and finds them; it decides nothing. Every read takes the visible spaces, so the scope is applied
inside the index and never after it. Every change of a memory goes through a `Transaction`, which appends the event to
the ledger in the same transaction.

Active memories are found by the indexes. Archived, deleted, proposed and expired ones are in no index: one statement
selects them with the scope, the tiers, the retentions and the conditions of the search, once in a snapshot. Their words
are compared here, their vectors as those of active ones.

`Store` has the SQL that all databases share; a subclass adds how its database is reached and searched. The contract
is tested by `tests/storage/contract`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from memotherm.errors import InvalidInput
from memotherm.model import Priority, Retention, Scope
from memotherm.model.clock import to_micros
from memotherm.model.marks import author_of
from memotherm.model.results import Problem
from memotherm.storage.base import Claim
from memotherm.storage.candidates import Candidates
from memotherm.storage.filters import hidden_rows, passing_rows
from memotherm.storage.memories import MemoryStore
from memotherm.storage.rows import indexed_words
from memotherm.storage.state import StateStore
from memotherm.storage.statements import Row, Statements
from memotherm.storage.transaction import Transaction
from memotherm.storage.values import Identity, Prefetch, Record, Scores, Search, TextMatches
from memotherm.text.content import pluralize

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memotherm.storage.transfer import StoreTables

    Vectors = NDArray[np.float32]


#: At this time, nothing has expired.
_FIRST_MOMENT = 0


class _Hidden(NamedTuple):
    """The memories of a search that are in no index."""

    records: Mapping[int, Record]
    candidates: Candidates


class SearchStore(MemoryStore):
    """The part of a store that searches; a subclass says how its database finds active memories."""

    def search_text(self, search: Search, words: Sequence[str], limit: int) -> TextMatches:
        """Return the best keyword matches, strongest first, and how many memories contain each word."""
        if not search.hidden:
            return self._active_matches(search, words, limit)
        found, (_, hidden) = TextMatches({}, 0, dict.fromkeys(words, 0)), self._hidden(search)
        if Retention.ACTIVE in search.retentions:
            found = self._active_matches(search, words, limit)
        candidates, counts = hidden, hidden.have(words).sum(axis=0).tolist()
        if found.scores:
            candidates = hidden.joined([self.active(list(found.scores))])
        # A word weighs the same in active and hidden memories.
        total = found.total + len(hidden)
        frequencies = {word: found.frequencies[word] + count for word, count in zip(words, counts, strict=True)}
        weights = [math.log(1 + max(total - count + 0.5, 0.0) / (count + 0.5)) for count in frequencies.values()]
        strengths = (candidates.have(words) @ weights).tolist() if words else ()
        scores = zip(candidates.no.tolist(), strengths, strict=False)
        return TextMatches(_best({no: score for no, score in scores if score}, limit), total, frequencies)

    def search_vector(self, search: Search, vector: Vectors, limit: int, by: Identity | None = None) -> Scores:
        """Return the memories with the nearest vectors `by` an embedder (None = the serving one), nearest first."""
        if not search.hidden:
            return self._active_nearest(search, vector, limit, by)
        found = self.similarities(search, list(self._hidden(search).records), vector, by)
        if Retention.ACTIVE in search.retentions:
            found |= self._active_nearest(search, vector, limit, by)
        return _best(found, limit)

    @abstractmethod
    def similarities(
        self, search: Search, nos: Sequence[int], vector: Vectors, by: Identity | None = None
    ) -> dict[int, float]:
        """Return the cosine of each of some memories that has vectors; its nearest part counts.

        Most of them are in the spaces and tiers of the search.
        """

    def candidates(self, search: Search, nos: Sequence[int]) -> Candidates:
        """Return what ranking needs of those of some memories that a search lets through."""
        if not search.hidden:
            return self._active_candidates(search, nos)
        hidden = self._hidden(search)
        own = hidden.candidates.where(np.isin(hidden.candidates.no, list(nos)))
        if Retention.ACTIVE not in search.retentions:
            return own
        return self._active_candidates(search, [no for no in nos if no not in hidden.records]).joined([own])

    def active(self, nos: Sequence[int]) -> Candidates:
        """Return those of some memories that are active, in any space and tier: the turns before a message."""
        return Candidates.of(self._rows("candidates", nos=list(nos), now=_FIRST_MOMENT))

    def pinned(self, search: Search) -> list[Record]:
        """Return the pinned memories of some spaces, oldest first, in any tier if they are active."""
        if not search.hidden:
            return self._active_pinned(search)
        hidden = self._hidden(search).records.values()
        pinned = [record for record in hidden if record.memory.priority is Priority.PINNED]
        if Retention.ACTIVE in search.retentions:
            pinned += self._active_pinned(search)
        return sorted(pinned, key=attrgetter("no"))

    def _hidden(self, search: Search) -> _Hidden:
        """Return the hidden memories of a search, which are known if it was the last one of the same snapshot."""
        with self._reading() as statements:
            known, hidden = statements.hidden
            if known != search or not statements.committed:
                records = self._converted(statements, hidden_rows(statements, search))
                hidden = _Hidden({record.no: record for record in records}, Candidates.of(map(_row, records)))
                statements.hidden = search, hidden
            found: _Hidden = hidden
            return found

    # Active memories

    @abstractmethod
    def _active_matches(self, search: Search, words: Sequence[str], limit: int) -> TextMatches:
        """Return the best keyword matches among active memories."""

    @abstractmethod
    def _active_nearest(self, search: Search, vector: Vectors, limit: int, by: Identity | None) -> Scores:
        """Return the active memories with the nearest vectors."""

    def _active_candidates(self, search: Search, nos: Sequence[int]) -> Candidates:
        with self._reading(once=not search.selective) as statements:
            ranks = {tier.rank for tier in search.tiers}
            rows = statements.rows("candidates", nos=list(nos), now=to_micros(search.now))
            rows = [row for row in rows if row[2] in ranks and row[1] in search.spaces]
            candidates = Candidates.of(passing_rows(statements, rows, search))
            candidates.add_uses(statements.unwritten)
            return candidates

    def _active_pinned(self, search: Search) -> list[Record]:
        return self._records("pinned", spaces=list(search.spaces), now=to_micros(search.now))


def _row(record: Record) -> Row:
    """Return a memory as a row of the statement `candidates`."""
    memory = record.memory
    accessed_at = None if memory.accessed_at is None else to_micros(memory.accessed_at)
    ranks = record.space, memory.tier.rank, memory.priority.rank
    times = to_micros(memory.created_at), accessed_at, memory.access_count
    return (record.no, *ranks, memory.kind, *times, indexed_words(memory.content, memory.tags), author_of(memory), None)


def _best(scores: Mapping[int, float], limit: int) -> Scores:
    """Return the highest scores, highest first, newest first among equals."""
    return dict(sorted(scores.items(), key=lambda pair: (-pair[1], -pair[0]))[:limit])


#: How many parts are tried before a process finds nothing to do; others claim parts at the same time.
_DUE = 100

__all__ = [
    "Claim",
    "Distribution",
    "Store",
    "Transaction",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Distribution:
    """What was distributed over the nodes of a cluster, and verified."""

    store: str
    #: The nodes that have shards, each as host:port.
    nodes: tuple[str, ...]
    shards: int
    #: Rows by table.
    rows: Mapping[str, int] = field(default_factory=dict)
    #: SHA-256 of all of them, the same before and afterwards.
    digest: str = ""

    def __str__(self) -> str:
        total = (
            f"{pluralize(self.rows.get('memories', 0), 'memory')}, {pluralize(sum(self.rows.values()), 'row')} in all"
        )
        where = f"{pluralize(self.shards, 'shard')} on {pluralize(len(self.nodes), 'node')}"
        return f"{total}: distributed over {where} and verified"


class Store(SearchStore, StateStore):
    """A database of memories. Safe to use from several threads and processes."""

    # Views

    def for_tenant(self, tenant: str | None) -> Self:
        """Return the same store restricted to one tenant ("" = memories without a tenant; None = all tenants).

        A database with row-level security enforces the restriction itself, in addition to the spaces.
        Closing one of them closes the store.
        """
        view = self._view()
        view.tenant = tenant
        return view

    def parts(self, scope: Scope) -> Sequence[Self]:  # noqa: ARG002
        """Return the stores that together hold what lies inside a scope: one for each tenant, or one for all."""
        return [self]

    def claims(
        self, name: str, holder: str, now: Callable[[], datetime], term: timedelta, before: datetime
    ) -> Generator[Claim[Self], None, None]:
        """Claim the parts of the store on which no other holder does a job, and yield the claims one by one.

        The part whose job was done the longest time ago comes first. A part counts as done when the next claim is
        requested. Closing the iterator before that releases the claim. A claim that is not renewed expires after its
        term. Parts that were done at `before` or later are skipped.

        Args:
            name: The job.
            holder: A unique name of the process or thread that does it.
            now: The clock.
            term: How long a claim is valid.
            before: The time of the last run from which on a part is skipped.
        """
        everyone = self.for_tenant(None)
        parts = {part.tenant or "": part for part in (self.parts(Scope()) if self.tenant is None else [self])}
        known = {tenant for (tenant,) in everyone._unlogged_rows("jobs_of", name=name)}
        if new := [{"tenant": tenant, "name": name} for tenant in parts if tenant not in known]:
            everyone._write(lambda statements: statements.run_many("job_add", new), exclusive=False)
        seen: list[str] = []
        while True:
            moment = now()
            late = to_micros(moment + 2 * term)
            due = {"name": name, "now": to_micros(moment), "late": late, "before": to_micros(before)}
            found = everyone._unlogged_rows("jobs_due", **due, tenant=self.tenant, seen=seen, limit=_DUE)
            claim = {**due, "holder": holder, "until": to_micros(moment + term)}
            # Those that another process has claimed are skipped.
            tenant = everyone._first_claimed([tenant for (tenant,) in found if tenant in parts], claim)
            if tenant is None:
                return
            seen.append(tenant)
            row, outcome = {"name": name, "holder": holder, "tenant": tenant}, "job_release"
            try:
                yield Claim(parts[tenant]._view(), row, now, term)
                outcome = "job_done"
            finally:
                done = {**row, "now": to_micros(now())}
                everyone._end_job(outcome, done)

    def _end_job(self, outcome: str, row: Mapping[str, object]) -> None:
        self._write(lambda statements: statements.run(outcome, **row), exclusive=False)

    def _first_claimed(self, tenants: Sequence[str], claim: Mapping[str, object]) -> str | None:
        """Claim the first job that no other process has claimed, and return its tenant."""

        def first(statements: Statements) -> str | None:
            return next((tenant for tenant in tenants if statements.row("job_claim", **claim, tenant=tenant)), None)

        return self._write(first, exclusive=False) if tenants else None

    def recall_problems(self) -> list[str]:
        """Return a sentence about each thing that is wrong with what recalls read, or with their log."""
        dropped = self.dropped_log_entries
        return [f"recall log entries lost while the store was busy: {dropped}"] if dropped else []

    @abstractmethod
    def snapshot(self, prefetch: Prefetch | None = None) -> AbstractContextManager[int | None]:
        """Let the reads of this thread see one state of the store until the context is left.

        The value is the number of the last event that they see, if the store knows it without another statement.
        A store may do less; it never shows a part of a transaction. Nothing may be written inside.
        A store on another machine reads at once what `prefetch` says will be read first.
        """

    @contextmanager
    def flushed_snapshot(self) -> Iterator[None]:
        """Write the waiting entries of the recall log, then let the reads of this thread see one state."""
        self._writer.flush()
        with self.snapshot():
            yield

    # Vectors

    @abstractmethod
    def vectors_of(self, nos: Sequence[int]) -> dict[int, Vectors]:
        """Return the vectors of memories by number, made by the serving embedder; those without are left out."""

    @abstractmethod
    def sample_vectors(self, limit: int, by: Identity) -> Vectors | None:
        """Return a repeatable sample of the vectors made `by` an embedder."""

    # Maintenance

    @abstractmethod
    def size(self) -> int:
        """Return the size of the store in bytes."""

    @abstractmethod
    def build_indexes(self) -> None:
        """Build the indexes that the amount of data requires; do nothing if they exist."""

    @abstractmethod
    def check(self) -> list[Problem]:
        """Check the consistency of all tables and indexes and return the problems."""

    @abstractmethod
    def close(self) -> None:
        """Close all connections; calling it twice, or in a forked process, is harmless."""

    # What only some stores can do

    def repair(self) -> None:
        """Rebuild the text index from the memories."""
        raise InvalidInput(f"{self.name} cannot be repaired: its store does not say how")

    #: Whether `checkpoint` is possible.
    writes_checkpoints = False

    def checkpoint(self, path: Path) -> None:  # noqa: ARG002
        """Write a consistent copy to a new file while the store is in use, for `memotherm.restore`."""
        raise InvalidInput(f"{self.name} cannot write checkpoints: use the backup of its database")

    @contextmanager
    def read_tables(self) -> Iterator[StoreTables]:
        """Open the tables for reading, in one snapshot."""
        with self.for_tenant(None)._reading() as statements:
            yield self._tables(statements)

    @contextmanager
    def write_tables(self) -> Iterator[StoreTables]:
        """Open the tables for writing, in one transaction."""
        self.require_writable()
        with self.for_tenant(None)._exclusive() as statements:
            yield self._tables(statements)

    def _tables(self, statements: Any) -> StoreTables:  # noqa: ANN401, ARG002
        raise InvalidInput(f"{self.name} cannot be copied: its store does not say how")

    def distribute(self, shards: int) -> Distribution:  # noqa: ARG002
        """Distribute the tables over the nodes of a cluster by tenant, or resume it, and verify the rows."""
        raise InvalidInput(f"{self.name} cannot be distributed: migrate it to PostgreSQL with Citus first")

    def missing_nodes(self) -> tuple[str, ...]:
        """Return the nodes that do not answer, each as host:port; empty for a store on one server."""
        return ()
