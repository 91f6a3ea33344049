"""What holds for every question, whatever is stored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

import memotherm
from memotherm import Memotherm, Priority, Recall, Settings, Tier
from memotherm.testing import FakeClock, HashEmbedder
from tests.helpers import examples
from tests.stores import a_store, limits

_WORDS = ("otter", "river", "deploy", "frozen", "friday", "metric", "東京", "café", "the")

texts = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=5).map(" ".join)
memories = st.fixed_dictionaries(
    {
        "content": texts,
        "tier": st.sampled_from(Tier),
        "priority": st.sampled_from([Priority.NORMAL, Priority.NORMAL, *Priority]),
        "kind": st.sampled_from(["fact", "task"]),
    }
)
configs = st.builds(
    Settings,
    fusion=st.sampled_from(["evidence", "weighted", "rrf"]),
    duplicate_window_hours=st.sampled_from([0, 24]),
    max_pinned=st.just(1000),
    max_critical=st.just(1000),
)


exact_limits = st.sampled_from([0, 5, 20_000])


@contextmanager
def filled(config: Settings, exact: int, some: list[dict[str, object]]) -> Iterator[Memotherm]:
    with (
        a_store() as place,
        limits(exact=exact),
        memotherm.open(place, embedder=HashEmbedder(), clock=FakeClock(), settings=config) as mem,
    ):
        mem.remember_many(some)
        yield mem


def told(recall: Recall) -> list[tuple[str, float]]:
    return [(hit.memory.id, hit.score) for hit in recall]


@settings(max_examples=examples(40))
@given(
    config=configs,
    exact=exact_limits,
    some=st.lists(memories, max_size=25),
    query=texts,
    tiers=st.sets(st.sampled_from(Tier)),
)
def test_the_answer_for_k_begins_the_answer_for_k_plus_1(
    config: Settings, exact: int, some: list[dict[str, object]], query: str, tiers: set[Tier]
) -> None:
    """The limit cuts the answer and changes nothing else; asking twice gives the same."""
    with filled(config, exact, some) as mem:
        where = sorted(tiers)
        answers = [told(mem.recall(query, limit=limit, tiers=where, track=False)) for limit in range(27)]

        for limit, (shorter, longer) in enumerate(pairwise(answers)):
            assert longer[: len(shorter)] == shorter
            assert len(shorter) <= limit
        assert told(mem.recall(query, limit=26, tiers=where, track=False)) == answers[-1]


@settings(max_examples=examples(40))
@given(
    config=configs,
    exact=exact_limits,
    some=st.lists(memories, max_size=25),
    query=texts,
    min_score=st.sampled_from([0.0, 0.35]),
)
def test_scores_are_in_range_in_order_and_explained(
    config: Settings, exact: int, some: list[dict[str, object]], query: str, min_score: float
) -> None:
    """Every part of a score lies where it is said to lie, and the parts add up to it."""
    with filled(config, exact, some) as mem:
        recall = mem.recall(query, limit=100, tiers=tuple(Tier), min_score=min_score)
        for hit in recall:
            why = hit.why
            assert 0 <= why.relevance <= 1
            assert all(leg is None or 0 <= leg <= 1 for leg in (why.vector, why.text))
            assert abs(hit.score - (why.relevance + why.use + why.boost + why.tier + why.newer)) < 1e-9
            assert f"{hit.score:.2f}" in hit.explain()
        rest = [hit for hit in recall if hit.memory.priority is not Priority.PINNED]
        assert [hit.score for hit in rest] == sorted((hit.score for hit in rest), reverse=True)
        assert all(max(hit.why.relevance, hit.why.text or 0) >= min_score for hit in rest)
        assert {hit.memory.id for hit in recall}.isdisjoint(hit.memory.id for hit in recall.pinned)


@settings(max_examples=examples(25))
@given(some=st.lists(memories, max_size=25), query=texts, fusion=st.sampled_from(["evidence", "weighted", "rrf"]))
def test_exact_and_coded_vectors_give_the_same_answer(some: list[dict[str, object]], query: str, fusion: str) -> None:
    """Rescoring with the exact vectors leaves no trace of the codes."""
    base = Settings(max_pinned=1000, max_critical=1000, duplicate_window_hours=0, fusion=fusion)
    answers = []
    for limit in (0, 20_000):
        with filled(base, limit, some) as mem:
            recall = mem.recall(query, limit=100, tiers=tuple(Tier), track=False)
            answers.append([(hit.memory.content, hit.memory.tier, hit.score) for hit in recall])

    assert answers[0] == answers[1]
