"""From what two searches found to one order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thermocline import Priority, Settings, Tier
from thermocline.rank import Evidence, Ranked, Weights, rank, text_scores

_DAY = 86_400_000_000
_NOW = 1000 * _DAY
_WEIGHTS = Weights.of(Settings())


def found(no: int, vector: float | None = None, text: float | None = None, **fields: Any) -> Evidence:
    values = {"priority": Priority.NORMAL, "tier": Tier.WARM, "access_count": 0, "accessed_at": None, **fields}
    return Evidence(no=no, vector=vector, text=text, **values)


def order(*candidates: Evidence, weights: Weights = _WEIGHTS, min_score: float = 0.0) -> list[int]:
    return [each.no for each in rank(candidates, weights, _NOW, min_score)]


def one(each: Evidence, *others: Evidence, weights: Weights = _WEIGHTS) -> Ranked:
    return next(ranked for ranked in rank([each, *others], weights, _NOW, 0.0) if ranked.no == each.no)


def test_both_legs_count_by_their_weights() -> None:
    """0.7 of meaning and 0.3 of words; a leg that did not find a memory gives nothing."""
    both, meaning, wording = found(1, 0.5, 1.0), found(2, 0.9), found(3, None, 0.9)

    assert one(both, meaning, wording).score == pytest.approx(0.65)
    assert one(meaning, both, wording).score == pytest.approx(0.63)
    assert one(wording, both, meaning).score == pytest.approx(0.27)
    assert order(both, meaning, wording) == [1, 2, 3]


def test_a_leg_that_took_no_part_takes_nothing_away() -> None:
    """Text-only and vector-only searches use the whole range."""
    assert one(found(1, None, 1.0)).score == pytest.approx(1.0)
    assert one(found(1, 0.8, None)).score == pytest.approx(0.8)
    assert one(found(1)).score == 0.0


def test_equal_scores_are_newest_first() -> None:
    """The same question has the same answer, whatever order the candidates came in."""
    assert order(found(1, 0.5), found(3, 0.5), found(2, 0.5)) == [3, 2, 1]


def test_a_priority_boosts_the_score_but_not_the_relevance() -> None:
    """Boosts order the hits; they are visible in the reason."""
    critical, normal, low = (
        found(number, 0.5, priority=priority)
        for number, priority in enumerate((Priority.CRITICAL, Priority.NORMAL, Priority.LOW))
    )

    assert order(low, normal, critical) == [0, 1, 2]
    assert one(critical).score == pytest.approx(0.8)
    assert one(critical).why.relevance == pytest.approx(0.5)
    assert one(low).why.boost == pytest.approx(-0.1)


def test_a_boost_admits_no_junk() -> None:
    """The threshold looks at relevance alone."""
    assert order(found(1, 0.1, priority=Priority.CRITICAL), found(2, 0.4), min_score=0.35) == [2]


def test_a_keyword_match_passes_a_threshold_meant_for_vectors() -> None:
    """A strong word match is not lost because its meaning was not near."""
    assert order(found(1, 0.3, 0.9), found(2, 0.3, 0.1), min_score=0.6) == [1]


def test_use_adds_a_little_and_fades() -> None:
    """Recent and frequent use breaks near ties; it never exceeds its weight."""
    fresh = found(1, 0.5, access_count=20, accessed_at=_NOW)
    month_old = found(2, 0.5, access_count=20, accessed_at=_NOW - 30 * _DAY)
    rare = found(3, 0.5, access_count=1, accessed_at=_NOW)
    future = found(4, 0.5, access_count=10_000, accessed_at=_NOW + 5 * _DAY)

    assert one(fresh).why.use == pytest.approx(0.02)
    assert one(month_old).why.use == pytest.approx(0.01)
    assert 0 < one(rare).why.use < 0.01
    assert one(future).why.use == pytest.approx(0.02)
    assert one(found(5, 0.5)).why.use == 0.0


def test_lower_tiers_rank_lower_only_where_that_is_asked() -> None:
    """A query over all tiers on equal terms takes a little off warm and more off cold."""
    hot, warm, cold = (found(tier.rank, 0.5, tier=tier) for tier in Tier)

    assert order(hot, warm, cold) == [2, 1, 0]
    assert order(hot, warm, cold, weights=Weights.of(Settings(), penalise=True)) == [0, 1, 2]
    assert one(cold, weights=Weights.of(Settings(), penalise=True)).why.tier == pytest.approx(-0.1)


def test_text_scores_are_relative_to_the_best_match() -> None:
    """The best match of a query is 1, whatever BM25 says; nothing is made of nothing."""
    assert text_scores({1: 12.0, 2: 3.0}) == {1: 1.0, 2: 0.25}
    assert text_scores({}) == {}
    assert text_scores({1: 0.0}) == {1: 0.0}


_EVIDENCE = st.lists(
    st.builds(
        found,
        st.integers(1, 10_000),
        st.none() | st.floats(0, 1),
        st.none() | st.floats(0, 1),
        priority=st.sampled_from(Priority),
        tier=st.sampled_from(Tier),
        access_count=st.integers(0, 1000),
        accessed_at=st.none() | st.integers(0, 2 * _NOW),
    ),
    unique_by=lambda each: each.no,
    max_size=30,
)


@given(evidence=_EVIDENCE, fusion=st.sampled_from(["weighted", "rrf"]), random=st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_the_order_of_the_candidates(
    evidence: list[Evidence], fusion: str, random: Any
) -> None:
    """Ranking is a function of the set; relevance stays in [0, 1]."""
    weights = replace(_WEIGHTS, fusion=fusion)
    shuffled = list(evidence)
    random.shuffle(shuffled)
    ranked = rank(evidence, weights, _NOW, 0.0)

    assert rank(shuffled, weights, _NOW, 0.0) == ranked
    assert all(-1e-9 <= each.why.relevance <= 1 + 1e-9 for each in ranked)
    assert len(ranked) == len(evidence)


@given(evidence=_EVIDENCE, fusion=st.sampled_from(["weighted", "rrf"]), low=st.floats(0, 1), high=st.floats(0, 1))
def test_a_higher_threshold_keeps_fewer_in_the_same_order(
    evidence: list[Evidence], fusion: str, low: float, high: float
) -> None:
    """A threshold removes and never reorders."""
    low, high = sorted((low, high))
    weights = replace(_WEIGHTS, fusion=fusion)
    wide, narrow = rank(evidence, weights, _NOW, low), rank(evidence, weights, _NOW, high)

    kept = {each.no for each in narrow}
    assert narrow == [each for each in wide if each.no in kept]


def test_weights_of_nothing_rank_everything_equal() -> None:
    """A weight of 0 means 0, and dividing by it is not attempted."""
    silent = replace(_WEIGHTS, vector=0.0, text=0.0)

    for fusion in ("weighted", "rrf"):
        assert order(found(1, 0.9), found(2, 0.1, 1.0), weights=replace(silent, fusion=fusion)) == [2, 1]
