"""What every part of a store on an SQL database is made of: transactions, rows and scopes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import Any, Generic, Self, TypeVar

from memotherm.errors import LeaseLost, StoreError
from memotherm.model import Scope
from memotherm.model.clock import to_micros
from memotherm.model.process import OwnProcess
from memotherm.storage.log_writer import Logged, LogWriter
from memotherm.storage.rows import record_of, scope_of
from memotherm.storage.statements import Row, Statements
from memotherm.storage.transaction import settle_words, words_outdated
from memotherm.storage.values import Record

__all__ = ["MOST_SCOPES", "Outdated", "SqlBase", "SqlClaim"]

PartStore = TypeVar("PartStore", bound="SqlBase")
Result = TypeVar("Result")

_MICROS_PER_DAY = 86_400_000_000
#: How many scopes are cached, and how many spaces whose scope is.
MOST_SCOPES = 10_000


class Outdated(StoreError):
    """What an optimistic read has assumed is no longer so; the read is repeated."""


class _Shared:
    """What all views of a store know together."""

    def __init__(self, window_days: float) -> None:
        self.set_window(window_days)
        #: The number of the last adoption of a policy that was seen; a replica may still show an earlier one.
        self.adopted = 0
        #: The hash of the policy in the shadow; empty without one.
        self.shadow = ""

    def set_window(self, days: float) -> None:
        """Set the days in which uses count as recent."""
        self.window_micros = int(days * _MICROS_PER_DAY)

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


class SqlBase(ABC):
    """The transactions of a store, and how rows become values."""

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
        self._shared = _Shared(use_window_days)
        self._scopes = scopes
        self._log = LogWriter(self._process, self._write_log, threaded=not log_at_once)

    def _view(self) -> Self:
        """Return another object for the same store, which shares its connections and caches."""
        view = object.__new__(type(self))
        view.__dict__.update(self.__dict__)
        return view

    def optimistically(self, read: Callable[[], Result]) -> Result:
        """Return the result of a read that asks for spaces and the serving embedder, and then begins a snapshot."""
        return read()

    @abstractmethod
    def write(self, *, made_by: int | None = None) -> AbstractContextManager[Any]:
        """Begin a transaction."""

    def transact(self, change: Callable[[Any], Result], *, made_by: int | None = None) -> Result:
        """Return the result of a function that is called with a transaction."""
        with self.write(made_by=made_by) as transaction:
            return change(transaction)

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
    def _write_log(
        self, tenant: str | None, waiting: Sequence[Logged], committing: AbstractContextManager[None]
    ) -> None:
        """Write entries in one transaction; it is committed inside a context."""

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
