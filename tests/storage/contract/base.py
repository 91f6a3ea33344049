"""The base of the contract tests: a new store for each test, a clock, an embedder, and helpers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from memotherm.model import Memory, Scope, Tier
from memotherm.model.actions import Action
from memotherm.remember.draft import Draft, memory_of
from memotherm.settings import Settings
from memotherm.storage.store import Store, Transaction
from memotherm.storage.values import Cause, RecallEntry, Record, Search
from memotherm.testing import FakeClock, HashEmbedder
from memotherm.text.words import query_words

Vectors = NDArray[np.float32]

EVERYONE = Scope()
LIVE = (Tier.HOT, Tier.WARM)
_MANY = 1000


class _Interrupted(Exception):
    """Raised to abort a transaction or a unit of work."""


class Contract:
    """A new store before each test; afterwards its `check()` must return no problems."""

    def open_store(self, folder: Path) -> Store:
        """Open a store whose files are in a folder; override this."""
        raise NotImplementedError

    def setup_method(self) -> None:
        """Open a new store in an empty folder."""
        self._home = TemporaryDirectory(prefix="memotherm-")
        self.folder = Path(self._home.name)
        self.clock = FakeClock()
        self.embedder = HashEmbedder()
        self.store = self.open_store(self.folder)

    def teardown_method(self) -> None:
        """Check the store and close it."""
        try:
            assert self.store.check() == []
        finally:
            self.store.close()
            self._home.cleanup()

    # Writing

    @property
    def transaction(self) -> Transaction:
        """Calls of its methods each run in a transaction of their own."""
        return cast("Transaction", _SingleCalls(self.store))

    def cause(self, action: Action = Action.UPDATE, rule: str = "explicit", why: str = "") -> Cause:
        """Return a cause with the current time."""
        return Cause(action=action, at=self.clock(), rule=rule, why=why)

    def memory(self, content: str, scope: Scope = EVERYONE, **fields: Any) -> Memory:
        """Return a memory that is not stored yet; `fields` are those of `Memory`."""
        made = memory_of(Draft(content=content), scope, self.clock(), Settings())
        return replace(made, **fields)

    def vector(self, text: str) -> Vectors:
        """Return the vector of a text."""
        row: Vectors = self.embedder.embed([text])[0]
        return row

    def serving(self) -> int:
        """Let the embedder serve, and return its number."""
        return self.store.register_embedder(self.embedder.name, self.embedder.dimensions).number

    def stored(
        self,
        content: str,
        scope: Scope = EVERYONE,
        *,
        parts: Sequence[str] | None = None,
        **fields: Any,
    ) -> Record:
        """Store a memory with the vectors of its parts, or one of the whole, if an embedder serves."""
        texts = [content] if parts is None else parts
        vectors = self.embedder.embed(texts) if texts and self.store.identity() is not None else None
        memory = self.memory(content, scope, **fields)
        return self.store.transact(
            lambda transaction: transaction.insert(
                transaction.space(scope), memory, vectors, self.cause(Action.REMEMBER)
            )
        )

    def changed(self, record: Record, **fields: Any) -> Record:
        """Change fields of a stored memory."""
        current = self.now(record)
        return self.transaction.change(current, replace(current.memory, **fields), self.cause(Action.UPDATE))

    def purged(self, record: Record) -> Record:
        """Erase a stored memory."""
        return self.transaction.purge(self.now(record), self.cause(Action.PURGE))

    @contextmanager
    def aborted_work(self) -> Iterator[None]:
        """Run a unit of work that fails after its last change."""
        with suppress(_Interrupted), self.store.unit_of_work():
            yield
            raise _Interrupted

    def aborted(self, change: Callable[[Transaction], object]) -> None:
        """Run a transaction that fails after its last change."""

        def interrupted(transaction: Transaction) -> None:
            change(transaction)
            raise _Interrupted

        with pytest.raises(_Interrupted):
            self.store.transact(interrupted)

    def log(self, space: int, *, keep: bool = True, **fields: Any) -> None:
        """Write an entry of the recall log; `fields` are those of `RecallEntry`."""
        given = {"query": "what?", "tiers": (), "micros": 1, "candidates": (), "returned": (), **fields}
        self.store.log_recall(RecallEntry(at=self.clock(), space=space, **given), keep=keep)

    # Reading

    def seen(self, scope: Scope = EVERYONE) -> tuple[int, ...]:
        """Return the spaces that a scope can see."""
        return self.store.spaces(scope)

    def search(self, scope: Scope = EVERYONE, tiers: Sequence[Tier] = LIVE, **fields: Any) -> Search:
        """Return what reads the live memories that a scope can see now, or others."""
        given = {"spaces": self.seen(scope), "now": self.clock(), "tiers": tuple(tiers), **fields}
        return Search(**given)

    def now(self, record: Record) -> Record:
        """Return a stored memory as it is now."""
        return self.store.records([record.no])[record.no]

    def listed(self, scope: Scope = EVERYONE, **fields: Any) -> list[str]:
        """Return the contents that a listing shows."""
        records = self.store.find(self.search(scope, tuple(Tier), **fields))
        return [record.memory.content for record in records]

    def by_words(
        self,
        query: str,
        scope: Scope = EVERYONE,
        tiers: Sequence[Tier] = LIVE,
        limit: int = _MANY,
        **fields: Any,
    ) -> list[int]:
        """Return the numbers of the memories that a query finds by its words."""
        return list(self.store.search_text(self.search(scope, tiers, **fields), query_words(query), limit).scores)

    def by_vector(
        self,
        query: str,
        scope: Scope = EVERYONE,
        tiers: Sequence[Tier] = LIVE,
        limit: int = _MANY,
        **fields: Any,
    ) -> list[int]:
        """Return the numbers of the memories that a query finds by its vector."""
        return list(self.store.search_vector(self.search(scope, tiers, **fields), self.vector(query), limit))


class _SingleCalls:
    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            return self._store.transact(lambda transaction: getattr(transaction, name)(*arguments, **named))

        return call


def numbers(records: Iterable[Record]) -> list[int]:
    """Return the numbers of the records."""
    return [record.no for record in records]
