"""Fusion of evidence to one order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memotherm import Priority, Settings, Tier
from memotherm.embed.calibration import Calibration
from memotherm.model import Why
from memotherm.recall.evidence import TermMatrix, coverage
from memotherm.recall.rank import limit_scores, newer_first, rank, relevant
from memotherm.recall.values import DEFAULT_WEIGHTS, Evidence, FusionWeights, Ranked, RankedBlock
from memotherm.storage.candidates import Candidates, WordIds

_DAY = 86_400_000_000
_NOW = 1000 * _DAY
_WEIGHTS = FusionWeights.of(Settings())
_WEIGHTED = replace(_WEIGHTS, fusion="weighted")
_FUSIONS = ["evidence", "weighted", "rrf"]


class Identical(Calibration):
    """A cosine is its relevance."""

    @property
    def spread(self) -> float:
        return 0.1


_SCALE = Identical(((0.0, 0.0), (1.0, 1.0)))


class Known(NamedTuple):
    """What is known of one candidate."""

    no: int
    cosine: float | None = None
    text: float | None = None
    priority: Priority = Priority.NORMAL
    tier: Tier = Tier.WARM
    access_count: int = 0
    accessed_at: int | None = None
    coverage: float = 0.0
    author: bool = False
    nearness: float = 0.0


def evidence_of(candidates: Sequence[Known]) -> Evidence:
    columns: list[Any] = [list(column) for column in zip(*candidates, strict=True)] or [[] for _ in Known._fields]
    nos, cosines, texts, priorities, tiers, counts, accessed, covered, authors, near = columns
    return Evidence(
        nos=np.array(nos, np.int64),
        cosines=np.array(cosines, np.float64),
        calibration=_SCALE,
        text_scores={no: text for no, text in zip(nos, texts, strict=True) if text is not None},
        priorities=np.array([priority.rank for priority in priorities], np.int64),
        tiers=np.array([tier.rank for tier in tiers], np.int64),
        access_counts=np.array(counts, np.float64),
        accessed=np.array(accessed, np.float64),
        coverage=np.array(covered, np.float64),
        authors=np.array(authors, np.float64),
        nearness=np.array(near, np.float64),
    )


def ranked(candidates: Sequence[Known], weights: FusionWeights = _WEIGHTS, min_score: float = 0.0) -> RankedBlock:
    everything = rank(evidence_of(candidates), weights, _NOW)
    return relevant(everything, weights, min_score) if min_score else everything


def order(*candidates: Known, weights: FusionWeights = _WEIGHTS, min_score: float = 0.0) -> list[int]:
    return [candidate.no for candidate in ranked(candidates, weights, min_score)]


def one(known: Known, *others: Known, weights: FusionWeights = _WEIGHTS) -> Ranked:
    return next(candidate for candidate in ranked([known, *others], weights) if candidate.no == known.no)


def parts_of(answer: Sequence[Ranked]) -> list[tuple[int, float, Why]]:
    """Return the scores of a ranking and their parts."""
    return [(candidate.no, candidate.score, candidate.why) for candidate in answer]


def test_more_evidence_of_any_kind_is_more_relevance() -> None:
    """Closeness, words, author and time each add to the others."""
    plain = one(Known(1, 0.5)).why.relevance

    for fields in ({"coverage": 0.5}, {"author": True}, {"nearness": 1.0}):
        assert one(Known(1, 0.5, **fields)).why.relevance > plain
    assert one(Known(1, 0.6)).why.relevance > plain


def test_a_candidate_without_a_hint_that_another_one_has_is_less_relevant() -> None:
    """In another time than the question names, or by another author; a hint that nobody has changes nothing."""
    plain = Known(1, 0.5)

    for fields in ({"author": True}, {"nearness": 1.0}):
        assert one(plain, Known(2, 0.5, **fields)).why.relevance < one(plain, Known(2, 0.5)).why.relevance
        assert one(Known(2, 0.5, **fields), plain).why.relevance > one(plain).why.relevance


def test_a_small_difference_counts_more_where_the_candidates_are_alike() -> None:
    """In words and in closeness; the order of two can so depend on how far others lie apart."""
    closer, worded = Known(1, 0.525), Known(2, 0.5, coverage=0.2)

    assert order(closer, worded) == [2, 1]
    assert order(closer, worded, Known(3, 0.5, coverage=1.0)) == [3, 1, 2], "many candidates have the words"

    closer = Known(1, 0.53)

    assert order(closer, worded) == [1, 2]
    assert order(closer, worded, Known(3, 0.1)) == [2, 1, 3], "closeness varies more"


def test_the_relevance_of_a_single_candidate_is_its_evidence() -> None:
    """Nothing is relative where there is nothing to compare with."""
    assert one(Known(1, 0.5, coverage=0.2)).why.relevance == pytest.approx(
        0.5 + 0.2 * DEFAULT_WEIGHTS.coverage * _SCALE.spread
    )


def test_the_default_fusion_weighs_closeness_words_and_hints_as_documented() -> None:
    """Words count 1.25 spreads and a hint 0.6, less what others have; half of both is relative to the range."""
    best, other = Known(1, 0.5, coverage=0.5, author=True), Known(2, 0.3, coverage=0.1)

    # Closeness has a range of 2 spreads, which reduces it to 0.75, and coverage one of 0.4: 0.875.
    # The hint of the best one is 0.6, of which 0.3 are subtracted from both.
    assert one(best, other).relevance == pytest.approx(0.5 + (0.875 * 1.25 * 0.5 + 0.42) / 0.75 * 0.1)
    assert one(other, best).relevance == pytest.approx(0.3 + (0.875 * 1.25 * 0.1 - 0.18) / 0.75 * 0.1)
    assert one(Known(1, None, 1.0, coverage=0.5, author=True)).relevance == pytest.approx(0.5 / 1.5 * 1.084)


def test_the_default_fusion_reduces_the_evidence_that_has_less_than_its_usual_weight() -> None:
    """Weights of 0.7 and 0.3 count both in full; with half of one of them, that one counts half."""
    less_vector, less_text = replace(_WEIGHTS, vector=0.35), replace(_WEIGHTS, text=0.15)
    known = Known(1, 0.5, coverage=0.2)

    # The other half of closeness is that of unrelated texts, 0.08.
    assert one(known, weights=less_vector).relevance == pytest.approx(0.29 + 0.2 * 1.25 * 0.1)
    assert one(known, weights=less_text).relevance == pytest.approx(0.5 + 0.5 * 0.2 * 1.25 * 0.1)
    assert one(known, weights=replace(_WEIGHTS, vector=0.0, text=0.0)).relevance == pytest.approx(0.08)


def test_without_vectors_coverage_alone_decides() -> None:
    """Coverage orders the memories and stays within [0, 1]."""
    whole, half, none = Known(1, None, 9.0, coverage=1.0), Known(2, None, 5.0, coverage=0.5), Known(3)

    assert order(none, half, whole) == [1, 2, 3]
    assert 0 == one(none).score < one(half).score < one(whole).score <= 1
    assert one(none).why.vector is None


def test_weighted_fusion_counts_both_searches_by_their_weights() -> None:
    """0.7 of meaning and 0.3 of words, as the hit tells them."""
    known = Known(1, 0.5, 8.0, coverage=1.0), Known(2, 0.9), Known(3, 0.0, 4.0, coverage=0.5)
    hits = [one(candidate, *known, weights=_WEIGHTED) for candidate in known]

    assert [hit.score for hit in hits] == pytest.approx([0.65, 0.63, 0.15])
    assert [0.7 * (hit.why.vector or 0) + 0.3 * (hit.why.text or 0) for hit in hits] == pytest.approx(
        [hit.why.relevance for hit in hits]
    )


def test_in_weighted_fusion_a_search_without_results_subtracts_nothing() -> None:
    """Text-only and vector-only searches use the whole range."""
    assert one(Known(1, None, 3.0, coverage=1.0), weights=_WEIGHTED).score == pytest.approx(1.0)
    assert one(Known(1, 0.8), weights=_WEIGHTED).score == pytest.approx(0.8)
    assert one(Known(1), weights=_WEIGHTED).score == 0.0


def test_reciprocal_fusion_counts_places() -> None:
    """First in every leg is 1, whatever the numbers behind the places are."""
    weights = replace(_WEIGHTS, fusion="rrf")

    assert one(Known(1, 0.2, 0.1), Known(2, 0.1), weights=weights).score == pytest.approx(1.0)
    assert order(Known(1, 0.9, 1.0), Known(2, 0.8, 2.0), Known(3, 0.7), weights=weights) == [1, 2, 3]


def test_equal_scores_are_newest_first() -> None:
    """The same question has the same answer, whatever order the candidates came in."""
    assert order(Known(1, 0.5), Known(3, 0.5), Known(2, 0.5)) == [3, 2, 1]


def test_a_priority_boosts_the_score_but_not_the_relevance() -> None:
    """Boosts order the hits; they are visible in the reason."""
    critical, normal, low = (
        Known(number, 0.5, priority=priority)
        for number, priority in enumerate((Priority.CRITICAL, Priority.NORMAL, Priority.LOW))
    )

    assert order(low, normal, critical) == [0, 1, 2]
    assert one(critical).score == pytest.approx(0.8)
    assert one(critical).why.relevance == pytest.approx(0.5)
    assert one(low).why.boost == pytest.approx(-0.1)


def test_a_boost_admits_no_irrelevant_memory() -> None:
    """The threshold looks at relevance alone."""
    assert order(Known(1, 0.1, priority=Priority.CRITICAL), Known(2, 0.4), min_score=0.35) == [2]


def test_a_keyword_match_passes_a_threshold_meant_for_vectors() -> None:
    """A memory with most of the question's words is not lost because its meaning was not near."""
    matches = Known(1, 0.1, 9.0, coverage=0.6), Known(2, 0.1, 1.0, coverage=0.1)

    assert order(*matches, min_score=0.6) == [1]
    assert order(*matches, weights=replace(_WEIGHTS, text=0.0), min_score=0.6) == [], "words have no weight"


