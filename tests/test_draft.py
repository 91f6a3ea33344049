"""From a caller's arguments to a memory."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memotherm import Memory, Priority, Scope, Settings, Tier
from memotherm.errors import ContentTooLarge, InvalidInput
from memotherm.remember.draft import (
    Draft,
    checked_kind,
    checked_metadata,
    checked_tags,
    draft_of,
    first_tier,
    lifetime_of,
    memory_of,
)
from memotherm.testing import FakeClock
from memotherm.text.content import digest


def made(content: str = "a fact", **values: Any) -> Memory:
    return memory_of(draft_of({"content": content, **values}), Scope(user="ann"), FakeClock()(), Settings())


def test_a_draft_becomes_a_memory_with_everything_that_follows_from_it() -> None:
    """Times, digest, tokens and scope come with it."""
    memory = made("two words", tags=["a", " b ", "a"], ttl="3d", priority=1)
    now = FakeClock()()

    assert memory.id.startswith("mem_")
    assert (memory.scope, memory.tags, memory.priority) == (Scope(user="ann"), ("a", "b"), Priority.CRITICAL)
    assert memory.created_at == memory.updated_at == memory.tier_since == memory.retention_since == now
    assert memory.expires_at == now + timedelta(days=3)
    assert (memory.digest, memory.tokens, memory.access_count) == (digest("two words"), 2, 0)


@pytest.mark.parametrize(
    ("asked", "days", "starts"),
    [
        (None, None, (Tier.WARM, "default")),
        (None, 7, (Tier.WARM, "ttl")),
        (None, 6.99, (Tier.WARM, "ttl")),
        (None, 1, (Tier.WARM, "ttl")),
        (None, 0.99, (Tier.COLD, "ttl")),
        ("cold", 30, (Tier.COLD, "explicit")),
        ("hot", None, (Tier.HOT, "explicit")),
    ],
)
def test_a_memory_starts_where_its_life_span_says(
    asked: str | None, days: float | None, starts: tuple[Tier, str]
) -> None:
    """An explicit tier wins over the time to live, and that over the default."""
    assert first_tier(asked, None if days is None else timedelta(days=days), Settings()) == starts


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"content": "x", "colour": "red"}, "unknown field 'colour'"),
        ({"kind": "fact"}, "without content"),
        ({"content": "x", "tier": "tepid"}, "unknown tier"),
        ({"content": "x", "priority": "urgent"}, "unknown priority"),
        ({"content": "x", "kind": "Two Words"}, "unknown kind"),
        ({"content": "x", "tags": "blocker"}, r"tags=\['blocker'\]"),
        ({"content": "x", "tags": None}, "list of words"),
        ({"content": "x", "tags": 5}, "list of words"),
        ({"content": "x", "tags": [5]}, "a tag must be text"),
        ({"content": "x", "tags": [" "]}, "a tag is empty"),
        ({"content": "x", "ttl": "soon"}, "duration"),
        ({"content": "x", "ttl": timedelta.max}, "beyond the calendar"),
        ({"content": "x", "metadata": ["a"]}, "must be a mapping"),
        ({"content": "x", "metadata": {"f": float("nan")}}, "plain JSON"),
        ({"content": "x", "metadata": {"f": object()}}, "plain JSON"),
        ({"content": "x", "metadata": {"f": "\ud800"}}, "plain JSON"),
        ({"content": "x", "source": ""}, "source is empty"),
        ({"content": 5}, "content must be text"),
    ],
)
def test_a_wrong_draft_is_refused_with_what_is_wrong(values: dict[str, Any], says: str) -> None:
    """Each message names the field."""
    with pytest.raises(InvalidInput, match=says):
        memory_of(draft_of(values), Scope(), FakeClock()(), Settings())


def test_metadata_that_nests_without_end_is_refused() -> None:
    """Neither a circle nor a very deep list is JSON that could be read back."""
    circle: dict[str, Any] = {}
    circle["me"] = circle
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]

    for metadata in (circle, {"deep": deep}):
        with pytest.raises(InvalidInput, match="plain JSON"):
            checked_metadata(metadata)


def test_a_life_span_may_be_set_beyond_reach() -> None:
    """Who wants no memory to start hot by its time to live may ask for a hundred years."""
    never = Settings(ttl_hot_days=36_525, ttl_warm_days=36_525)

    assert first_tier(None, timedelta(days=36_000), never) == (Tier.COLD, "ttl")


def test_limits_are_limits() -> None:
    """The largest that is allowed passes, one more does not."""
    assert len(checked_tags(str(number) for number in range(64))) == 64
    with pytest.raises(InvalidInput, match="65 tags"):
        checked_tags(str(number) for number in range(65))
    with pytest.raises(InvalidInput, match="metadata takes"):
        checked_metadata({"long": "x" * 10_000_001})
    with pytest.raises(ContentTooLarge):
        memory_of(Draft(content="x" * 11), Scope(), FakeClock()(), Settings(max_content_chars=10))


def test_kinds_are_open() -> None:
    """Any short lower-case word will do."""
    assert checked_kind("my-own_kind2") == "my-own_kind2"
    with pytest.raises(InvalidInput, match="short lower-case word"):
        checked_kind("Two words")


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text('aé東\x00\n"'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab"), inner, max_size=3),
    max_leaves=10,
)


@given(metadata=st.dictionaries(st.text("abc"), _JSON, max_size=4))
def test_metadata_comes_back_as_it_was_given(metadata: dict[str, Any]) -> None:
    """Plain JSON survives unchanged, and checking twice changes nothing."""
    checked = checked_metadata(metadata)
    assert checked == metadata == checked_metadata(checked)


def test_a_lifetime_comes_from_a_duration_or_from_a_later_moment() -> None:
    """Not from both, and not from a moment that has come."""
    now = FakeClock()()

    assert lifetime_of(None, None, now) is None
    assert lifetime_of("2d", None, now) == timedelta(days=2)
    assert lifetime_of(None, now + timedelta(days=2), now) == timedelta(days=2)
    for ttl, expires_at, says in (("2d", now + timedelta(days=2), "give one of them"), (None, now, "has passed")):
        with pytest.raises(InvalidInput, match=says):
            lifetime_of(ttl, expires_at, now)
