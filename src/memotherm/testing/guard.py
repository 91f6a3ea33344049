"""A store that refuses to be read inside its own transactions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from memotherm.storage.store import Store, Transaction

__all__ = ["guarded"]


def guarded(store: Store) -> Store:
    """Return a store that raises AssertionError when a thread calls a method of it inside a transaction.

    Inside a transaction, the transaction itself must be read: a read of the store takes a second connection,
    which does not see what the transaction has written, and never comes where the pool has only one.
    """
    return cast("Store", _GuardedStore(store, threading.local()))


class _GuardedStore:
    def __init__(self, store: Store, state: threading.local) -> None:
        self._store = store
        self._state = state

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        self._require_outside(name)
        return getattr(self._store, name)

    @contextmanager
    def write(self, **arguments: Any) -> Iterator[Transaction]:  # noqa: ANN401
        self._require_outside("write")
        with self._store.write(**arguments) as transaction, self._inside():
            yield transaction

    def transact(self, change: Callable[[Transaction], Any], **arguments: Any) -> Any:  # noqa: ANN401
        self._require_outside("transact")

        def guarded_change(transaction: Transaction) -> Any:  # noqa: ANN401
            with self._inside():
                return change(transaction)

        return self._store.transact(guarded_change, **arguments)

    def for_tenant(self, tenant: str | None) -> Store:
        return self._guarded(self._store.for_tenant(tenant))

    def for_recall(self) -> Store:
        return self._guarded(self._store.for_recall())

    def parts(self, *arguments: Any) -> Sequence[Store]:  # noqa: ANN401
        return [self._guarded(part) for part in self._store.parts(*arguments)]

    def claims(self, *arguments: Any) -> Generator[_GuardedClaim, None, None]:  # noqa: ANN401
        for claim in self._store.claims(*arguments):
            yield _GuardedClaim(claim, self._guarded(claim.store))

    def _guarded(self, store: Store) -> Store:
        return cast("Store", _GuardedStore(store, self._state))

    @contextmanager
    def _inside(self) -> Iterator[None]:
        self._state.inside = True
        try:
            yield
        finally:
            self._state.inside = False

    def _require_outside(self, name: str) -> None:
        if getattr(self._state, "inside", False):
            raise AssertionError(f"{name} of the store was used inside a transaction: use the transaction")


class _GuardedClaim:
    def __init__(self, claim: Any, store: Store) -> None:  # noqa: ANN401
        self.store = store
        self.renew = claim.renew
