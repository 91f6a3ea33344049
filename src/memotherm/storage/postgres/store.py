"""A store on a PostgreSQL server."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from memotherm.model import Event, Scope
from memotherm.model.results import Problem
from memotherm.storage.contract.optional import Distribution
from memotherm.storage.postgres.check import check
from memotherm.storage.postgres.distribute import distribute
from memotherm.storage.postgres.index import PostgresIndex
from memotherm.storage.postgres.migrate import LOCK
from memotherm.storage.postgres.partition import partition
from memotherm.storage.postgres.statements import SCHEMA, PostgresStatements
from memotherm.storage.postgres.tenants import PostgresTenants
from memotherm.storage.postgres.transaction import PostgresTransaction
from memotherm.storage.postgres.transfer import PostgresTables
from memotherm.storage.postgres.usage import PostgresUsage
from memotherm.storage.postgres.vectors import index_live, largest, of_memories, sampled, unindexed
from memotherm.storage.rows import event_of
from memotherm.storage.sqlite.backup import require_free
from memotherm.storage.sqlite.store import SqliteStore
from memotherm.storage.sqlstore import identity_of
from memotherm.storage.transfer import transfer
from memotherm.storage.values import Identity

__all__ = ["PostgresStore"]

Vectors = NDArray[np.float32]


class PostgresStore(PostgresIndex, PostgresTenants, PostgresUsage):
    """Rows, words and vectors in one database; any number of servers may use it at once.

    Writers of one tenant exclude each other; those of different tenants do not. A writer for all tenants
    (`for_tenant(None)`) excludes every other writer.
    """

    def replica_lag(self) -> str | None:
        """Return a sentence about the age of the replica, or why it is not used; None without one."""
        if self._source is None:
            return None
        with self._reading() as statements:
            ((copying, seconds),) = statements.rows("replica_lag")
        return self._source.lag(seconds, copying=copying)

    def _made_by(self, number: int) -> dict[str, object]:
        return {"number": number}

    def ledger(self, spaces: Sequence[int], past: int | None, limit: int, *, oldest_first: bool) -> list[Event]:
        """Return events of memories in some spaces; in ascending order, only those that none can precede any more.

        Numbers are assigned before the commit, so that one with a lower number may still be on its way: the reader
        waits for the running writers, as a writer does, and then reads what they have committed.
        """
        if not oldest_first:
            return super().ledger(spaces, past, limit, oldest_first=False)
        mode = "ISOLATION LEVEL READ COMMITTED READ ONLY"
        with self._connections.transaction(self.tenant, mode=mode, patient=True) as connection:
            statements = self._statements(connection)
            if self.tenant is None:
                statements.rows("lock_store", store=LOCK)
            else:
                statements.rows("lock_ledger", store=LOCK, tenant=self.tenant)
            rows = statements.rows("events_after", spaces=list(spaces), past=past or 0, limit=limit)
        return [event_of(row) for row in rows]

    @contextmanager
    def write(self, *, made_by: int | None = None) -> Iterator[PostgresTransaction]:
        """Begin a transaction."""
        with self._writing(transaction_begin={}) as statements, statements.batching():
            if self.claim is not None:
                self.claim.require(statements)
            # A cache of its own: after a rollback, the new spaces do not exist.
            scopes: dict[int, Scope] = {}
            transaction = PostgresTransaction(
                statements, lambda space: self._scope(statements, space, scopes), self._shared.window_micros, made_by
            )
            self._shared.saw(transaction.adopted)
            yield transaction
            transaction.finish()
            self._log.forget(transaction.erased_spaces)
        self._shared.saw(transaction.adopted)
        self._count_shared(transaction.later_uses)

    def deferring(self) -> AbstractContextManager[None]:
        """Commit the last transaction of this thread when the context is left, with the values stored after it."""
        return self._connections.deferral.active()

    def register_embedder(self, name: str, dimensions: int, *, serve: bool = True) -> Identity:
        """Register an embedder and return its number; the first one with `serve` serves searches at once."""
        with self._all_tenants()._writing() as statements:
            number = int(statements.value("embedder_put", name=name, dimensions=dimensions))
            identity = Identity(number=number, name=name, dimensions=dimensions)
            if serve and identity_of(statements) is None:
                statements.run("meta_set", key="embedder", value=str(number))
        self.build_indexes()
        return identity

    def served_vectors(self, digests: Collection[str]) -> tuple[Identity | None, Mapping[str, Vectors]]:
        """Return the serving embedder, and what `cached_vectors` returns for each of some digests, without None."""
        asked = {"digests": [bytes.fromhex(digest) for digest in digests]}
        if not digests:
            return self.identity(), {}
        with self._reading_first(embedder_serving={}, digests_with_vectors=asked) as statements:
            identity = identity_of(statements)
            found = {no: digest.hex() for no, digest in statements.rows("digests_with_vectors", **asked)}
            vectors = {} if identity is None else of_memories(statements, identity, list(found))
        return identity, {found[no]: rows for no, rows in vectors.items()}

    def cached_vectors(self, digest: str) -> Vectors | None:
        """Return the stored vectors of the same content, made by the serving embedder."""
        _, vectors = self.served_vectors([digest])
        return vectors.get(digest)

    def vectors_of(self, nos: Sequence[int]) -> dict[int, Vectors]:
        """Return the vectors of memories by number, made by the serving embedder; those without are left out."""
        with self._reading() as statements:
            identity = identity_of(statements)
            return {} if identity is None else of_memories(statements, identity, nos)

    def sample_vectors(self, limit: int, by: Identity | None = None) -> Vectors | None:
        """Return a repeatable sample of the vectors made `by` an embedder (None = the serving one)."""
        with self._reading() as statements:
            identity = by or identity_of(statements)
            return None if identity is None else sampled(statements, identity, limit)

    def size(self) -> int:
        """Return the bytes that the tables and their indexes take."""
        return int(self._rows("size", schema=SCHEMA)[0][0])

    def missing_nodes(self) -> tuple[str, ...]:
        """Return the nodes of the cluster that do not answer, each as host:port; empty for one server."""
        if not self._connections.distributed:
            return ()
        return tuple(node for (node,) in self._all_tenants()._rows("nodes_missing"))

    def build_indexes(self) -> None:
        """Index the live vectors of every embedder once a tenant has too many for an exact search."""
        with self._reading() as statements:
            missing = unindexed(statements) if largest(statements) >= self._exact_limit else []
        for identity in missing:
            with self._connections.alone() as connection:
                index_live(connection, identity)

    def check(self) -> list[Problem]:
        """Check the consistency of all tables and indexes and return the problems."""
        with self._all_tenants()._reading() as statements:
            return check(statements, identity_of(statements))

    @contextmanager
    def read_tables(self) -> Iterator[PostgresTables]:
        """Open the tables for reading, in one snapshot."""
        with self._all_tenants()._reading() as statements:
            yield PostgresTables(statements)

    @contextmanager
    def write_tables(self) -> Iterator[PostgresTables]:
        """Open the tables for writing, in one transaction."""
        with self._all_tenants()._writing() as statements:
            yield PostgresTables(statements)

    def partition(self, parts: int) -> list[str]:
        """Cut the tables into parts by tenant, all at once; return their names."""
        with self._connections.transaction(None, patient=True) as connection:
            PostgresStatements(connection, None).rows("lock_store", store=LOCK)
            return partition(connection, parts)

    def distribute(self, shards: int) -> Distribution:
        """Distribute the tables over the nodes of a Citus cluster by tenant, or resume it, and verify the rows."""
        with self._connections.alone() as connection:
            return distribute(connection, shards, self.name)

    def checkpoint(self, path: Path) -> None:
        """Write a consistent copy to a new file while the store is in use: a SQLite store."""
        require_free(path)
        with TemporaryDirectory(prefix=".memotherm-", dir=path.parent) as folder:
            copy = SqliteStore(str(Path(folder) / "copy.db"), self._settings)
            with closing(copy):
                transfer(self, copy)
                copy.checkpoint(path, origin=self.name)

    def close(self) -> None:
        """Close all connections; calling it twice, or in a forked process, is harmless."""
        if not self._process.current:
            return
        self._log.close()
        self._connections.close()
        if self._replica is not None:
            self._replica.close()