def test_use_adds_a_little_and_fades() -> None:
    """Recent and frequent use breaks near ties; it never exceeds its weight."""
    fresh = Known(1, 0.5, access_count=20, accessed_at=_NOW)
    month_old = Known(2, 0.5, access_count=20, accessed_at=_NOW - 30 * _DAY)
    rare = Known(3, 0.5, access_count=1, accessed_at=_NOW)
    future = Known(4, 0.5, access_count=10_000, accessed_at=_NOW + 5 * _DAY)

    assert one(fresh).why.use == pytest.approx(0.02)
    assert one(month_old).why.use == pytest.approx(0.01)
    assert 0 < one(rare).why.use < 0.01
    assert one(future).why.use == pytest.approx(0.02)
    assert one(Known(5, 0.5)).why.use == 0.0


def test_lower_tiers_rank_lower_only_where_that_is_asked() -> None:
    """A query over all tiers on equal terms takes a little off warm and more off cold."""
    hot, warm, cold = (Known(tier.rank, 0.5, tier=tier) for tier in Tier)

    assert order(hot, warm, cold) == [2, 1, 0]
    assert order(hot, warm, cold, weights=FusionWeights.of(Settings(), penalise=True)) == [0, 1, 2]
    assert one(cold, weights=FusionWeights.of(Settings(), penalise=True)).why.tier == pytest.approx(-0.25)


