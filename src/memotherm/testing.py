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

import copy
import functools
import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product

import numpy as np
from numpy.typing import NDArray

from memotherm.embed import Embedder, embed_query, split
from memotherm.embed.calibration import Calibration
from memotherm.embed.protocol import Reranker
from memotherm.model import Memory, Move, Priority, Retention, Tier
from memotherm.settings import Settings
from memotherm.text.words import words
from memotherm.tiers.policy_checks import stored_examples
from memotherm.tiers.rules.rule import STAY, Rule, RuleSet, Situation, checked_rules

__all__ = ["EmbedderConformance", "FakeClock", "HashEmbedder", "RerankerConformance", "RuleConformance"]


Vectors = NDArray[np.float32]

_START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


class FakeClock:
    """A clock for tests: `memotherm.open(..., clock=FakeClock())`."""

    def __init__(self, start: datetime = _START) -> None:
        #: The time; may be set.
        self.now = start

    def __call__(self) -> datetime:
        """Return the time; reading the clock does not move it."""
        return self.now

    def advance(
        self,
        duration: timedelta = timedelta(0),
        *,
        weeks: float = 0,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        seconds: float = 0,
    ) -> datetime:
        """Move the clock forward and return the new time."""
        self.now += duration + timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
        return self.now

    def __repr__(self) -> str:
        return f"FakeClock({self.now.isoformat()})"


#: Unrelated texts have cosines around 0, texts that share half of their words around .5.
_CALIBRATION = Calibration(((0.15, 0.0), (0.40, 0.40), (0.70, 0.85), (0.95, 1.0)))


class HashEmbedder:
    """Vectors from hashed words; another `seed` or `name` makes another embedder with other vectors.

    Args:
        dimensions: The length of a vector.
        seed: Selects the directions of the words.
        max_chars: The longest window; a longer content gets several vectors.
        name: The embedder's name; None makes one of `dimensions` and `seed`.
        record: Append every embedded text to `texts`.
        calibrated: Offer a calibration; without it, the store estimates one.
    """

    def __init__(
        self,
        dimensions: int = 64,
        *,
        seed: int = 0,
        max_chars: int = 2000,
        name: str | None = None,
        record: bool = False,
        calibrated: bool = True,
    ) -> None:
        self.calibration = _CALIBRATION if calibrated else None
        self.dimensions = dimensions
        self.max_chars = max_chars
        self.name = name or f"hash-{dimensions}-{seed}"
        #: The texts embedded so far, with `record`.
        self.texts: list[str] = []
        self._record = record
        key = f"{seed}" if name is None else f"{name}-{seed}"
        self._direction = functools.lru_cache(maxsize=10_000)(functools.partial(_direction, dimensions, key))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row of unit length for each text."""
        if self._record:
            self.texts += texts
        rows = np.empty((len(texts), self.dimensions), np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[:] = self._row(text)
        return rows

    def _row(self, text: str) -> Vectors:
        total: Vectors = sum((self._direction(word) for word in words(text)), np.zeros(self.dimensions, np.float32))
        if not total.any():
            # No words, or words that cancel out: use a direction that is always the same.
            total = self._direction(f"\x00{text}")
        return np.asarray(total / np.linalg.norm(total), dtype=np.float32)

    def __repr__(self) -> str:
        return f"<HashEmbedder {self.name}>"


def _direction(dimensions: int, key: str, word: str) -> Vectors:
    text = f"{key}:{word}".encode("utf-8", "surrogatepass")
    drawn = np.frombuffer(hashlib.shake_256(text).digest((dimensions + 7) // 8), np.uint8)
    return np.unpackbits(drawn)[:dimensions].astype(np.float32) * 2 - 1


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
