"""Conformance tests for rules, rerankers and embedders of other packages."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product

import numpy as np

from memotherm.embed import Embedder, embed_query, split
from memotherm.embed.protocol import Reranker
from memotherm.model import Memory, Move, Priority, Retention, Tier
from memotherm.settings import Settings
from memotherm.tiers.policy_checks import stored_examples
from memotherm.tiers.rules.rule import STAY, Rule, RuleSet, Situation, checked_rules

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
        wanted = [condition for table in self.make_rule().selects.tables[0] for condition in table]
        named = {condition.field.name: condition.values for condition in wanted}
        kinds = ("fact", "decision", "preference", *named.get("kind", ()))
        tags = ((), ("blocker",), ("task", "permanent"), tuple(named.get("tags", ())))
        asked = {
            name.removeprefix("metadata."): values[0]
            for name, values in named.items()
            if name.startswith("metadata.") and values
        }
        metadata: tuple[dict[str, object], ...] = ({}, {"status": "done"}, asked)
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
        """It has an id, a selection, and a method decide()."""
        checked_rules([self.make_rule()])

    def test_it_decides_the_same_for_the_same_memory(self) -> None:
        """Twice, and by another instance; it returns a Move with a reason, or None."""
        rule = self.make_rule()
        for memory, situation in self.asked():
            move = rule.decide(memory, situation)
            again = self.make_rule().decide(memory, situation)
            assert again == move, f"{memory!r}: {move!r}, then {again!r}"
            assert move in (None, STAY) or (isinstance(move, Move) and move.why), f"{move!r} needs a reason"

    def test_it_changes_nothing_itself(self) -> None:
        """Neither the memory nor the situation."""
        rule = self.make_rule()
        for memory, situation in self.asked():
            before = copy.deepcopy((memory, situation))
            rule.decide(memory, situation)
            assert (memory, situation) == before, f"decide() changed {before!r}"

    def test_a_second_run_moves_nothing_back(self) -> None:
        """A memory that it has moved stays where it is, at the same moment."""
        rule = self.make_rule()
        moves = {memory.id: (memory, rule.decide(memory, situation)) for memory, situation in self.asked()}
        moved = [
            replace(memory, tier=move.to, tier_since=_NOW, retention=move.retention or memory.retention)
            for memory, move in moves.values()
            if isinstance(move, Move)
        ]
        rules = RuleSet([rule], rule.selects.during)
        for memory, situation in self.asked([replace(memory, retention_since=_NOW) for memory in moved]):
            again = rules.decide(rule, memory, situation)
            assert not isinstance(again, Move), f"{moves[memory.id][1]} and then {again}"

    def asked(self, memories: Iterable[Memory] | None = None) -> list[tuple[Memory, Situation]]:
        """Return those of some memories, or of `memories()`, that the rule selects, each with its situation."""
        listed = list(self.memories() if memories is None else memories)
        during = self.make_rule().selects.during
        recalled = dict.fromkeys((memory.id for memory in listed), 1.0) if during == "promote" else {}
        situation = Situation(now=_NOW, settings=self.settings, recalled=recalled, reason="room is needed")
        with stored_examples(listed) as (store, spaces):
            found = RuleSet([self.make_rule()], during).asked(store.selector(spaces), situation)
            return [(memory, replace(situation, target=target, relevance=1.0)) for _, memory, target in found]


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