class Said(NamedTuple):
    """The words of a memory, and the number of what was said before it."""

    words: frozenset[str]
    length: int
    previous: int | None = None


def said(*words: str, length: int | None = None, previous: int | None = None) -> Said:
    return Said(frozenset(words), length if length is not None else len(words), previous)


def covered(
    memories: Mapping[int, Said],
    weighed: Mapping[str, float],
    total: int,
    frequencies: Mapping[str, int],
    earlier: Mapping[int, Said] = MappingProxyType({}),
) -> dict[int, float]:
    known = {**memories, **earlier}
    rows = {no: row for row, no in enumerate(known)}
    worded = TermMatrix(
        has=np.array([[word in candidate.words for word in weighed] for candidate in known.values()], np.bool_).reshape(
            len(known), len(weighed)
        ),
        lengths=np.array([candidate.length for candidate in known.values()], np.float64),
        previous=np.array([rows.get(candidate.previous or 0, -1) for candidate in known.values()], np.int64),
        candidates=len(memories),
    )
    return dict(zip(memories, coverage(worded, weighed, total, frequencies).tolist(), strict=True))


def test_rare_words_cover_more_than_common_ones() -> None:
    """A memory with the word that few have beats one with the word that many have."""
    memories = {1: said("otter"), 2: said("deploy"), 3: said("otter", "deploy"), 4: said("else")}
    share = covered(memories, {"otter": 1.0, "deploy": 1.0}, 100, {"otter": 2, "deploy": 60})

    assert 0 == share[4] < share[2] < share[1] < share[3]
    assert share[3] == pytest.approx(1.0)


