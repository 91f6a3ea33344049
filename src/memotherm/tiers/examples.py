"""Memories that nobody has stored, such as those of tests, in a store in memory: only a store tests rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from memotherm.model import Memory, Scope
from memotherm.model.actions import Action
from memotherm.settings import Settings
from memotherm.storage.open import open_store
from memotherm.storage.store import Store, Transaction
from memotherm.storage.values import Cause


@contextmanager
def stored_examples(memories: Iterable[Memory]) -> Iterator[tuple[Store, tuple[int, ...]]]:
    """Yield a store that holds some memories as they are, and its spaces."""
    store = open_store(":memory:", Settings())

    def fill(transaction: Transaction) -> None:
        for memory in memories:
            cause = Cause(action=Action.REMEMBER, at=memory.created_at)
            transaction.insert(transaction.space(memory.scope), memory, None, cause)

    try:
        store.transact(fill)
        yield store, store.spaces_within(Scope())
    finally:
        store.close()
