"""The values everything speaks in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memotherm import Hit, Memory, Page, Priority, Recall, Retention, Scope, Tier, Why
from memotherm.errors import InvalidInput
from memotherm.model.clock import as_duration, from_micros, new_id, read_clock, to_micros
from memotherm.testing import FakeClock


@pytest.mark.parametrize("axis", [Tier, Priority, Retention])
def test_an_axis_is_read_from_its_words(axis: type[Tier | Priority | Retention]) -> None:
    """A word and a member mean the same; the position on the axis is the rank."""
    for number, member in enumerate(axis):
        assert axis.of(str(member)) is axis.of(member) is member
        assert member.rank == number
        assert f"{member}" == member.value


@pytest.mark.parametrize("axis", [Tier, Priority, Retention])
def test_a_word_of_an_axis_is_found_by_its_text(axis: type[Tier | Priority | Retention]) -> None:
    ranks = {word: word.rank for word in axis}
    assert [ranks[str(word)] for word in axis] == list(range(len(axis)))  # type: ignore[index]
    assert {str(word) for word in axis} == set(axis)


def test_a_priority_is_read_from_its_number() -> None:
    """0 is pinned and 4 is low, as the sources number them; anything else is no priority."""
    assert [Priority.of(number) for number in range(5)] == list(Priority)
    for value in (5, -1, True, 1.0):
        with pytest.raises(InvalidInput):
            Priority.of(value)


@pytest.mark.parametrize("value", ["lukewarm", "HOT", "", None, True, 3, -1, 0.0, [], "0"])
def test_an_unknown_tier_is_refused_with_the_known_ones(value: object) -> None:
    """The message is the documentation."""
    with pytest.raises(InvalidInput, match="use one of hot, warm, cold"):
        Tier.of(value)


@pytest.mark.parametrize("value", ["", "  ", "a\nb", "x" * 201, 5, "\ud800", "a\x00"])
def test_a_scope_refuses_values_that_are_no_names(value: object) -> None:
    """A scope value is a printable, non-empty text."""
    with pytest.raises(InvalidInput, match="scope user"):
        Scope(user=value)  # type: ignore[arg-type]


def test_a_scope_can_only_be_narrowed() -> None:
    """A field that is set stays; setting it to the same again is nothing new."""
    scope = Scope(project="apollo")

    assert scope.narrowed(project="apollo", user="ann") == Scope(project="apollo", user="ann")
    assert scope.narrowed(user=None) == scope
    with pytest.raises(InvalidInput, match="already 'apollo'"):
        scope.narrowed(project="gemini")
    with pytest.raises(InvalidInput, match="unknown scope field"):
        scope.narrowed(team="a")


def test_a_scope_cannot_be_widened_by_leaving_a_field_empty() -> None:
    """None means "as it is", never "everyone's"."""
    assert Scope(tenant="acme").narrowed(tenant=None) == Scope(tenant="acme")


def test_a_scope_prints_its_fields() -> None:
    """From the widest field to the narrowest."""
    assert str(Scope(user="ann", tenant="acme")) == "tenant=acme user=ann"
    assert str(Scope()) == "everyone"


def test_a_memory_is_frozen(a_memory: Callable[..., Memory]) -> None:
    """What was read does not change under the reader."""
    with pytest.raises(FrozenInstanceError):
        a_memory().tier = Tier.HOT  # type: ignore[misc]


def test_a_memory_is_visible_until_the_moment_it_expires(a_memory: Callable[..., Memory]) -> None:
    """Only active memories are visible, and pinned ones do not expire."""
    end = datetime(2026, 1, 6, tzinfo=UTC)
    before = end - timedelta(microseconds=1)

    assert a_memory(expires_at=end).visible_at(before)
    assert not a_memory(expires_at=end).visible_at(end)
    assert a_memory(expires_at=end, priority=Priority.PINNED).visible_at(end)
    assert a_memory().visible_at(end)
    assert not a_memory(retention=Retention.ARCHIVED).visible_at(before)
    assert not a_memory(retention=Retention.DELETED, priority=Priority.PINNED).visible_at(before)


def test_a_hit_explains_its_score(a_memory: Callable[..., Memory]) -> None:
    """One line with both legs and every adjustment that is not zero."""
    why = Why(vector=0.5, text=1.0, relevance=0.65, use=0.01, boost=0.3)
    hit = Hit(memory=a_memory(), score=0.96, why=why)

    assert hit.explain() == "0.96 = relevance 0.65 (vector 0.50 + text 1.00), use +0.01, priority +0.30"
    assert str(Why()) == "relevance 0.00 (not searched)"


def test_a_recall_and_a_page_are_sequences(a_memory: Callable[..., Memory]) -> None:
    """They can be looped over, counted and indexed."""
    pinned = Hit(memory=a_memory(priority=Priority.PINNED), score=1.0, why=Why())
    other = Hit(memory=a_memory(), score=0.5, why=Why())
    recall = Recall(query="?", hits=(other,), pinned=(pinned,))
    page = Page(memories=(a_memory("one"), a_memory("two")))

    assert (list(recall), len(recall), recall[0], recall.pinned) == ([other], 1, other, (pinned,))
    assert ([memory.content for memory in page], len(page), page[0].content) == (["one", "two"], 2, "one")
    assert not Recall(query="?")


@given(moment=st.datetimes(timezones=st.just(UTC)))
def test_a_moment_survives_the_store_exactly(moment: datetime) -> None:
    """Microseconds are whole numbers, before and after 1970."""
    assert from_micros(to_micros(moment)) == moment


def test_a_clock_may_return_seconds_or_any_zone() -> None:
    """What it returns becomes UTC; a time without a zone says nothing."""
    assert read_clock(lambda: 0.0) == datetime(1970, 1, 1, tzinfo=UTC)
    with pytest.raises(InvalidInput, match="time zone"):
        read_clock(lambda: datetime(2026, 1, 1))  # noqa: DTZ001


@pytest.mark.parametrize(
    ("value", "means"),
    [
        ("30s", timedelta(seconds=30)),
        ("90m", timedelta(minutes=90)),
        (" 1.5 h ", timedelta(minutes=90)),
        ("7d", timedelta(days=7)),
        ("2w", timedelta(weeks=2)),
        (90, timedelta(seconds=90)),
        (0.5, timedelta(milliseconds=500)),
        (timedelta(days=1), timedelta(days=1)),
    ],
)
def test_a_duration_is_read(value: timedelta | float | str, means: timedelta) -> None:
    """Text with a unit, seconds, or a timedelta."""
    assert as_duration(value) == means


@pytest.mark.parametrize(
    "value",
    ["", "soon", "7 days ago", "-1d", "0s", 0, -5, True, None, float("nan"), float("inf"), 1e300, "9" * 30 + "w", []],
)
def test_what_is_no_duration_is_refused(value: object) -> None:
    """Nothing, negative, endless and unreadable durations are errors of ours."""
    with pytest.raises(InvalidInput):
        as_duration(value)  # type: ignore[arg-type]


def test_ids_sort_by_time_and_within_an_instant_by_order() -> None:
    """An id is unique, and its order is the order of creation."""
    clock = FakeClock()
    ids = [new_id("mem", clock()) for _ in range(500)]
    ids += [new_id("mem", clock.advance(seconds=1)) for _ in range(50)]

    assert ids == sorted(set(ids))
    assert {len(each) for each in ids} == {len("mem_") + 26}
