"""Listings in other orders, from a place in the middle, by a text, and counted; and what the ledger tells of tiers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from memotherm import Memotherm
from memotherm.errors import InvalidInput, NotFound
from memotherm.testing import FakeClock

Open = Callable[..., Memotherm]


def contents(mem: Memotherm, **arguments: object) -> list[str]:
    return [memory.content for memory in mem.find(**arguments)]  # type: ignore[arg-type]


def test_a_listing_has_the_order_that_is_asked_for(mem: Memotherm, clock: FakeClock) -> None:
    """By age, change, use and size, and from any place of the order."""
    words = {name: mem.remember(content) for name, content in (("b", "b b"), ("c", "c c c c c"), ("a", "a"))}
    clock.advance(hours=1)
    mem.update(words["b"].id, tags=["changed"])
    mem.recall("c", limit=1)

    assert contents(mem) == ["a", "c c c c c", "b b"]
    assert contents(mem, order="oldest") == ["b b", "c c c c c", "a"]
    assert contents(mem, order="updated", limit=1) == ["b b"]
    assert contents(mem, order="largest") == ["c c c c c", "b b", "a"]
    assert contents(mem, order="smallest", skip=1) == ["b b", "c c c c c"]
    assert contents(mem, order="used", limit=1) == contents(mem, order="most_used", limit=1) == ["c c c c c"]
    assert contents(mem, skip=2) == ["b b"]
    assert mem.find(order="oldest", limit=1).cursor is None
    with pytest.raises(InvalidInput, match="newest, oldest"):
        mem.find(order="best")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="leave out"):
        mem.find(order="oldest", cursor=mem.find(limit=1).cursor)
    with pytest.raises(InvalidInput, match="skip must be"):
        mem.find(skip=-1)


def test_a_listing_can_be_narrowed_by_a_text_and_counted(mem: Memotherm) -> None:
    """Case is ignored, and what is a pattern elsewhere stands for itself."""
    for content in ("Deploys need 100% green tests", "deploy on Fridays", "an otter", "snake_case! wins"):
        mem.remember(content)
    below = mem.scoped(project="web")
    below.remember("web DEPLOY script")

    assert contents(mem, contains="deploy") == ["deploy on Fridays", "Deploys need 100% green tests"]
    assert contents(mem, contains="0% g") == ["Deploys need 100% green tests"]
    assert contents(mem, contains="e_case!") == ["snake_case! wins"]
    assert contents(mem, contains="e%t") == []
    assert (mem.count(), mem.count(contains="deploy"), mem.count(contains="deploy", include_narrower=True)) == (4, 2, 3)
    assert mem.count(tier="hot") == 0
    assert [m.content for m in mem.bulk.forget(contains="otter", count=1)] == ["an otter"]


@pytest.mark.parametrize(
    ("content", "found", "not_found"),
    [
        ("Frau MÜLLER ruft an", ["müller", "Müller R"], ["muller"]),
        ("ПРИВЕТ, мир", ["привет", "МИР"], ["прив т"]),
        ("İstanbul", ["İ", "İSTANBUL"], ["i", "istanbul"]),
        ("a file", ["FILE", "I"], ["İ", "ı"]),
        ("Ὀδυσσεύς, 5 K, Straße", ["ὈΔΥΣΣΕΎΣ", "5 k", "STRAẞE"], ["Οδυ"]),
        ("[a-c]*? ^x] \\d", ["[A-C]*? ^X] \\D", "?"], ["[b]", "a*c", "a?c", "[^b]"]),
    ],
)
def test_a_text_is_found_in_any_case_of_any_script(
    content: str, found: list[str], not_found: list[str], mem: Memotherm
) -> None:
    """By the same rule on every store: single characters that differ only in case are equal."""
    mem.remember(content)
    assert [text for text in found if mem.count(contains=text) != 1] == []
    assert [text for text in not_found if mem.count(contains=text)] == []


def test_a_memory_and_events_are_found_inside_a_scope(mem: Memotherm) -> None:
    """What lies below the scope, and nothing of another one."""
    ours, theirs = mem.scoped(project="web", user="ann"), mem.scoped(project="app")
    memory, other = ours.remember("an otter"), theirs.remember("a heron")

    web = mem.scoped(project="web")
    assert web.get(memory.id, include_narrower=True) == memory
    assert [event.memory_id for event in web.events(include_narrower=True)] == [memory.id]
    assert len(web.events()) == 0
    with pytest.raises(NotFound):
        web.get(other.id, include_narrower=True)
    with pytest.raises(NotFound):
        web.get(memory.id)


def test_the_uses_of_a_memory_are_the_recalls_and_contexts_that_had_it(mem: Memotherm) -> None:
    """Newest first, with the query and the session; other memories and other scopes do not count."""
    otter, heron = mem.remember("Otters live in the river"), mem.remember("Herons stand in the reeds")
    mem.recall("otters river", limit=1)
    mem.recall("herons reeds", limit=1)
    mem.session("s1").before_turn("where do otters live?", budget=500)

    uses = mem.inspect.uses(otter.id)

    assert uses.recalls[-1].query == "otters river"
    assert "herons reeds" not in {recall.query for recall in uses.recalls}
    assert [(receipt.scope.session, receipt.query) for receipt in uses.receipts] == [("s1", "where do otters live?")]
    assert (uses.injected_count, uses.last_injected_at) == (1, uses.receipts[0].at)
    assert mem.get(otter.id).access_count == 1
    assert len(mem.inspect.uses(heron.id).receipts) <= 1
    assert mem.inspect.uses(heron.id).last_injected_at is None
    assert mem.scoped(project="web").inspect.uses(otter.id).recalls == ()


def test_events_are_found_by_actor_rule_action_and_time(mem: Memotherm, clock: FakeClock) -> None:
    """However many other events there are; pages go on with the same filters, adoptions of policies included."""
    first = mem.remember("one")
    mem.remember_many([{"content": f"number {number}"} for number in range(30)])
    clock.advance(days=1)
    mem.policies.adopt("research")
    mem.move(first.id, "hot")
    mem.move(first.id, "cold")

    page = mem.events(1, action="move", since="1h")
    moves = [*page, *mem.events(1, page.cursor, action="move", since="1h")]
    assert [event.changes["tier"][1] for event in moves] == ["cold", "hot"]
    assert [event.action for event in mem.events(rule="explicit", oldest_first=True)] == ["adopt", "move", "move"]
    assert len(mem.events(actor=moves[0].actor, until="1h")) == 31
    assert len(mem.events(actor="nobody")) == 0
    clock.now = datetime(1969, 7, 20, tzinfo=UTC)
    mem.remember("The eagle has landed")
    assert [event.at for event in mem.events(1)] == [clock.now]


def test_the_ledger_tells_how_many_memories_each_tier_had(mem: Memotherm, clock: FakeClock) -> None:
    """Stored, moved, forgotten, restored and purged memories count from and until the moment of the event."""
    first = mem.remember("one")
    second = mem.scoped(project="web").remember("two")
    clock.advance(days=1)
    mem.move(first.id, "hot")
    clock.advance(days=1)
    mem.forget(first.id)
    third = mem.remember("three", tier="cold")
    clock.advance(days=1)
    mem.purge(third.id)
    mem.scoped(project="web").move(second.id, "cold")
    clock.advance(days=1)

    points = mem.inspect.tier_history(since=clock.now - timedelta(days=4.5), points=10)

    counts = [(point.hot, point.warm, point.cold) for point in points]
    assert counts == [
        (0, 0, 0), (0, 2, 0), (0, 2, 0), (1, 1, 0), (1, 1, 0), (0, 1, 1), (0, 1, 1), (0, 0, 1), (0, 0, 1), (0, 0, 1),
    ]  # fmt: skip
    assert points[-1].at == clock.now
    assert [point.cold for point in mem.scoped(project="web").inspect.tier_history("12h", 2)] == [1, 1]
    # What was stored at the very moment of a point counts at it, and several in one period count each.
    mem.remember_many([{"content": f"number {number}"} for number in range(3)])
    clock.advance(hours=1)
    mem.remember("later")
    clock.advance(hours=1)
    assert [point.warm for point in mem.inspect.tier_history("3h", 4)] == [0, 3, 4, 4]
    for wrong in ({"points": 1}, {"since": clock.now + timedelta(days=1)}, {"since": "soon"}):
        with pytest.raises(InvalidInput):
            mem.inspect.tier_history(**wrong)


def test_the_neighbours_of_a_memory_are_those_most_like_it(mem: Memotherm) -> None:
    """From all tiers, without itself and without what is pinned for every question; the recall log has no entry."""
    otter = mem.remember("The otter lives in the lake")
    like = mem.remember("The otter eats fish in the lake", tier="cold")
    mem.remember("Answer politely", priority="pinned")
    hidden = mem.remember("The otter swims in the lake")
    mem.forget(hidden.id)
    mem.scoped(project="web").remember("The otter of the web project lives in the lake")

    assert [hit.memory.id for hit in mem.inspect.neighbours(otter.id)] == [like.id]
    assert otter.id in [hit.memory.id for hit in mem.inspect.neighbours(hidden.id)]
    assert mem.inspect.uses(like.id).recalls == ()
    assert mem.get(like.id).access_count == 0
