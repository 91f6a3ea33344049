"""A whole store and a whole transaction: the unions of the contracts by subject."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

from memotherm.model import Scope
from memotherm.storage.contract.index import IndexStore
from memotherm.storage.contract.keyvalue import KeyValueStore
from memotherm.storage.contract.ledger import LedgerStore
from memotherm.storage.contract.maintenance import MaintenanceStore
from memotherm.storage.contract.memories import MemoryStore, MemoryTransaction
from memotherm.storage.contract.notes import NoteStore, NoteTransaction
from memotherm.storage.contract.policies import PolicyStore, PolicyTransaction
from memotherm.storage.contract.sessions import SessionStore, SessionTransaction
from memotherm.storage.contract.usage import UsageStore, UsageTransaction
from memotherm.storage.contract.vectors import VectorStore, VectorTransaction
from memotherm.storage.values import Search

__all__ = ["Claim", "Store", "Transaction", "TransactionalStore"]

Result = TypeVar("Result")


class Transaction(
    MemoryTransaction,
    VectorTransaction,
    UsageTransaction,
    SessionTransaction,
    NoteTransaction,
    PolicyTransaction,
    Protocol,
):
    """One transaction. Leaving it normally commits; an exception rolls everything back."""


class TransactionalStore(Protocol):
    """Transactions and consistent reads."""

    def snapshot(self, search: Search | None = None) -> AbstractContextManager[int | None]:
        """Let the reads of this thread see one state of the store until the context is left.

        The value is the number of the last event that they see, if the store knows it without another statement.
        A store may do less; it never shows a part of a transaction. Nothing may be written inside.
        A store on another machine reads at once what `search` says will be read first.
        """

    def optimistically(self, read: Callable[[], Result]) -> Result:
        """Return the result of a read that asks for `spaces` and `identity` and then begins a snapshot.

        A store on another machine may answer these two with what they were last, verify that in the snapshot, and
        repeat the read if they have changed. So it changes nothing before the snapshot has begun.
        """

    def write(self, *, made_by: int | None = None) -> AbstractContextManager[Transaction]:
        """Begin a transaction.

        Args:
            made_by: The embedder of the vectors that will be stored. If another embedder serves searches by
                now, the vectors are not stored and the memories count as pending.
        """

    def transact(self, change: Callable[[Transaction], Result], *, made_by: int | None = None) -> Result:
        """Call a function with a transaction, commit that, and return what the function has returned.

        Several threads may share the transaction, and one of them calls the functions of all. If a function raises an
        exception, all that share its transaction are called again, each with its own. So a function changes nothing
        but the transaction.
        """

    def deferring(self) -> AbstractContextManager[None]:
        """Commit the last transaction of this thread when the context is left, with the values stored after it.

        A transaction that is complete waits until the thread uses the store again. `put_value` continues it;
        everything else commits it first. An exception that leaves the context rolls it back.
        """


class Claim(Protocol):
    """The right of one holder to do a job on a part of a store, for a limited time."""

    @property
    def store(self) -> Store:
        """The part; each of its write transactions renews the claim, or raises `LeaseLost`."""

    def renew(self) -> bool:
        """Extend the claim by its term; return False if another holder has it."""


class Store(
    TransactionalStore,
    MemoryStore,
    IndexStore,
    VectorStore,
    LedgerStore,
    UsageStore,
    SessionStore,
    NoteStore,
    KeyValueStore,
    PolicyStore,
    MaintenanceStore,
    Protocol,
):
    """A database of memories. Safe to use from several threads and processes."""

    #: The store's name in messages: a path, or a URL without secrets.
    name: str
    #: The version of its schema.
    schema: int
    #: The tenant it is restricted to, as given to `for_tenant`.
    tenant: str | None

    def for_tenant(self, tenant: str | None) -> Store:
        """Return the same store restricted to one tenant ("" = memories without a tenant; None = all tenants).

        A database with row-level security enforces the restriction itself, in addition to the spaces.
        Closing one of them closes the store.
        """

    def parts(self, scope: Scope) -> Sequence[Store]:
        """Return the stores that together hold what lies inside a scope: one for each tenant, or one for all."""

    def claims(
        self, name: str, holder: str, now: Callable[[], datetime], term: timedelta, before: datetime
    ) -> Generator[Claim, None, None]:
        """Claim the parts of the store on which no other holder does a job, and yield the claims one by one.

        A part counts as done when the next claim is requested. Closing the iterator before that releases the
        claim. A claim that is not renewed expires after its term. Parts that were done at `before` or later are
        skipped.

        Args:
            name: The job.
            holder: A unique name of the process or thread that does it.
            now: The clock.
            term: How long a claim is valid.
            before: The time of the last run from which on a part is skipped.
        """

    def for_recall(self) -> Store:
        """Return the store that recalls read from: this one, or a replica that may be behind."""

    def replica_lag(self) -> str | None:
        """Return a sentence about how old the data is that recalls read; None if they read the primary."""
