"""Conformance tests for rules, rerankers and embedders of other packages."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product

import numpy as np

from memotherm.embed import Embedder, embed_query, split
from memotherm.embed.protocol import Reranker
from memotherm.model import Memory, Move, Priority, Retention, Tier
from memotherm.settings import Settings
from memotherm.tiers.rules.rule import STAY, Rule, RuleSet, Situation, Stay, checked_rules

_NOW = datetime(2026, 1, 5, 9, tzinfo=UTC)
_TEXTS = ("Otters hold hands", "Die Otter halten Händchen", "カワウソは手をつなぐ", "🦦", "a " * 5000)


class RuleConformance:
    """Tests for every rule. Override `make_rule`, and `settings` or `memories` if needed."""

    settings = Settings()

    def make_rule(self) -> Rule:
        """Return the rule."""
        raise NotImplementedError("override make_rule()")

    def memories(self) -> Iterator[Memory]:
        """Yield memories of every tier, kind, tag, priority, retention and age, with and without metadata."""
        selects = self.make_rule().selects
        kinds = ("fact", "decision", "preference", *(selects.kinds or ()))
        tags = ((), ("blocker",), ("task", "permanent"), tuple(selects.tags or ()))
        wanted = {key: values[0] for key, values in selects.metadata.items() if values}
        metadata: tuple[dict[str, object], ...] = ({}, {"status": "done"}, wanted)
        combinations = product(Tier, kinds, tags, metadata, (0, 40, 400))
        for number, (tier, kind, labels, values, days) in enumerate(combinations):
            priority = tuple(Priority)[number % len(Priority)]
            retention = (Retention.ACTIVE, Retention.ACTIVE, Retention.ARCHIVED, Retention.DELETED)[number % 4]
            moment = _NOW - timedelta(days=days)
            yield Memory(
                id=f"mem_{number:06d}",
                content=_TEXTS[number % len(_TEXTS)],
                kind=kind,
                tags=labels,
                tier=tier,
                priority=priority,
                retention=retention,
                metadata=values,
                tokens=number % 50,
                access_count=number % 7,
                use_weight=number % 7,
                recent_uses=number % 7,
                accessed_at=moment + timedelta(hours=1) if number % 2 else None,
                expires_at=(_NOW + timedelta(days=1), _NOW, None, None, None)[number % 5],
                created_at=moment,
                updated_at=moment,
                tier_since=moment,
                retention_since=moment,
            )

    def test_it_is_a_rule(self) -> None:
        """It has an id, a selection whose durations can be read, and a method decide()."""
        (rule,) = checked_rules([self.make_rule()])
        rule.selects.resolved(self.settings)

    def test_it_decides_the_same_for_the_same_memory(self) -> None:
        """Twice, and by another instance; it returns a Move with a reason, or None."""
        for memory, move in self._decisions():
            again = self.make_rule().decide(memory, self._situation())
            assert again == move, f"{memory!r}: {move!r}, then {again!r}"
            assert move in (None, STAY) or (isinstance(move, Move) and move.why), f"{move!r} needs a reason"

    def test_it_changes_nothing_itself(self) -> None:
        """Neither the memory nor the situation."""
        rule, situation = self.make_rule(), self._situation()
        for memory in self._selected():
            before = copy.deepcopy(memory)
            rule.decide(memory, situation)
            assert memory == before, f"decide() changed {before!r}"
        assert situation == self._situation()

    def test_a_second_run_moves_nothing_back(self) -> None:
        """A memory that it has moved stays where it is, at the same moment."""
        rules = RuleSet([self.make_rule()], self.make_rule().selects.during, self.settings)
        for memory, move in self._decisions():
            if not isinstance(move, Move):
                continue
            retention = move.retention or memory.retention
            moved = replace(memory, tier=move.to, tier_since=_NOW, retention=retention, retention_since=_NOW)
            again = rules.first_move(moved, self._situation())
            assert again is None, f"{move} and then {again}"

    def _situation(self) -> Situation:
        return Situation(now=_NOW, settings=self.settings, relevance=0.9, reason="room is needed")

    def _selected(self) -> Iterator[Memory]:
        selects = self.make_rule().selects.resolved(self.settings)
        return (memory for memory in self.memories() if selects.matches(memory, _NOW))

    def _decisions(self) -> Iterator[tuple[Memory, Move | Stay | None]]:
        rule = self.make_rule()
        return ((memory, rule.decide(memory, self._situation())) for memory in self._selected())


class RerankerConformance:
    """Tests for every reranker. Override `make_reranker`."""

    def make_reranker(self) -> Reranker:
        """Return the reranker."""
        raise NotImplementedError("override make_reranker()")

    def test_it_scores_every_text(self) -> None:
        """One finite number for each, in their order, whatever the language and length."""
        scores = [float(score) for score in self.make_reranker().score("who holds hands?", _TEXTS)]

        assert len(scores) == len(_TEXTS)
        assert all(map(math.isfinite, scores)), scores

    def test_the_score_of_a_text_depends_on_the_query_and_the_text_only(self) -> None:
        """The same alone, among others, in another order, and a second time."""
        reranker = self.make_reranker()
        scores = list(reranker.score("who holds hands?", _TEXTS))

        assert list(reranker.score("who holds hands?", _TEXTS)) == scores
        assert list(reranker.score("who holds hands?", _TEXTS[::-1])) == scores[::-1]

    def test_nothing_is_scored_for_no_texts(self) -> None:
        """An empty list gives an empty list."""
        assert list(self.make_reranker().score("who holds hands?", ())) == []


class EmbedderConformance:
    """Tests for every embedder. Override `make_embedder`."""

    def make_embedder(self) -> Embedder:
        """Return the embedder."""
        raise NotImplementedError("override make_embedder()")

    def test_it_returns_a_row_of_unit_length_for_each_text(self) -> None:
        """Of its dimensions, as 32-bit floating point numbers, whatever the language."""
        embedder = self.make_embedder()
        rows = np.asarray(embedder.embed(_TEXTS[:4]))

        assert rows.shape == (4, embedder.dimensions)
        assert rows.dtype == np.float32
        assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-3)

    def test_a_text_has_one_vector(self) -> None:
        """Alone, among others, a second time, and made by another instance of the same name."""
        first, second = self.make_embedder(), self.make_embedder()
        rows = np.asarray(first.embed(_TEXTS[:3]))

        assert first.name == second.name
        for embedder in (first, second):
            alone = np.vstack([np.asarray(embedder.embed([text])) for text in _TEXTS[:3]])
            assert np.allclose(alone, rows, atol=1e-3)

    def test_a_query_can_be_compared_with_texts(self) -> None:
        """Its vector has the same dimensions and unit length."""
        embedder = self.make_embedder()
        vector = embed_query(embedder, "who holds hands?")

        assert vector.shape == (embedder.dimensions,)
        assert abs(float(np.linalg.norm(vector)) - 1) < 1e-3

    def test_a_long_content_is_split_into_windows(self) -> None:
        """At least one, and each can be embedded."""
        embedder = self.make_embedder()
        windows = split(embedder, _TEXTS[-1])

        assert windows
        assert np.asarray(embedder.embed(windows[:2])).shape == (len(windows[:2]), embedder.dimensions)
