"""Storing what is new, recognising what is not, and keeping the limits on every way in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memotherm import Memory, Memotherm
from memotherm.errors import InvalidInput, LimitReached, NotFound
from memotherm.testing import FakeClock, HashEmbedder
from tests.helpers import contents, opened


@pytest.fixture(name="mem")
def _mem(clock: FakeClock) -> Iterator[Memotherm]:
    with opened(clock=clock) as mem:
        yield mem
        assert mem.check() == []


def fill(mem: Memotherm, priority: str, count: int) -> list[Memory]:
    return [mem.remember(f"{priority} number {number}", priority=priority) for number in range(count)]


def test_a_memory_comes_back_as_it_was_given(mem: Memotherm, clock: FakeClock) -> None:
    """Every field that a caller sets is stored, and the rest has its default."""
    memory = mem.remember(
        "  Metric units, please \n",
        kind="preference",
        tags=["units", "style", "units"],
        tier="hot",
        priority="important",
        metadata={"seen": [1, 2.5, None], "nested": {"ä": "ö"}},
        source="chat",
    )

    assert mem.get(memory.id) == memory
    assert memory.content == "  Metric units, please \n"
    assert (memory.kind, memory.tags, memory.tier, memory.priority) == (
        "preference",
        ("units", "style"),
        "hot",
        "important",
    )
    assert memory.metadata == {"seen": [1, 2.5, None], "nested": {"ä": "ö"}}
    assert memory.created_at == memory.updated_at == memory.tier_since == clock.now
    assert memory.source == "chat"
    assert memory.tokens > 0
    assert memory.id.startswith("mem_")


def test_the_defaults_are_a_warm_normal_fact(mem: Memotherm) -> None:
    """What is said with nothing else is a warm fact of normal priority that does not expire."""
    memory = mem.remember("Water boils at 100 degrees")

    assert (memory.kind, memory.tier, memory.priority, memory.retention) == ("fact", "warm", "normal", "active")
    assert memory.expires_at is None
    assert memory.tier_rule == "default"


@pytest.mark.parametrize(
    ("ttl", "tier"),
    [
        ("7d", "warm"),
        (timedelta(days=7), "warm"),
        ("2w", "warm"),
        (7 * 86_400 - 1, "warm"),
        ("1d", "warm"),
        (86_400, "warm"),
        (86_399, "cold"),
        ("90m", "cold"),
        (None, "warm"),
    ],
)
def test_a_lifetime_decides_the_first_tier(mem: Memotherm, clock: FakeClock, ttl: Any, tier: str) -> None:
    """A day or more starts warm, as without a lifetime, anything shorter cold (D20)."""
    memory = mem.remember("a passing thought", ttl=ttl)

    assert memory.tier == tier
    assert memory.tier_rule == ("default" if ttl is None else "ttl")
    assert (memory.expires_at is None) == (ttl is None)


def test_an_explicit_tier_wins_over_the_lifetime(mem: Memotherm, clock: FakeClock) -> None:
    """Whoever names a tier gets it, whatever the time to live says."""
    memory = mem.remember("until tomorrow, but important now", ttl="1h", tier="hot")

    assert (memory.tier, memory.tier_rule) == ("hot", "explicit")
    assert memory.expires_at == clock.now + timedelta(hours=1)


@pytest.mark.parametrize("moment", ["7d", "tomorrow", "2026-13-01"])
@pytest.mark.sqlite
def test_a_moment_of_expiry_is_a_date_or_time(mem: Memotherm, moment: str) -> None:
    """A duration is a time to live: before now, as in filters, it would have passed."""
    with pytest.raises(InvalidInput, match=r"write a date such as 2026-01-31 or a time such as [^ ]*$"):
        mem.remember("a fact", expires_at=moment)


def test_the_bounds_of_lifetimes_are_settings() -> None:
    """Zero days mean zero: every lifetime starts in the default tier then."""
    with opened(settings={"ttl_hot_days": 0, "ttl_warm_days": 0}) as mem:
        assert mem.remember("short", ttl="1s").tier == "warm"
    with opened(settings={"default_tier": "cold"}) as mem:
        assert mem.remember("no tier named").tier == "cold"


# The same thing twice


def test_the_same_content_is_one_memory(mem: Memotherm, clock: FakeClock) -> None:
    """Saying something again counts as a use of it, and makes no second row."""
    first = mem.remember("The build needs Python 3.11")
    clock.advance(hours=1)
    again = mem.remember("  The build needs Python 3.11\n")

    assert again.id == first.id
    assert again.content == first.content
    assert mem.get(first.id).access_count == 1
    assert mem.get(first.id).accessed_at == clock.now
    assert len(mem.find()) == 1


def test_the_same_content_twice_in_a_batch_is_one_memory(mem: Memotherm) -> None:
    """A batch is deduplicated against itself; each entry still gets its answer."""
    first, other, again = mem.remember_many([{"content": "A"}, {"content": "B"}, {"content": "A", "tags": ["x"]}])

    assert first.id == again.id != other.id
    assert mem.get(first.id).tags == ("x",)
    assert len(mem.find()) == 2


def test_saying_it_again_adds_what_is_new(mem: Memotherm) -> None:
    """New tags, metadata and an explicit priority or tier go to the memory that is there, with an event."""
    first = mem.remember("The build needs Python 3.11", tags=["build"], metadata={"a": 1})
    again = mem.remember(
        "The build needs Python 3.11", tags=["python"], metadata={"b": 2}, priority="important", tier="hot"
    )

    assert again.id == first.id
    assert again.tags == ("build", "python")
    assert again.metadata == {"a": 1, "b": 2}
    assert (again.priority, again.tier) == ("important", "hot")
    assert mem.history(first.id)[-1].rule == "duplicate"
    assert [hit.memory.id for hit in mem.recall("python", tags=["python"])] == [first.id]


def test_saying_it_again_takes_nothing_away(mem: Memotherm) -> None:
    """A repetition without a priority or tier leaves those as they are."""
    first = mem.remember("The build needs Python 3.11", priority="critical", tier="hot")
    again = mem.remember("The build needs Python 3.11")

    assert (again.priority, again.tier) == (first.priority, first.tier)


def test_the_longer_of_two_lives_wins(mem: Memotherm, clock: FakeClock) -> None:
    """Nobody who asked to keep something loses it because somebody else asked for less."""
    first = mem.remember("The build needs Python 3.11", ttl="30d")

    assert mem.remember("The build needs Python 3.11", ttl="1h").expires_at == first.expires_at
    assert mem.remember("The build needs Python 3.11", ttl="60d").expires_at == clock.now + timedelta(days=60)
    assert mem.remember("The build needs Python 3.11").expires_at is None
    assert mem.get(first.id).tier == "warm"


def test_the_same_content_in_another_scope_is_another_memory(mem: Memotherm) -> None:
    """Scopes do not share memories, not even equal ones."""
    everyone = mem.remember("Lunch is at noon")
    ann = mem.scoped(user="ann").remember("Lunch is at noon")
    bob = mem.scoped(user="bob").remember("Lunch is at noon")

    assert len({everyone.id, ann.id, bob.id}) == 3


def test_what_is_gone_is_not_a_duplicate(mem: Memotherm, clock: FakeClock) -> None:
    """A forgotten, archived or expired memory does not swallow a new one."""
    forgotten = mem.forget(mem.remember("alpha").id)
    archived = mem.archive(mem.remember("beta").id)
    expired = mem.remember("gamma", ttl="1h")
    clock.advance(hours=2)

    again = mem.remember_many([{"content": "alpha"}, {"content": "beta"}, {"content": "gamma"}])

    assert {memory.id for memory in again}.isdisjoint({forgotten.id, archived.id, expired.id})
    assert len(mem.find()) == 3


def test_duplicates_are_kept_where_the_setting_says_so() -> None:
    """Without deduplication every call makes a memory."""
    with opened(settings={"duplicate_window_hours": 0}) as mem:
        assert mem.remember("A").id != mem.remember("A").id


def test_the_same_content_is_embedded_once(tmp_path: Path) -> None:
    """A content whose vectors exist in any scope is not sent to the embedder again."""
    embedder = HashEmbedder(record=True)
    with opened(tmp_path / "agent.db", embedder=embedder) as mem:
        mem.remember("Lunch is at noon")
        mem.scoped(user="ann").remember("Lunch is at noon")
        mem.scoped(user="ann").remember("Lunch is at noon")

        assert embedder.texts == ["Lunch is at noon"]
        assert mem.check() == []


# Superseding


def test_a_superseded_memory_is_archived(mem: Memotherm) -> None:
    """The new memory names the old one, which no search returns any more."""
    old = mem.remember("The office is in Hamburg")
    new = mem.remember("The office is in Bremen", supersedes=old.id)

    assert new.supersedes == old.id
    assert mem.get(old.id).retention == "archived"
    assert contents(mem.recall("where is the office")) == ["The office is in Bremen"]
    assert mem.history(old.id)[-1].why == f"replaced by {new.id}"
    assert mem.history(old.id)[-1].rule == "superseded"


def test_a_known_content_supersedes_too(mem: Memotherm) -> None:
    """A replacement that is there already retires the old memory all the same."""
    new = mem.remember("The office is in Bremen")
    old = mem.remember("The office is in Hamburg")

    again = mem.remember("The office is in Bremen", supersedes=old.id)

    assert again.id == new.id
    assert mem.get(old.id).retention == "archived"


def test_a_known_content_does_not_excuse_an_unknown_id(mem: Memotherm) -> None:
    """An id that does not exist is an error, whether or not the content is new."""
    mem.remember("The office is in Bremen")

    with pytest.raises(NotFound):
        mem.remember("The office is in Bremen", supersedes="mem_none")


def test_a_replacement_takes_the_place_of_what_it_replaces() -> None:
    """A full priority has room for the successor of one of its holders."""
    with opened(settings={"max_pinned": 1}) as mem:
        old = mem.remember("The office is in Hamburg", priority="pinned")
        new = mem.remember("The office is in Bremen", priority="pinned", supersedes=old.id)

        assert new.priority == "pinned"
        assert mem.get(old.id).retention == "archived"


# Limits

Way = Callable[[Memotherm, str], object]


WAYS: dict[str, Way] = {
    "remember": lambda mem, priority: mem.remember("one more", priority=priority),
    "remember_many": lambda mem, priority: mem.remember_many([{"content": "one more", "priority": priority}]),
    "prioritize": lambda mem, priority: mem.prioritize(mem.remember("one more").id, priority),
    "duplicate": lambda mem, priority: [mem.remember("one more"), mem.remember("one more", priority=priority)],
}


@pytest.mark.parametrize(("priority", "limit"), [("pinned", 5), ("critical", 10)])
@pytest.mark.parametrize("way", WAYS)
def test_a_full_priority_takes_no_more(mem: Memotherm, way: str, priority: str, limit: int) -> None:
    """Five pinned and ten critical memories are the most, on every way in (E20, E22, E44)."""
    held = fill(mem, priority, limit)

    with pytest.raises(LimitReached, match=f"max_{priority} is {limit}"):
        WAYS[way](mem, priority)

    assert {memory.id for memory in mem.find(priority=priority)} == {memory.id for memory in held}


@pytest.mark.parametrize("way", WAYS)
def test_the_oldest_gives_way_where_the_setting_says_so(way: str) -> None:
    """With demote_oldest the newcomer gets in, and the oldest becomes normal with an event that says why."""
    with opened(settings={"max_pinned": 2, "on_tier_limit": "demote_oldest"}) as mem:
        oldest, other = fill(mem, "pinned", 2)
        WAYS[way](mem, "pinned")

        assert mem.get(oldest.id).priority == "normal"
        assert mem.get(other.id).priority == "pinned"
        assert len(mem.find(priority="pinned")) == 2
        event = mem.history(oldest.id)[-1]
        assert (event.action, event.rule) == ("prioritize", "limit.demote_oldest")
        assert "made room" in event.why


@pytest.mark.parametrize("policy", ["reject", "demote_oldest"])
@pytest.mark.parametrize("way", WAYS)
def test_a_limit_of_zero_means_zero(way: str, policy: str) -> None:
    """Nothing can be pinned where nothing may be, under either policy (W02)."""
    with opened(settings={"max_pinned": 0, "on_tier_limit": policy}) as mem:
        with pytest.raises(LimitReached, match="max_pinned is 0"):
            WAYS[way](mem, "pinned")

        assert len(mem.find(priority="pinned")) == 0


@pytest.mark.parametrize("policy", ["reject", "demote_oldest"])
def test_a_limit_counts_what_the_scope_sees(policy: str) -> None:
    """A user's memories count together with everyone's, and only memories of the same scope give way (D16)."""
    with opened(settings={"max_pinned": 2, "max_critical": 1, "on_tier_limit": policy}) as mem:
        ann, bob = mem.scoped(user="ann"), mem.scoped(user="bob")
        shared = mem.remember("everyone's rule", priority="pinned")
        first = ann.remember("ann's rule", priority="pinned")
        mem.remember("everyone's warning", priority="critical")
        for full in (ann, ann.session("s").memory):
            with pytest.raises(LimitReached, match="max_critical is 1"):
                full.remember("one more", priority="critical")
        if policy == "reject":
            with pytest.raises(LimitReached, match="max_pinned is 2"):
                ann.remember("one more", priority="pinned")
        else:
            second = ann.remember("one more", priority="pinned")
            assert [memory.id for memory in ann.pinned()] == [shared.id, second.id]
            assert ann.get(first.id).priority == "normal"
        assert bob.remember("bob's rule", priority="pinned").priority == "pinned"


def test_a_context_and_a_recall_hold_no_more_pinned_memories_than_the_limit() -> None:
    """One that is pinned later in a wider scope takes the place of the oldest, and the receipt says so (D16)."""
    with opened(settings={"max_pinned": 2}) as mem:
        ann = mem.scoped(user="ann")
        first, second = (ann.remember(f"ann's rule {n}", kind="task", priority="pinned") for n in range(2))
        shared = mem.remember("everyone's rule", priority="pinned")

        for query in (None, "rule"):
            context = ann.context(query)
            assert [entry.id for entry in context.included] == [second.id, shared.id]
            assert [(entry.id, entry.rule) for entry in context.left_out] == [(first.id, "max_pinned")]
            assert context.pinned_cut
        assert not mem.context().pinned_cut
        recall = ann.recall("rule")
        assert ({hit.memory.id for hit in recall.pinned}, len(recall)) == ({second.id, shared.id}, 0)
        assert recall.degraded == ("3 memories are pinned, and max_pinned is 2: the oldest were left out",)
        assert ann.get(first.id).access_count == 0
        assert len(ann.recall("rule", where={"tier": "pinned"})) == 3
        assert mem.recall("rule").degraded == ()


def test_a_memory_that_comes_back_needs_its_place(mem: Memotherm) -> None:
    """Restoring a pinned memory, or undoing its demotion, keeps the limit as well."""
    first, *rest = fill(mem, "pinned", 5)
    mem.forget(first.id)
    mem.remember("takes the place", priority="pinned")
    with pytest.raises(LimitReached):
        mem.restore(first.id)
    lowered = mem.prioritize(rest[0].id, "normal")
    mem.remember("takes that place too", priority="pinned")
    with pytest.raises(LimitReached):
        mem.undo(lowered.version)

    assert len(mem.find(priority="pinned")) == 5
    assert mem.get(first.id).retention == "deleted"


def test_changing_a_pinned_memory_takes_no_new_place(mem: Memotherm) -> None:
    """What holds its place may be moved, updated, pinned again and repeated when all places are taken."""
    pinned = fill(mem, "pinned", 5)[2]

    assert mem.move(pinned.id, "cold").priority == "pinned"
    assert mem.update(pinned.id, content="pinned number two").priority == "pinned"
    assert mem.pin(pinned.id).priority == "pinned"
    assert mem.remember("pinned number two", priority="pinned").id == pinned.id


def test_limits_count_per_scope(mem: Memotherm) -> None:
    """One user's pinned memories leave the places of another free."""
    fill(mem.scoped(user="ann"), "pinned", 5)

    assert len(fill(mem.scoped(user="bob"), "pinned", 5)) == 5