def test_a_word_that_nobody_has_lowers_what_can_be_covered() -> None:
    """Half of a question about something unknown is not all of it."""
    known = covered({1: said("otter")}, {"otter": 1.0}, 10, {"otter": 1})
    partly = covered({1: said("otter")}, {"otter": 1.0, "unicorn": 1.0}, 10, {"otter": 1, "unicorn": 0})

    assert partly[1] < known[1]


def test_a_short_turn_has_the_words_of_the_turns_before_it() -> None:
    """The nearer turn lends more than the farther, and never as much as the words themselves."""
    turns = {
        1: said("otter"),
        2: said("yes", previous=11),
        3: said("yes", previous=12),
        4: said("yes"),
        5: said("yes", previous=13),
    }
    earlier = {11: said("otter", length=3), 12: said("no", previous=11), 13: said("otter", length=500)}
    share = covered(turns, {"otter": 1.0}, 10, {"otter": 1}, earlier)

    assert share[1] > share[2] > share[3] > share[5] > share[4] == 0
    # The words of the turn before count 0.7, of the one before that 0.5, and of one of 500 words a tenth of that.
    assert [share[no] for no in (1, 2, 3, 5)] == pytest.approx([1.0, 0.7, 0.5, 0.07])


def test_a_long_text_covers_by_accident() -> None:
    """The length of a long text damps its coverage; that of a short one does not matter."""
    texts = {1: said("otter", length=5), 2: said("otter", length=40), 3: said("otter", length=5000)}
    share = covered(texts, {"otter": 1.0}, 10, {"otter": 3})

    assert share[1] == share[2] > share[3]
    # A text of 150 words beside one of up to 50, which are 100 words on average.
    share = covered({1: said("otter", length=5), 2: said("otter", length=150)}, {"otter": 1.0}, 10, {"otter": 2})
    assert list(share.values()) == pytest.approx([1.25 / (1 + 0.25 * 50 / 100), 1.25 / (1 + 0.25 * 150 / 100)])


def test_a_question_without_words_is_covered_by_nothing() -> None:
    """Nothing is divided by nothing."""
    assert covered({1: said("otter")}, {}, 10, {}) == {1: 0.0}
    assert covered({}, {"otter": 1.0}, 0, {"otter": 0}) == {}


_EVIDENCE = st.lists(
    st.builds(
        Known,
        st.integers(1, 10_000),
        st.none() | st.floats(-1, 1),
        st.none() | st.floats(0, 50),
        priority=st.sampled_from(Priority),
        tier=st.sampled_from(Tier),
        access_count=st.integers(0, 1000),
        accessed_at=st.none() | st.integers(0, 2 * _NOW),
        coverage=st.floats(0, 1.25),
        author=st.booleans(),
        nearness=st.floats(0, 1),
    ),
    unique_by=lambda candidate: candidate.no,
    max_size=30,
)


