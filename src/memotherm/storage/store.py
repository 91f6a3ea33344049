"""A store: rows of memories in an SQL database, found by words and by vectors.

A store keeps rows and finds them; it decides nothing. Every read takes the visible spaces, so the scope is applied
inside the index and never after it. Every change of a memory goes through a `Transaction`, which appends the event to
the ledger in the same transaction.

`Store` has the SQL that all databases share; a subclass adds how its database is reached and searched. The contract
is tested by `tests/storage/contract`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from memotherm.errors import InvalidInput
from memotherm.model import Scope
from memotherm.model.clock import to_micros
from memotherm.model.results import Problem
from memotherm.storage.base import Claim
from memotherm.storage.searches import SearchStore
from memotherm.storage.state import StateStore
from memotherm.storage.statements import Statements
from memotherm.storage.transaction import Transaction
from memotherm.storage.values import Identity, Prefetch
from memotherm.text.content import pluralize

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memotherm.storage.transfer import StoreTables

    Vectors = NDArray[np.float32]

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