def test_other_priorities_have_no_limit(mem: Memotherm) -> None:
    """Important, normal and low memories are not counted (E23)."""
    for priority in ("important", "normal", "low"):
        assert len(fill(mem, priority, 15)) == 15


def test_a_batch_over_the_limit_stores_nothing(mem: Memotherm) -> None:
    """Six pinned memories in one batch are refused together."""
    with pytest.raises(LimitReached):
        mem.remember_many([{"content": f"entry {number}", "priority": "pinned"} for number in range(6)])

    assert len(mem.find()) == 0


@pytest.mark.sqlite
def test_of_a_very_long_content_the_beginning_gets_vectors_and_words_find_the_rest(
    open_mem: Callable[..., Memotherm], caplog: pytest.LogCaptureFixture
) -> None:
    """A million characters would take minutes to embed; the log says that it was limited."""
    embedder = HashEmbedder(record=True)
    mem = open_mem(embedder=embedder)
    memory = mem.remember("漢字仮名" * 65_000 + " heron", wait=True)
    windows = len(embedder.texts)

    assert (windows, max(map(len, embedder.texts)) <= 2000) == (64, True)
    assert [hit.memory.id for hit in mem.recall("heron")] == [memory.id]
    assert ["has vectors" in record.message for record in caplog.records] == [True]
