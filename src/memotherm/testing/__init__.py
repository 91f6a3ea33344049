"""Fakes and conformance tests for programs that use or extend Memotherm; no test framework required.

    from memotherm.testing import FakeClock, HashEmbedder

    clock = FakeClock()
    mem = memotherm.open(":memory:", embedder=HashEmbedder(), clock=clock)
    clock.advance(days=30)

The tests of a rule, a reranker or an embedder inherit the conformance tests:

    from memotherm.testing import EmbedderConformance

    class TestMyEmbedder(EmbedderConformance):
        def make_embedder(self):
            return MyEmbedder()
"""

from __future__ import annotations

from memotherm.testing.conformance import EmbedderConformance, RerankerConformance, RuleConformance
from memotherm.testing.fakes import FakeClock, HashEmbedder

__all__ = ["EmbedderConformance", "FakeClock", "HashEmbedder", "RerankerConformance", "RuleConformance"]
