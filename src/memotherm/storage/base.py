"""What every part of a store on an SQL database is made of: transactions, rows and scopes."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Generic, Self, TypeVar

from memotherm.errors import LeaseLost, ReadOnly, StoreClosed
from memotherm.model import Scope
from memotherm.model.clock import to_micros
from memotherm.model.results import Problem
from memotherm.storage.log_erasure import without_purged
from memotherm.storage.recall_log import write_entries
from memotherm.storage.rows import record_of, scope_of
from memotherm.storage.statements import Row, Statements
from memotherm.storage.tombstones import Tombstones, telling, with_marks
from memotherm.storage.transaction import Transaction
from memotherm.storage.values import RecallEntry, Record
from memotherm.storage.writer import Execute, UnwrittenEntry, Writer
from memotherm.text.claims import CLAIMS_VERSION
from memotherm.text.words import WORDS_VERSION


class OwnProcess:
    """The process that opened a store."""

    __slots__ = ("_name", "_pid")

    def __init__(self, name: str) -> None:
        self._name = name
        self._pid = os.getpid()

    @property
    def current(self) -> bool:
        """Whether this code runs in that process, and not in a fork of it."""
        return os.getpid() == self._pid

    def require(self) -> None:
        """Raise `StoreClosed` in a forked process."""
        if os.getpid() != self._pid:
            raise StoreClosed(f"{self._name} was opened before a fork: open the store again in this process")


PartStore = TypeVar("PartStore", bound="StoreBase")
Result = TypeVar("Result")
#: A function of the statements of a write transaction.
Job = Callable[[Any], Result]

#: Statements whose rows are wanted first, each with its parameters.
Expected = Mapping[str, Mapping[str, object]]

#: How many scopes are cached.
MOST_SCOPES = 10_000


class _Shared:
    """What all views of a store know together."""

    def __init__(self) -> None:
        #: The number of the last adoption of a policy that was seen; a snapshot may still show an earlier one.
        self.adopted = 0
        #: The scopes of committed spaces by number; they never change.
        self.scopes: dict[int, Scope] = {}

    def saw(self, adopted: int) -> None:
        """Note the number of an adoption that was read."""
        self.adopted = max(self.adopted, adopted)


class _Unit:
    """A unit of work: its transaction, once something was changed, and what is called after the commit."""

    def __init__(self) -> None:
        self.transaction = ExitStack()
        self.statements: Statements | None = None
        self.after_commit: list[Callable[[], None]] = []
        #: The error of the first change that failed.
        self.failure: BaseException | None = None


class _Local(threading.local):
    """What the current thread has begun."""

    unit: _Unit | None = None


class Claim(Generic[PartStore]):
    """The right of one holder to do a job on a part of a store, for a limited time: a row of `jobs`."""

    def __init__(
        self, store: PartStore, row: Mapping[str, object], now: Callable[[], datetime], term: timedelta
    ) -> None:
        #: The part; each of its write transactions renews the claim, or raises `LeaseLost`.
        self.store = store
        self._row = row
        self._now = now
        self._term = term
        store.claim = self

    def renew(self) -> bool:
        """Extend the claim by its term; return False if another holder has it."""
        until = to_micros(self._now() + self._term)
        return self.store._write(lambda statements: self._extended(statements, until), exclusive=False)

    def require(self, statements: Statements) -> None:
        """Extend the claim inside a transaction, or raise `LeaseLost`."""
        if not self._extended(statements, to_micros(self._now() + self._term)):
            raise LeaseLost(f"another process has taken over {self._row['name']!r}: its lease had expired")

    def _extended(self, statements: Statements, until: int) -> bool:
        return statements.row("job_renew", **self._row, until=until) is not None


class StoreBase(ABC):
    """The transactions of a store, and how rows become values."""

    #: The class of its transactions.
    _transaction: type[Transaction]
    #: The tenant that this view of the store is for; None for all tenants.
    tenant: str | None = None
    #: The claim that restricts the writes of this view of the store.
    claim: Claim[Any] | None = None
    #: Whether this view of the store may change it.
    writable = True

    def __init__(self, name: str, schema: int, execute: Execute) -> None:
        #: The store's name in messages: a path, or a URL without secrets.
        self.name = name
        #: The version of its schema.
        self.schema = schema
        self._process = OwnProcess(name)
        self._shared = _Shared()
        self._local = _Local()
        self._writer = Writer(name, self._process, execute)

    def _view(self) -> Self:
        """Return another object for the same store, which shares its connections and caches."""
        view = object.__new__(type(self))
        view.__dict__.update(self.__dict__)
        return view

    # Writing

    def for_reading(self) -> Self:
        """Return the same store, which raises `ReadOnly` where it would change, and does not log recalls."""
        view = self._view()
        view.writable = False
        return view

    def require_writable(self) -> None:
        """Raise `ReadOnly` if this view of the store may only be read."""
        if not self.writable:
            raise ReadOnly("memories may only be read here: use a memory, or an API key, that may change them")

    def transact(self, change: Callable[[Transaction], Result], *, made_by: int | None = None) -> Result:
        """Call a function with a transaction, commit it, and return what the function has returned.

        The function may run in another thread, so it changes nothing but the transaction.

        Args:
            change: The function.
            made_by: The embedder of the vectors that will be stored. If another embedder serves searches by now, the
                vectors are not stored and the memories count as pending.
        """
        begun: list[Transaction] = []

        def job(statements: Statements) -> Result:
            if self.claim is not None:
                self.claim.require(statements)
            scope_of = cache(lambda space: self._scope(statements, space))
            transaction = self._transaction(statements, scope_of, made_by)
            begun[:] = [transaction]
            self._saw(transaction.adopted)
            result = change(transaction)
            transaction.finish()
            if transaction.erased_spaces:
                self._writer.forget(transaction.erased_spaces)
            return result

        result = self._write(job)
        self._after_commit(lambda: self._committed(begun[0]))
        return result

    @contextmanager
    def unit_of_work(self) -> Iterator[None]:
        """Commit all changes that this thread makes inside the context together, when it is left.

        Functions that are given to `transact` run in this thread.
        The transaction begins with the first change; from then on, reads of this thread see it, searches do not.
        If a change fails, nothing is committed, even if its error was handled: it may have been made in part.
        """
        self.require_writable()
        if self._local.unit is not None:
            yield
            return
        unit = _Unit()
        try:
            self._local.unit = unit
            with unit.transaction:
                yield
                if unit.failure is not None:
                    raise unit.failure
        finally:
            self._local.unit = None
        for call in unit.after_commit:
            call()

    def _after_commit(self, call: Callable[[], None]) -> None:
        """Call a function now, or after the commit of the unit of work; not at all if that is rolled back."""
        unit = self._local.unit
        if unit is None:
            call()
        else:
            unit.after_commit.append(call)

    def _write(self, job: Job[Result], *, exclusive: bool = True) -> Result:
        """Run a job in a transaction, or in that of the unit of work; return its result after the commit."""
        self._process.require()
        self.require_writable()
        unit = self._local.unit
        if unit is None:
            return self._run(job, exclusive=exclusive)
        if unit.statements is None:
            unit.statements = unit.transaction.enter_context(self._exclusive())
        try:
            return job(self._joined(unit.statements, wide=not exclusive))
        except BaseException as exc:
            unit.failure = unit.failure or exc
            raise

    def _committed(self, transaction: Transaction) -> None:
        self._shared.saw(transaction.adopted)

    @abstractmethod
    def _run(self, job: Job[Result], *, exclusive: bool) -> Result:
        """Run a job in a transaction of its own; `exclusive` keeps other writers out."""

    @abstractmethod
    def _exclusive(self) -> AbstractContextManager[Statements]:
        """Return statements in a transaction of the current thread that keeps other writers out."""

    def _joined(self, statements: Statements, *, wide: bool) -> Statements:  # noqa: ARG002
        """Return the statements of a unit of work for this view of the store, or for all tenants (`wide`)."""
        return statements

    # The recall log

    @property
    def dropped_log_entries(self) -> int:
        """How many entries of the recall log this process has dropped because the store could not be written."""
        return self._writer.dropped

    def log_recall(self, entry: RecallEntry, *, keep: bool) -> None:
        """Count the uses of a recall, keep its receipt, and, with `keep`, log it; it is written a moment later.

        A view that may only be read counts and logs nothing.
        """
        self._process.require()
        if not self.writable:
            return
        # The numbers of a unit of work that is rolled back are not its own any more.
        self._after_commit(lambda: self._log(UnwrittenEntry(entry, keep, self.tenant)))

    def _log(self, entry: UnwrittenEntry) -> None:
        self._writer.add(entry)
        if entry.entry.relevance:
            self._writer.flush()

    def _write_log(self, statements: Statements, entries: Sequence[UnwrittenEntry]) -> None:
        """Write entries of the recall log, without what was purged in between, or what their queries say of it."""
        remaining = without_purged(statements, entries)
        if statements.value("tombstones_exist"):
            tombstones = Tombstones(statements, exist=True)
            remaining = [self._without_forgotten(statements, tombstones, each) for each in remaining]
        write_entries(statements, remaining)

    def _without_forgotten(
        self, statements: Statements, tombstones: Tombstones, logged: UnwrittenEntry
    ) -> UnwrittenEntry:
        entry, space = logged.entry, logged.entry.space
        receipt = entry.receipt
        texts = {text for text in (entry.query, receipt and receipt.query) if text}
        if not texts:
            return logged
        scope = Scope() if space is None else self._scope(statements, space)
        found = telling(tombstones.find(scope, texts))
        if not found:
            return logged
        if receipt is not None and receipt.query in found:
            receipt = receipt._replace(query=with_marks(receipt.query, found[receipt.query]))
        query = with_marks(entry.query, found.get(entry.query, ()))
        return logged._replace(entry=replace(entry, query=query, receipt=receipt))

    # Reading

    @abstractmethod
    def _reading(
        self, *, once: bool = False, logged: bool = True, expected: Expected | None = None
    ) -> AbstractContextManager[Statements]:
        """Return statements that all see one state of the store; `once` for a single statement.

        With `logged`, and outside a snapshot, they see the log and the uses of all recalls before. A server is
        asked for what is `expected` in the same round trip.
        """

    def _rebuild_if_outdated(self, rebuild: Callable[[Any], None]) -> None:
        """Rebuild the text index and the claims if another version has made them."""

        current = f"{WORDS_VERSION}.{CLAIMS_VERSION}"

        def rebuild_once(statements: Statements) -> None:
            if statements.value("meta_get", key="words") != current:
                rebuild(statements)
                statements.run("meta_set", key="words", value=current)

        if self._rows("meta_get", key="words") != [(current,)]:
            self._write(rebuild_once)

    def _rows(self, name: str, /, **values: object) -> list[Row]:
        with self._reading(once=True, expected={name: values}) as statements:
            return statements.rows(name, **values)

    def _unlogged_rows(self, name: str, /, **values: object) -> list[Row]:
        """Return rows that depend neither on the log nor on uses, so that nothing is written before."""
        with self._reading(once=True, logged=False, expected={name: values}) as statements:
            return statements.rows(name, **values)

    def _records(self, name: str, /, **values: object) -> list[Record]:
        with self._reading(once=True, expected={name: values}) as statements:
            return self._converted(statements, statements.rows(name, **values))

    def _scoped_rows(self, name: str, /, **values: object) -> list[tuple[Row, Scope]]:
        """Return rows whose third column is a space, each with its scope."""
        with self._reading(once=True, expected={name: values}) as statements:
            rows = statements.rows(name, **values)
            return [(row, self._scope(statements, row[2])) for row in rows]

    def _converted(self, statements: Statements, rows: Sequence[Row]) -> list[Record]:
        """Return the records of rows of memories, with the uses that a snapshot does not see."""
        unwritten = statements.unwritten
        if unwritten:
            rows = [unwritten.counted_in(row) for row in rows]
        return [record_of(row, self._scope(statements, row[2])) for row in rows]

    def _scope(self, statements: Statements, space: int) -> Scope:
        """Return the scope of a space, which is cached if the space is committed."""
        scopes = self._shared.scopes
        scope = scopes.get(space)
        if scope is None:
            ((*fields,),) = statements.rows("space_scope", space=space)
            scope = scope_of(fields)
            if statements.committed:
                if len(scopes) >= MOST_SCOPES:
                    scopes.clear()
                scopes[space] = scope
        return scope

    @property
    def adopted(self) -> int:
        """The number of the last adoption of a policy that a read or a transaction of this process has seen."""
        return self._shared.adopted

    def _saw(self, adopted: int) -> None:
        """Note the number of an adoption that was read, unless a unit of work may still take it back."""
        if self._local.unit is None:
            self._shared.saw(adopted)

    def _check_scopes(self, statements: Statements) -> Iterator[Problem]:
        """Compare the cached scopes with their rows."""
        cached = dict(self._shared.scopes)
        stored = {row[0]: scope_of(row[1:]) for row in statements.rows("scopes_of", spaces=list(cached))}
        for space, scope in cached.items():
            if stored.get(space) != scope:
                detail = f"space {space} is cached as {scope} and stored as {stored.get(space)}"
                yield Problem(code="scope_cache", detail=detail)
