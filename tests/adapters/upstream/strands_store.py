"""Let the tests of strands-agents use our store instead of `TestMemoryStore`."""

from typing import Any

import strands.vended_memory_stores as stores
import strands.vended_memory_stores.test_memory_store as package
import strands.vended_memory_stores.test_memory_store.store as module

import memotherm
from memotherm.adapters.strands import MemothermMemoryStore


class Store(MemothermMemoryStore):
    """A store that is opened as `TestMemoryStore` is."""

    __test__ = False

    def __init__(self, *, path: str, **arguments: Any) -> None:
        super().__init__(memotherm.open(f"{path}.db", embedder="none"), **arguments)


stores.TestMemoryStore = package.TestMemoryStore = module.TestMemoryStore = Store
