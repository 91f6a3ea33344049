"""Fakes and conformance tests for programs, embedders and stores that use Memotherm; no test framework required.

    from memotherm.testing import FakeClock, HashEmbedder

    clock = FakeClock()
    mem = memotherm.open(":memory:", embedder=HashEmbedder(), clock=clock)
    clock.advance(days=30)

The tests of a rule, a reranker, an embedder or a store inherit the conformance tests:

    from memotherm.testing import StoreConformance

    class TestMyStore(StoreConformance):
        def open_store(self, folder):
            return MyStore(folder / "memories")
"""

from __future__ import annotations

from memotherm.testing.conformance import (
    CheckpointConformance,
    EmbedderConformance,
    RerankerConformance,
    RuleConformance,
    SharedStoreConformance,
    StoreConformance,
)
from memotherm.testing.fakes import FakeClock, HashEmbedder

__all__ = [
    "CheckpointConformance",
    "EmbedderConformance",
    "FakeClock",
    "HashEmbedder",
    "RerankerConformance",
    "RuleConformance",
    "SharedStoreConformance",
    "StoreConformance",
]
