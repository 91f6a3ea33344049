"""A store in one SQLite file, or in memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from memotherm.errors import StoreDamaged, StoreError, StoreUnavailable
from memotherm.model import Scope
from memotherm.model.clock import to_micros
from memotherm.model.results import Problem
from memotherm.storage.sqlite.backup import ORIGIN_KEY, copy
from memotherm.storage.sqlite.bands import decoded
from memotherm.storage.sqlite.check import check, check_text_structure
from memotherm.storage.sqlite.files import MEMORY
from memotherm.storage.sqlite.index import SqliteIndex
from memotherm.storage.sqlite.keys import MEMORY_MASK, PART_BITS, vector_base, vector_range
from memotherm.storage.sqlite.statements import Lending
from memotherm.storage.sqlite.transaction import SqliteTransaction
from memotherm.storage.sqlite.transfer import SqliteTables
from memotherm.storage.sqlstore import (
    SqlClaim,
    identity_of,
)
from memotherm.storage.values import Identity

__all__ = ["SqliteStore"]

Vectors = NDArray[np.float32]
Result = TypeVar("Result")


class SqliteStore(SqliteIndex):
    """Rows, words and vectors in one file; several processes may use it at once."""

    def for_tenant(self, tenant: str | None) -> Self:
        """Return the same store as one tenant uses it; a file has no row-level security."""
        view = self._view()
        view.tenant = tenant
        return view

    def parts(self, scope: Scope) -> list[Self]:  # noqa: ARG002
        """Return the store itself, which holds what lies inside any scope."""
        return [self]

    def claims(
        self,
        name: str,
        holder: str,
        now: Callable[[], datetime],
        term: timedelta,
        before: datetime,
    ) -> Generator[SqlClaim[Self], None, None]:
        """Claim the whole store, unless another holder does the same job or it was done since `before`."""
        if not self._done_since(name, before, now()) and self.lease(name, holder, now(), now() + term):
            try:
                yield SqlClaim(self._view(), "lease_renew", {"name": name, "holder": holder}, now, term)
                with self._marking() as statements:
                    statements.run("meta_set", key=f"done:{name}", value=str(to_micros(now())))
            finally:
                self.release(name, holder)

    def _done_since(self, name: str, moment: datetime, now: datetime) -> bool:
        """Return whether a job was done since a moment; a time that is yet to come was that of a wrong clock."""
        done = self._rows("meta_get", key=f"done:{name}")
        return bool(done) and to_micros(moment) <= int(done[0][0]) <= to_micros(now)

    def for_recall(self) -> Self:
        """Return the store itself: a file has no replica."""
        return self

    def replica_lag(self) -> str | None:
        """Return None: what is read is what is written."""
        return None

    def _made_by(self, number: int) -> dict[str, object]:
        return {"base": vector_base(number)}

    @contextmanager
    def write(self, *, made_by: int | None = None) -> Iterator[SqliteTransaction]:
        """Begin a transaction."""
        with self._writing() as statements:
            if self.claim is not None:
                self.claim.require(statements)
            # A cache of its own: after a rollback, the numbers of new spaces may be assigned to other scopes.
            scopes: dict[int, Scope] = {}
            transaction = SqliteTransaction(
                statements,
                lambda space: self._scope(statements, space, scopes),
                self._shared.window_micros,
                made_by,
                self._connections.text_changes,
            )
            self._shared.saw(transaction.adopted)
            yield transaction
            transaction.finish()
            self._log.forget(transaction.erased_spaces)
        self._shared.saw(transaction.adopted)
        if transaction.purged or transaction.log_pending:
            self._connections.deferral.then(lambda: self._erasure.finish(wait=transaction.purged))

    def transact(self, change: Callable[[SqliteTransaction], Result], *, made_by: int | None = None) -> Result:
        """Make a change in a transaction that other threads may share; return its result after the commit."""
        self._process.require()
        if self.name == MEMORY or self.claim is not None or self._connections.deferral.applies:
            return super().transact(change, made_by=made_by)
        return self._combiner.run(change, self.write, made_by)

    def deferring(self) -> AbstractContextManager[None]:
        """Commit the last transaction of this thread when the context is left, with the values stored after it."""
        return self._connections.deferral.active()

    def register_embedder(self, name: str, dimensions: int, *, serve: bool = True) -> Identity:
        """Register an embedder and return its number; the first one with `serve` serves searches at once."""
        with self._writing() as statements:
            number = int(statements.value("embedder_put", name=name, dimensions=dimensions))
            if serve and identity_of(statements) is None:
                statements.run("meta_set", key="embedder", value=str(number))
        return Identity(number=number, name=name, dimensions=dimensions)

    def cached_vectors(self, digest: str) -> Vectors | None:
        """Return the vectors of the same content that the tenant can see, made by the serving embedder."""
        key: dict[str, object] = {"digest": bytes.fromhex(digest), "tenant": self.tenant}
        if not self._rows("vectors_by_digest", **key):
            return None
        with self._reading() as statements:
            identity = identity_of(statements)
            no = statements.value("vectors_by_digest", **key)
            if identity is None or no is None:
                return None
            rows = statements.rows("vectors_between", **vector_range(identity.number, no)._asdict())
        return decoded([blob for _, blob in rows], identity.dimensions) if rows else None

    def vectors_of(self, nos: Sequence[int]) -> dict[int, Vectors]:
        """Return the vectors of memories by number, made by the serving embedder; those without are left out."""
        with self._reading() as statements:
            identity = identity_of(statements)
            if identity is None:
                return {}
            rows = statements.rows("vectors_of_memories", nos=list(nos), base=vector_base(identity.number))
        blobs: dict[int, list[bytes]] = defaultdict(list)
        for key, blob in sorted(rows):
            blobs[key >> PART_BITS & MEMORY_MASK].append(blob)
        return {no: decoded(parts, identity.dimensions) for no, parts in blobs.items()}

    def sample_vectors(self, limit: int, by: Identity | None = None) -> Vectors | None:
        """Return a repeatable sample of the vectors made `by` an embedder (None = the serving one)."""
        identity = by or self.identity()
        if identity is None:
            return None
        base = vector_base(identity.number)
        rows = self._rows("vectors_sample", low=base, high=vector_base(identity.number + 1) - 1, limit=limit)
        return decoded([blob for _, blob in rows], identity.dimensions) if rows else None

    @contextmanager
    def read_tables(self) -> Iterator[SqliteTables]:
        """Open the tables for reading, in one snapshot."""
        with self._reading() as statements:
            yield SqliteTables(statements)

    @contextmanager
    def write_tables(self) -> Iterator[SqliteTables]:
        """Open the tables for writing, in one transaction."""
        with self._writing() as statements:
            yield SqliteTables(statements)

    def size(self) -> int:
        """Return the bytes the store takes, without the log of what is not checkpointed yet."""
        with self._connections.reading() as connection:
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            (page_size,) = connection.execute("PRAGMA page_size").fetchone()
        return int(pages) * int(page_size)

    def build_indexes(self) -> None:
        """Finish a pending erasure; bands are built when they are searched."""
        self._erasure.finish()

    def check(self) -> list[Problem]:
        """Check the consistency of all tables and indexes and return the problems."""
        try:
            missing = self._connections.missing_files()
        except StoreUnavailable:
            missing = [self.name]
        if missing:
            detail = "was moved, deleted or replaced while the store is open: put it back, or open the store again"
            return [Problem(code="file_gone", detail=f"{name} {detail}") for name in missing]
        self._log.write()
        try:
            caches = self._bands.cache_files()
            # A full-text table of a newer SQLite compares with what its connection has read before a write of another.
            with Lending(self._connections.fresh_reading()) as statements:
                problems = check(statements, identity_of(statements))
                problems += self._bands.check(statements.connection, caches)
            if self._connections.read_only:
                return problems
            with self._writing() as statements:
                return problems + check_text_structure(statements)
        except (StoreDamaged, ValueError, LookupError, TypeError, AttributeError) as exc:
            # Pages that cannot be read, or that read back as something no writer writes.
            return [Problem(code="file", detail=f"the file is damaged and could not be read to the end: {exc}")]

    def checkpoint(self, path: Path, origin: str | None = None) -> None:
        """Write a consistent copy to a new file while the store is in use; it records its origin."""
        self._log.write()
        with self._connections.reading() as connection:
            meta = {ORIGIN_KEY: origin or self._connections.path}
            copy(connection, path, meta=meta, cipher=self._connections.cipher_for(path))

    def close(self) -> None:
        """Close all connections; calling it twice, or in a forked process, is harmless."""
        if not self._process.current:
            return
        self._log.close()
        with suppress(StoreError):
            self._erasure.finish()
            with self._connections.reading() as connection:
                self._bands.close(connection)
        self._connections.close()
