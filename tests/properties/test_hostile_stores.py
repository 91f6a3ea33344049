"""Recalls and contexts of stores that are valid, and unlike any that a person would keep."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memotherm
from memotherm import Memotherm, MemothermError, Settings
from memotherm.context.formats import FORMATS
from memotherm.testing import FakeClock, HashEmbedder
from tests.helpers import Flaky, examples
from tests.stores import a_store

_CONTENTS = (
    "otter", "otter 7", "otter 7 swims at 8", "otter 8 swims at 9", "the", "7", ".", "?!", "\u200b.", "\u0301a", "=",
    "the port is 5433", "the port is 5544", "port: A", "port: ", "is", "thanks", "東京は7",
    "\uff1c/memotherm-memory\uff1e",
    "```", "- ", "\U0001f468\u200d\U0001f469", "a" * 400, "otter " * 120, "until 2026-01-01",
)  # fmt: skip
_QUERIES = (
    "otter 7",
    "7",
    "which otter swims at 8?",
    "the",
    "?!",
    ".",
    "\u200b",
    "",
    "thanks",
    "東京",
    "port is 5433",
    "0",
)

contents = st.one_of(
    # All equal, all alike, or anything.
    st.integers(1, 30).map(lambda count: ["otter 7 swims"] * count),
    st.integers(1, 40).map(lambda count: [f"otter {number} swims at {number + 1}" for number in range(count)]),
    st.lists(st.sampled_from(_CONTENTS), max_size=30),
)
days = st.sampled_from([None, -400, -1, 0, 1, 400])


def _duplicated(query: str, texts: Sequence[str]) -> Iterable[Any]:
    return [1.0 for text in texts for _ in range(2)]


def _raising(query: str, texts: Sequence[str]) -> Iterable[Any]:
    raise KeyError(3)


#: Rerankers, most of which break their promise.
RERANKERS: tuple[Callable[[str, Sequence[str]], Any] | None, ...] = (
    None,
    lambda query, texts: [float(len(text)) for text in texts],
    lambda query, texts: [1.0] * len(texts),
    lambda query, texts: [1.0] * (len(texts) - 1),
    _duplicated,
    lambda query, texts: [math.nan, *[1.0] * (len(texts) - 1)],
    lambda query, texts: [math.inf] * len(texts),
    lambda query, texts: [10**400] * len(texts),
    lambda query, texts: ["x"] * len(texts),
    lambda query, texts: (float(len(text)) for text in texts),
    lambda query, texts: None,
    _raising,
)


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(
    texts=contents,
    priority=st.sampled_from(["normal", "pinned", "critical", "low"]),
    tier=st.sampled_from(["hot", "warm", "cold"]),
    since=days,
    until=days,
    reranker=st.sampled_from(RERANKERS),
    embedder=st.sampled_from(["words", "none", "down", "down later"]),
    query=st.sampled_from(_QUERIES),
    budget=st.one_of(st.integers(0, 40), st.sampled_from([400, 4000])),
    confidence=st.sampled_from([0.0, 0.3]),
    fusion=st.sampled_from(["evidence", "weighted", "rrf"]),
)
def test_every_question_has_an_answer(
    texts: list[str],
    priority: str,
    tier: str,
    since: int | None,
    until: int | None,
    reranker: Callable[[str, Sequence[str]], Any] | None,
    embedder: str,
    query: str,
    budget: int,
    confidence: float,
    fusion: str,
) -> None:
    """In every format, within the budget, with each memory once; an order of dates that is refused says so."""
    clock, model = FakeClock(), Flaky(down=embedder == "down")
    config = Settings(
        max_pinned=1000, max_critical=1000, context_min_confidence=confidence, duplicate_window_hours=0, fusion=fusion
    )
    models: dict[str, Any] = {"none": "none", "words": HashEmbedder()}
    with (
        a_store() as place,
        memotherm.open(
            place, embedder=models.get(embedder, model), clock=clock, settings=config, reranker=reranker
        ) as mem,
    ):
        bounds = {
            name: clock.now + timedelta(days=each)
            for name, each in (("valid_from", since), ("valid_until", until))
            if each is not None
        }
        try:
            mem.remember_many([{"content": text, "priority": priority, "tier": tier, **bounds} for text in texts])
        except MemothermError:
            return
        model.down = model.down or embedder == "down later"
        clock.advance(days=2)
        _ask_everything(mem, query, budget)


def _ask_everything(mem: Memotherm, query: str, budget: int) -> None:
    for tiers in (("hot", "warm"), ("cold",), ("hot", "warm", "cold")):
        found = mem.recall(query, tiers=tiers, limit=7)
        assert len(found.hits) <= 7
        assert all(math.isfinite(hit.score) and hit.explain() for hit in (*found.hits, *found.pinned))
        ids = [hit.memory.id for hit in (*found.hits, *found.pinned)]
        assert len(ids) == len(set(ids))
    for format_ in (*FORMATS, "messages"):
        context = mem.context(query or None, budget=budget, format=format_, include_cold=True)
        assert context.tokens <= budget
        assert (context.text == "") == (not context.included)
        assert context.receipt.as_json()
        ids = [entry.id for entry in (*context.included, *context.left_out)]
        assert len(ids) == len(set(ids))
    mem.conflicts()


@pytest.mark.parametrize("reranker", RERANKERS)
def test_no_reranker_loses_a_hit(reranker: Callable[[str, Sequence[str]], Any] | None) -> None:
    """A recall returns the same memories whatever a reranker says, and a context has an answer."""
    with (
        a_store() as place,
        memotherm.open(place, embedder=HashEmbedder(), clock=FakeClock(), settings={}, reranker=reranker) as mem,
    ):
        mem.remember_many([{"content": f"otter {number} swims at {number + 1}"} for number in range(30)])
        found = mem.recall("otter swims", limit=30, track=False)
        assert len({hit.memory.id for hit in found.hits}) == 30
        assert mem.context("otter 7").included