@given(evidence=_EVIDENCE, fusion=st.sampled_from(_FUSIONS), random=st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_the_order_of_the_candidates(
    evidence: list[Known], fusion: str, random: Any
) -> None:
    """Ranking is a function of the set; relevance stays in [0, 1]."""
    weights = replace(_WEIGHTS, fusion=fusion)
    shuffled = list(evidence)
    random.shuffle(shuffled)
    answer = ranked(evidence, weights)

    assert parts_of(ranked(shuffled, weights)) == parts_of(answer)
    assert all(-1e-9 <= candidate.why.relevance <= 1 + 1e-9 for candidate in answer)
    assert len(answer) == len(evidence)


@given(evidence=_EVIDENCE, fusion=st.sampled_from(_FUSIONS), low=st.floats(0, 1), high=st.floats(0, 1))
def test_a_higher_threshold_keeps_fewer_in_the_same_order(
    evidence: list[Known], fusion: str, low: float, high: float
) -> None:
    """A threshold removes and never reorders."""
    low, high = sorted((low, high))
    weights = replace(_WEIGHTS, fusion=fusion)
    wide, narrow = ranked(evidence, weights, low), ranked(evidence, weights, high)

    kept = {candidate.no for candidate in narrow}
    assert parts_of(narrow) == parts_of([candidate for candidate in wide if candidate.no in kept])


def test_weights_of_nothing_rank_everything_equal() -> None:
    """A weight of 0 means 0, and dividing by it is not attempted."""
    silent = replace(_WEIGHTS, vector=0.0, text=0.0)

    for fusion in ("weighted", "rrf"):
        assert order(Known(1, 0.9), Known(2, 0.1, 1.0), weights=replace(silent, fusion=fusion)) == [2, 1]


def test_the_newer_version_of_a_statement_ranks_higher() -> None:
    """Two texts that share most words and cover the question equally change places; their scores stay in order."""
    contents = {1: "the port of staging is 5433", 2: "the port of staging is 5544", 3: "another thing"}
    texts = {no: WordIds.of([content])[0] for no, content in contents.items()}
    before = ranked([Known(1, 0.50, coverage=0.8), Known(2, 0.48, coverage=0.8), Known(3, 0.49, coverage=0.8)])

    after = newer_first(before, [texts[candidate.no] for candidate in before])

    assert [candidate.no for candidate in before] == [1, 3, 2]
    assert [candidate.no for candidate in after] == [2, 3, 1]
    assert [candidate.score for candidate in after] == [candidate.score for candidate in before]
    assert after[0].why.newer > 0 > after[2].why.newer


@given(st.integers(1, 40), st.integers(-1, 1), st.randoms())
def test_three_of_five_words_in_common_make_a_version_and_fewer_do_not(length: int, more: int, random: Any) -> None:
    """Whatever the words are, in any order and repeated."""
    words = [f"word{random.randrange(10**6)}-{place}" for place in range(length)]
    kept = words[max(0, int(0.4 * length) + more) :]
    others = [f"other{random.randrange(10**6)}-{place}" for place in range(length - len(kept))]
    again = [*kept, *others, *kept[:3]]
    random.shuffle(again)
    texts = [WordIds.of([" ".join(text)])[0] for text in (words, again)]
    before = ranked([Known(1, 0.50, coverage=0.8), Known(2, 0.48, coverage=0.8)])

    exchanged = newer_first(before, texts)[0].no == 2

    assert exchanged == (len(kept) >= 0.6 * length)


@pytest.mark.parametrize(
    ("older", "newer", "exchanged"),
    [
        (5, 10, True),
        (10, 5, True),
        (5, 11, False),
        (11, 5, False),
        (50, 50, True),
        (51, 51, False),
        (51, 50, False),
        (400, 400, False),
    ],
)
def test_only_short_texts_of_similar_length_are_versions(older: int, newer: int, exchanged: bool) -> None:
    """Up to 50 words, and up to twice as many as the other one, whichever is the newer; all of the fewer are common."""
    texts = [WordIds.of([" ".join(f"word{number}" for number in range(length))])[0] for length in (older, newer)]
    before = ranked([Known(1, 0.50, coverage=0.8), Known(2, 0.48, coverage=0.8)])

    assert (newer_first(before, texts)[0].no == 2) == exchanged


def test_what_answers_better_is_not_pushed_back_by_what_is_newer() -> None:
    """Another subject in the same words, or a much better score, is no version of the same thing."""
    words = WordIds.of(["the port of staging is"])[0]
    other_subject = ranked([Known(1, 0.50, coverage=0.8), Known(2, 0.50, coverage=0.5)])
    far_behind = ranked([Known(1, 0.60, coverage=0.8), Known(2, 0.30, coverage=0.8)])

    for before in (other_subject, far_behind, ranked([])):
        assert list(newer_first(before, [words] * len(before))) == list(before)


def test_what_follows_a_list_has_no_higher_score_than_its_end() -> None:
    """What was taken off a score is part of its explanation; lower scores stay."""
    high, low = limit_scores(ranked([Known(1, 0.9), Known(2, 0.3)]), 0.5)

    assert (high.score, low.score) == pytest.approx((0.5, 0.3))
    assert (high.why.newer, low.why.newer) == pytest.approx((-0.4, 0.0))


def test_a_text_has_whole_words_and_characters_of_unspaced_scripts_anywhere() -> None:
    """A single character of such a script begins a word of the index; another word must be there as it is."""
    texts = ["otters swim", "", "the otter", "猫は 寝る"]
    candidates = Candidates.of((no, 1, 1, 3, "fact", 0, None, 0, text, "", None) for no, text in enumerate(texts))

    assert candidates.have(["otter", "猫"]).tolist() == [
        [False, False],
        [False, False],
        [True, False],
        [False, True],
    ]
    assert Candidates.of([]).have(["otter"]).shape == (0, 1)
