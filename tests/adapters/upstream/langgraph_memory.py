"""Let the tests of langgraph-checkpoint use our store instead of `InMemoryStore`."""

from typing import Any

import langgraph.store.memory

from memotherm.adapters.langgraph import MemothermStore


class Store(MemothermStore):
    """A store in memory that ranks as `InMemoryStore` does."""

    def __init__(self, *, index: Any = None) -> None:
        super().__init__(":memory:", index=index, rank="cosine")


langgraph.store.memory.InMemoryStore = Store  # type: ignore[assignment, misc]
