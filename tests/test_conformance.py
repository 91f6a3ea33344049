"""The conformance tests for rules, rerankers and embedders: the product passes them, and faults do not."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from memotherm import DEFAULT_RULES, Memory, Move, Rule, Select, Settings, Situation, Tier
from memotherm.embed import Embedder, resolve
from memotherm.embed.protocol import Reranker
from memotherm.testing import EmbedderConformance, HashEmbedder, RerankerConformance, RuleConformance


@pytest.fixture(params=DEFAULT_RULES, ids=lambda rule: rule.id)
def rule(request: pytest.FixtureRequest) -> Rule:
    """Each built-in rule."""
    found: Rule = request.param
    return found


class TestBuiltInRules(RuleConformance):
    """Every built-in rule passes."""

    settings = Settings(retention="10/10/7")

    @pytest.fixture(autouse=True)
    def _take(self, rule: Rule) -> None:
        self._rule = rule

    def make_rule(self) -> Rule:
        return self._rule

    def asked(self, memories: Iterable[Memory] | None = None) -> list[tuple[Memory, Situation]]:
        """The memories of the sample are selected once for all tests of a rule."""
        return super().asked(memories) if memories is not None else _asked(self._rule)


@cache
def _asked(rule: Rule) -> list[tuple[Memory, Situation]]:
    tested = TestBuiltInRules()
    tested._rule = rule
    return RuleConformance.asked(tested)


class WordOverlap:
    """Counts common words."""

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        asked = set(query.lower().split())
        return [float(len(asked & set(text.lower().split()))) for text in texts]


class TestReranker(RerankerConformance):
    def make_reranker(self) -> Reranker:
        return WordOverlap()


class TestHashEmbedder(EmbedderConformance):
    def make_embedder(self) -> Embedder:
        return HashEmbedder()


class TestLocalEmbedder(EmbedderConformance):
    def make_embedder(self) -> Embedder:
        return resolve("local")


class Flapping:
    """Moves what is warm to cold and what is cold to warm."""

    id = "house.flapping"
    selects = Select()

    def decide(self, memory: Memory, situation: Situation) -> Move | None:
        other = {Tier.WARM: Tier.COLD, Tier.COLD: Tier.WARM}.get(memory.tier)
        return None if other is None else Move.of(memory, other, "changed its mind")


class Moody(Flapping):
    """Decides at random."""

    def decide(self, memory: Memory, situation: Situation) -> Move | None:
        return super().decide(memory, situation) if random.random() < 0.5 else None


class Meddling(Flapping):
    """Changes the memory that it decides."""

    def decide(self, memory: Memory, situation: Situation) -> Move | None:
        memory.metadata["seen"] = True  # type: ignore[index]
        return None


@pytest.mark.parametrize(
    ("rule", "test"),
    [
        (Flapping, RuleConformance.test_a_second_run_moves_nothing_back),
        (Moody, RuleConformance.test_it_decides_the_same_for_the_same_memory),
        (Meddling, RuleConformance.test_it_changes_nothing_itself),
    ],
)
def test_a_faulty_rule_is_found(rule: Callable[[], Rule], test: Callable[[RuleConformance], None]) -> None:
    """A rule that flaps, that is not deterministic, or that changes its argument."""

    class Tested(RuleConformance):
        def make_rule(self) -> Rule:
            return rule()

    with pytest.raises(AssertionError):
        test(Tested())


def test_a_faulty_reranker_and_embedder_are_found() -> None:
    """One score too few, and rows that are not of unit length."""

    class Short(WordOverlap):
        def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
            return super().score(query, texts)[1:]

    class Long(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            return 2 * super().embed(texts)

    class ShortTested(RerankerConformance):
        def make_reranker(self) -> Reranker:
            return Short()

    class LongTested(EmbedderConformance):
        def make_embedder(self) -> Embedder:
            return Long()

    with pytest.raises(AssertionError):
        ShortTested().test_it_scores_every_text()
    with pytest.raises(AssertionError):
        LongTested().test_it_returns_a_row_of_unit_length_for_each_text()


def test_the_sample_has_memories_for_every_built_in_rule(rule: Rule) -> None:
    """So that no conformance test passes for want of memories."""
    assert _asked(rule)
