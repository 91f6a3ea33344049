"""What tests of programs, embedders and stores around Memotherm need; no test framework required.

    from memotherm.testing import FakeClock, HashEmbedder

    clock = FakeClock()
    mem = memotherm.open(":memory:", embedder=HashEmbedder(), clock=clock)
    clock.advance(days=30)

A store of your own proves that it keeps the contract by inheriting the tests of it:

    from memotherm.testing import StoreConformance

    class TestMyStore(StoreConformance):
        def open_store(self, folder):
            return MyStore(folder / "memories")
"""

from __future__ import annotations

from memotherm.testing.clock import FakeClock
from memotherm.testing.conformance import CheckpointConformance, SharedStoreConformance, StoreConformance
from memotherm.testing.embedder import HashEmbedder

__all__ = [
    "CheckpointConformance",
    "FakeClock",
    "HashEmbedder",
    "SharedStoreConformance",
    "StoreConformance",
]
