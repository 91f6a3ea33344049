"""What tests of programs, embedders and stores around Thermocline need; no test framework required.

    from thermocline.testing import FakeClock, HashEmbedder

    clock = FakeClock()
    mem = thermocline.open(":memory:", embedder=HashEmbedder(), clock=clock)
    clock.advance(days=30)

A store of your own proves that it keeps the contract by inheriting the tests of it:

    from thermocline.testing import StoreConformance

    class TestMyStore(StoreConformance):
        def open_store(self, folder):
            return MyStore(folder / "memories")
"""

from __future__ import annotations

from thermocline.testing.clock import FakeClock
from thermocline.testing.conformance import CheckpointConformance, SharedStoreConformance, StoreConformance
from thermocline.testing.embedder import HashEmbedder

__all__ = [
    "CheckpointConformance",
    "FakeClock",
    "HashEmbedder",
    "SharedStoreConformance",
    "StoreConformance",
]
