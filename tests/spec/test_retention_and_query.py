"""First tiers, retention, the query API, movement by use (part M)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import memotherm
from memotherm import Memotherm, Retention, Tier, tools
from memotherm.errors import InvalidInput, NotFound
from memotherm.rest.app import application
from memotherm.testing import FakeClock
from memotherm.tiers.rules.properties import decay, heat
from tests.helpers import queried
from tests.spec.ids import spec
from tests.spec.told import moves_of, said, tiers_of

Open = Callable[..., Memotherm]


@spec("M01")
@pytest.mark.parametrize("wrong", ["archive", "Warm", "hot ", 5])
def test_another_tier_is_a_validation_error(mem: Memotherm, wrong: object) -> None:
    """On insert, in a filter and in the query's body; nothing is written."""
    with pytest.raises(InvalidInput):
        mem.remember("a fact", tier=wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        queried(mem, {"query": "a fact", "tier": [wrong]})
    assert mem.status().seq == 0


@spec("M02", "M20")
def test_new_memories_are_hot_where_the_setting_says_so(open_mem: Open) -> None:
    """The tier for what was just made, or comes back into use."""
    mem = open_mem(settings={"default_tier": "hot"})
    memory = mem.remember("just made")
    assert memory.tier is Tier.HOT

    mem.move(memory.id, "cold")
    recall = mem.recall("just made", tiers=("cold",), promote=True)
    assert recall.promoted == (memory.id,)
    assert mem.get(memory.id).tier is Tier.HOT


@spec("M05")
@pytest.mark.parametrize(
    ("ttl", "tier"),
    [("7d", "warm"), ("30d", "warm"), ("6d", "warm"), ("1d", "warm"), ("23h", "cold"), ("5m", "cold")],
)
def test_the_first_tier_follows_from_the_time_to_live(mem: Memotherm, ttl: str, tier: str) -> None:
    """A memory that will soon be gone is not worth a place in front; an explicit tier wins."""
    assert mem.remember(f"lives {ttl}", ttl=ttl).tier == tier
    assert mem.remember(f"lives {ttl} in hot", ttl=ttl, tier="hot").tier is Tier.HOT


def test_the_bounds_of_the_time_to_live_are_settings(open_mem: Open) -> None:
    """Both are read, and a time to live never makes a memory hotter than it would be without."""
    for default, tiers in (
        ("hot", ["hot", "warm", "cold"]),
        ("warm", ["warm", "warm", "cold"]),
        ("cold", ["cold", "cold", "cold"]),
    ):
        mem = open_mem(settings={"default_tier": default, "ttl_hot_days": 2, "ttl_warm_days": 0.5})
        assert [mem.remember(ttl, ttl=ttl).tier for ttl in ("48h", "12h", "11h")] == tiers


@spec("M06")
def test_without_a_time_to_live_the_door_decides_and_writing_moves_nothing(mem: Memotherm) -> None:
    """Store is warm, a session is hot; remembering more leaves what is there where it is."""
    first = mem.remember("first", tier="hot")
    assert mem.remember("second").tier is Tier.WARM
    assert mem.session("s").add("third").tier is Tier.HOT

    again = mem.remember("first", ttl="1h")

    assert again.id == first.id
    assert (again.tier, again.expires_at) == (Tier.HOT, None)


@spec("M07")
@pytest.mark.parametrize("tier", list(Tier))
@pytest.mark.parametrize("retention", ["active", "archived", "deleted"])
def test_tier_and_retention_are_independent(mem: Memotherm, tier: Tier, retention: str) -> None:
    """Every pair exists; what is active is found in its tier, cold included."""
    memory = mem.remember("the otter pond", tier=tier)
    change: dict[str, Callable[[str], object]] = {"active": mem.get, "archived": mem.archive, "deleted": mem.forget}
    change[retention](memory.id)

    now = mem.get(memory.id)
    found = mem.recall("otter pond", tiers=tuple(Tier))

    assert (now.tier, now.retention) == (tier, retention)
    assert len(found) == (retention == "active")


@spec("M08")
@pytest.mark.parametrize("tier", list(Tier))
def test_an_archived_memory_is_never_recalled(mem: Memotherm, tier: Tier) -> None:
    """In no tier, by no door, not even when it is pinned; by its id it can be read."""
    memory = mem.remember("the otter pond", tier=tier, priority="pinned")
    mem.archive(memory.id)

    assert len(mem.recall("otter pond", tiers=tuple(Tier))) == 0
    assert queried(mem, {"query": "otter pond"})["results"] == []
    assert mem.context("otter pond").included == ()
    assert mem.get(memory.id).retention is Retention.ARCHIVED


@spec("M09", "M10", "M11")
def test_the_query_takes_a_tier_and_a_limit_and_searches_all_tiers_without_one(mem: Memotherm) -> None:
    """`tier: cold` sweeps the archive only."""
    for tier in Tier:
        for n in range(3):
            mem.remember(f"last quarter goal {n} that is {tier}", tier=tier)

    everywhere = queried(mem, {"query": "last quarter goal"})
    cold = queried(mem, {"query": "last quarter goal", "tier": "cold", "limit": 2})

    assert {each["tier"] for each in everywhere["results"]} == {"hot", "warm", "cold"}
    assert (len(everywhere["results"]), everywhere["limit"]) == (9, 10)
    assert [each["tier"] for each in cold["results"]] == ["cold", "cold"]
    assert cold["tiers"] == ["cold"]


@spec("M12")
def test_closer_tiers_rank_first_in_a_query_over_all_of_them(mem: Memotherm) -> None:
    """At the same relevance hot comes before warm and warm before cold."""
    for tier in ("cold", "warm", "hot"):
        mem.remember("the same goal", kind=f"kind-{tier}", tier=tier)

    results = queried(mem, {"query": "the same goal"})["results"]

    assert [each["tier"] for each in results] == ["hot", "warm", "cold"]
    assert results[0]["score"] > results[1]["score"] > results[2]["score"]


@spec("M12")
@pytest.mark.parametrize("lower", [Tier.WARM, Tier.COLD])
def test_a_newer_version_in_a_lower_tier_is_told_and_does_not_pass_the_closer_one(mem: Memotherm, lower: Tier) -> None:
    """Closer tiers come first unless the farther one is clearly better; within one tier the newer one is first."""
    older = mem.remember("The release train leaves on Tuesday", tier="hot")
    newer = mem.remember("The release train leaves on Thursday", tier=lower)
    query = "when does the release train leave"

    first, second = mem.recall(query, tiers=tuple(Tier), track=False)
    mem.move(older.id, lower)
    beside = mem.recall(query, tiers=tuple(Tier), track=False)

    assert [first.memory.id, second.memory.id] == [older.id, newer.id]
    assert first.score > second.score
    assert (first.why.version, second.why.version) == ("older", "newer")
    assert "the newer of two versions" in str(second.why)
    assert [hit.memory.id for hit in beside] == [newer.id, older.id]
    assert [hit.why.version for hit in beside] == [None, None]


@spec("M12")
def test_a_decision_that_compaction_made_cold_stays_behind_the_hot_one(mem: Memotherm) -> None:
    """What was decided last is in the archive; the query tells so and keeps the order of the tiers."""
    mem.remember("The release train leaves on Tuesday", tier="hot")
    mem.remember("The release train leaves on Thursday", kind="decision", metadata={"status": "done"})
    mem.compact()

    results = queried(mem, {"query": "when does the release train leave"})["results"]

    assert [each["tier"] for each in results] == ["hot", "cold"]
    assert results[0]["score"] > results[1]["score"]


@spec("M12")
def test_what_is_clearly_better_in_a_lower_tier_comes_first(mem: Memotherm) -> None:
    """A penalty orders what is about equally good, and hides nothing."""
    mem.remember("The office plant needs water", tier="hot")
    better = mem.remember("The release train leaves on Thursday", tier="cold")

    hits = mem.recall("when does the release train leave", tiers=tuple(Tier))

    assert hits[0].memory.id == better.id


@spec("M03", "M16", "M18")
@pytest.mark.parametrize("there", list(Tier))
def test_a_move_keeps_id_vector_and_scope_and_takes_both_indexes_along(mem: Memotherm, there: Tier) -> None:
    """After the move the memory is found in its new tier, by meaning and by words, and nowhere else."""
    agent = mem.scoped(agent="a")
    memory = agent.remember("the otter pond is deep", tags=["x"], metadata={"k": 1})

    moved = agent.move(memory.id, there)

    assert (moved.id, moved.content, moved.scope, moved.tags) == (memory.id, memory.content, memory.scope, memory.tags)
    for tier in Tier:
        hits = agent.recall("the otter pond is deep", tiers=(tier,), track=False)
        assert len(hits) == (tier is there)
        for hit in hits:
            assert hit.why.vector == pytest.approx(1.0)
            assert hit.why.text == pytest.approx(1.0)
    assert mem.check() == []


@spec("M04")
def test_the_tier_filter_runs_inside_the_search(open_mem: Open) -> None:
    """Better matches in another tier take no place in the pool, however small it is."""
    mem = open_mem(settings={"pool_size": 3})
    for n in range(30):
        mem.remember(f"otter pond {n}", tier="cold")
    mem.remember("there might be an otter somewhere near a pond, who knows")

    hits = mem.recall("otter pond", limit=3)

    assert tiers_of(hits) == {"warm"}
    assert hits[0].why.vector is not None
    assert hits[0].why.text is not None


@spec("M13", "M15")
def test_maintenance_cools_what_is_not_used(mem: Memotherm, clock: FakeClock) -> None:
    """Hot goes warm after 30 days, warm goes cold after 180 days in warm."""
    hot, warm = mem.remember("hot once", tier="hot"), mem.remember("warm once")
    clock.advance(days=29)
    assert mem.maintain().moves == ()

    clock.advance(days=1)
    assert moves_of(mem.maintain()) == [(hot.id, "hot", "warm", "maintain.cool")]
    clock.advance(days=150)
    assert moves_of(mem.maintain()) == [(warm.id, "warm", "cold", "maintain.cool")]
    clock.advance(days=30)
    assert moves_of(mem.maintain()) == [(hot.id, "warm", "cold", "maintain.cool")]


@spec("M13", "M20")
def test_maintenance_promotes_what_is_used_often(mem: Memotherm, clock: FakeClock) -> None:
    """Three uses within a week bring a warm memory to hot, and compaction leaves it there while it is in use."""
    used, once = mem.remember("the otter pond is deep"), mem.remember("a badger sett is dry")
    for _ in range(3):
        clock.advance(hours=1)
        mem.recall("otter pond", limit=1)
    mem.recall("badger sett", limit=1)

    assert moves_of(mem.maintain()) == [(used.id, "warm", "hot", "maintain.promote")]
    assert mem.maintain().moves == ()
    assert mem.compact().moves == ()
    clock.advance(days=7)
    assert moves_of(mem.compact()) == [(used.id, "hot", "warm", "compact.focus")]
    assert mem.maintain().moves == ()
    assert mem.get(once.id).tier is Tier.WARM


@spec("M13")
@pytest.mark.parametrize("limits", [{"hot_max_facts": 2}, {"hot_max_tokens": 9}])
def test_maintenance_promotes_only_what_fits_beside_all_that_stays_hot(
    open_mem: Open, clock: FakeClock, limits: dict[str, int]
) -> None:
    """One place is taken and one is left for two that are used; another project has places of its own."""
    mem = open_mem(settings=limits)
    pond, sett = mem.scoped(project="pond"), mem.scoped(project="sett")
    pond.remember("kept hot on purpose", tier="hot")
    views = [pond, pond, sett]
    names = ["otters swim", "badgers dig", "herons wait"]
    memories = [view.remember(name) for view, name in zip(views, names, strict=True)]
    for _ in range(3):
        clock.advance(hours=1)
        for view, name in zip(views, names, strict=True):
            view.recall(name, limit=1)

    promoted = [move.id for move in mem.maintain().moves]

    assert promoted == [memories[0].id, memories[2].id]
    assert mem.maintain().moves == ()


def test_a_memory_that_was_moved_out_of_hot_is_not_promoted_without_new_uses(mem: Memotherm, clock: FakeClock) -> None:
    """An explicit move wins over the uses before it, and over those of the first day."""
    memory = mem.remember("the otter pond is deep")
    for _ in range(3):
        mem.recall("otter pond", limit=1)
    clock.advance(hours=1)
    mem.move(memory.id, "hot")
    mem.move(memory.id, "warm")
    clock.advance(days=2)
    assert mem.maintain().moves == ()

    mem.recall("otter pond", limit=1)
    assert [move.rule for move in mem.maintain().moves] == ["maintain.promote"]


def test_maintenance_brings_back_what_is_used_again(mem: Memotherm, clock: FakeClock) -> None:
    """A cold memory that was recalled is warm after the next run, once, and stays a while."""
    memory = mem.remember("the otter pond is deep", tier="cold")
    clock.advance(days=2)
    mem.recall("otter pond", tiers=("cold",))

    assert moves_of(mem.maintain()) == [(memory.id, "cold", "warm", "maintain.warm")]
    assert mem.maintain().moves == ()


def test_a_minimum_stay_stops_flapping(mem: Memotherm, clock: FakeClock) -> None:
    """What moved a moment ago is left alone, even if use asks for it."""
    mem.remember("the otter pond is deep", tier="cold")
    clock.advance(hours=23)
    mem.recall("otter pond", tiers=("cold",))
    assert mem.maintain().moves == ()

    clock.advance(hours=1)
    assert len(mem.maintain().moves) == 1


def test_a_decision_that_use_brought_back_is_not_sent_away_at_once(mem: Memotherm, clock: FakeClock) -> None:
    """Compaction lets it stay as long as the minimum stay; then rule 1 applies again."""
    mem.remember("we use SQLite for otters", kind="decision", tier="cold", metadata={"status": "done"})
    clock.advance(days=2)
    mem.recall("SQLite otters", tiers=("cold",))
    assert len(mem.maintain().moves) == 1

    assert mem.compact().moves == ()
    clock.advance(days=1)
    assert mem.compact().cold == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"priority": "pinned"},
        {"tags": ["blocker"]},
        {"tags": ["permanent"]},
        {"metadata": {"permanent": True}},
        {"metadata": {"due": "2030-01-01"}},
        {"metadata": {"valid_until": "2030-01-01T12:00:00+02:00"}},
        {"ttl": "3650d"},
    ],
    ids=str,
)
def test_what_is_pinned_blocking_permanent_or_dated_does_not_cool(
    mem: Memotherm, clock: FakeClock, fields: dict[str, object]
) -> None:
    """Two years without use change nothing, neither in hot nor in warm."""
    for tier in ("hot", "warm"):
        mem.remember(f"kept in {tier}", tier=tier, **fields)  # type: ignore[arg-type]
    clock.advance(days=730)

    assert mem.maintain().moves == ()


def test_maintenance_and_compaction_do_not_fight_over_a_blocker(mem: Memotherm, clock: FakeClock) -> None:
    """An active blocker stays hot for months, and cools when it is over."""
    blocker = mem.remember("the database is down", tags=["blocker"])
    mem.compact()
    for _ in range(12):
        clock.advance(days=31)
        assert mem.maintain().moves == ()
        assert mem.compact().moves == ()

    mem.update(blocker.id, metadata={"status": "resolved"})
    assert moves_of(mem.maintain()) == [(blocker.id, "hot", "warm", "maintain.cool")]
    assert mem.compact().moves == ()


@spec("M14")
def test_use_and_decay_are_the_signals(mem: Memotherm, clock: FakeClock) -> None:
    """Both were idle for 31 days; the one that was used often stays hot."""
    often, seldom = mem.remember("used often", tier="hot"), mem.remember("used once", tier="hot")
    for _ in range(15):
        mem.recall("used often", limit=1)
    clock.advance(days=31)

    assert moves_of(mem.maintain()) == [(seldom.id, "hot", "warm", "maintain.cool")]
    memory = mem.get(often.id)
    assert decay(memory, memory.last_accessed_at) == 1.0
    assert decay(memory, clock.now) == pytest.approx(0.5 ** (31 / 30))
    assert heat(memory, clock.now) == pytest.approx(4 * 0.5 ** (31 / 30))
    assert heat(memory, clock.now) >= 1


@spec("M14")
def test_compaction_keeps_what_is_used_a_lot(open_mem: Open, clock: FakeClock) -> None:
    """Hot by default and used twenty times today: it stays until a week without use."""
    mem = open_mem(settings={"default_tier": "hot"})
    often, seldom = mem.remember("used often"), mem.remember("seen once")
    for _ in range(20):
        mem.recall("used often", limit=1)

    assert moves_of(mem.compact()) == [(seldom.id, "hot", "warm", "compact.focus")]
    clock.advance(days=7)
    assert moves_of(mem.compact()) == [(often.id, "hot", "warm", "compact.focus")]


@spec("M17")
def test_no_tier_deletes(open_mem: Open, clock: FakeClock) -> None:
    """Ten years of compaction and maintenance: everything is still there and can be recalled."""
    mem = open_mem()
    kinds = ("fact", "decision", "preference", "task")
    memories = [mem.remember(f"otter {kind} {tier}", kind=kind, tier=tier) for kind in kinds for tier in Tier]
    for _ in range(20):
        clock.advance(days=180)
        mem.compact()
        mem.maintain()

    assert mem.status().retention[Retention.ACTIVE] == len(memories)
    assert mem.status().tiers[Tier.COLD].memories == len(memories)
    assert len(mem.recall("otter", tiers=("cold",), limit=50)) == len(memories)


@spec("M19")
def test_what_is_stored_counts_in_every_tier(mem: Memotherm) -> None:
    """Moving a memory changes neither the tokens nor the number of what is stored."""
    memory = mem.remember("the otter pond is deep")

    for tier in Tier:
        mem.move(memory.id, tier)
        count = mem.status().tiers[tier]
        assert (count.memories, count.tokens) == (1, memory.tokens)
        assert mem.status().bytes > 0


@spec("M21")
@pytest.mark.parametrize("settings", [{"retention": "standard"}, {"retention": "90/60/7"}])
def test_the_windows_lead_from_active_to_purged(open_mem: Open, clock: FakeClock, settings: dict[str, Any]) -> None:
    """90 days unused, 60 days archived, 7 days of grace; each step is an event of its own rule."""
    mem = open_mem(settings=settings)
    memory = mem.remember("nobody asks for this")
    states = []
    for days in (89, 1, 59, 1, 6):
        clock.advance(days=days)
        mem.maintain()
        states.append(str(mem.find(retention="any")[0].retention))

    clock.advance(days=1)
    assert mem.maintain().purged == 1

    assert states == ["active", "archived", "archived", "deleted", "deleted"]
    assert [event.rule for event in mem.history(memory.id)] == [
        "default",
        "maintain.archive",
        "maintain.delete",
        "maintain.purge",
    ]
    with pytest.raises(NotFound):
        mem.get(memory.id)


def test_nothing_is_archived_or_deleted_by_default(mem: Memotherm, clock: FakeClock) -> None:
    """The windows are an offer; only what is forgotten or expired is purged after its grace."""
    mem.remember("nobody asks for this")
    clock.advance(days=5000)

    done = mem.maintain()

    assert (done.expired, done.archived, done.deleted, done.purged) == (0, 0, 0, 0)


@spec("M22")
def test_an_expired_memory_is_invisible_at_once(mem: Memotherm, clock: FakeClock) -> None:
    """No job has run: neither search, list, context nor duplicates see it any more."""
    memory = mem.remember("the otter code is 1234", ttl="1h", tier="hot")
    clock.advance(minutes=59)
    assert len(mem.recall("otter code")) == 1

    clock.advance(minutes=1)

    assert len(mem.recall("otter code", tiers=tuple(Tier))) == 0
    assert list(mem.find(tier="hot")) == []
    assert mem.context().included == ()
    assert mem.remember("the otter code is 1234").id != memory.id
    assert mem.maintain().expired == 1


@spec("M23")
def test_every_transition_is_one_event(mem: Memotherm, clock: FakeClock) -> None:
    """With its action, who asked, the rule, before and after, and the time."""
    memory = mem.remember("a fact")
    steps: list[Callable[[], object]] = [
        lambda: mem.move(memory.id, "hot", why="needed"),
        lambda: mem.prioritize(memory.id, "critical"),
        lambda: mem.archive(memory.id),
        lambda: mem.restore(memory.id),
        lambda: mem.forget(memory.id),
        lambda: mem.restore(memory.id),
    ]
    for step in steps:
        clock.advance(minutes=1)
        step()

    events = mem.history(memory.id)

    assert [event.action for event in events] == [
        "remember", "move", "prioritize", "archive", "restore", "forget", "restore",
    ]  # fmt: skip
    assert events[1].changes["tier"] == ("warm", "hot")
    assert (events[1].why, events[1].actor, events[1].rule) == ("needed", "agent", "explicit")
    assert events[3].changes == {"retention": ("active", "archived")}
    assert [event.at for event in events] == sorted({event.at for event in events})


@spec("M24")
def test_being_part_of_a_result_counts_as_a_use(mem: Memotherm) -> None:
    """For every memory that came back, and only for those."""
    found, other = mem.remember("the otter pond"), mem.remember("chromodynamics")

    mem.recall("otter pond", limit=1)
    queried(mem, {"query": "otter pond", "limit": 1})

    assert (mem.get(found.id).access_count, mem.get(other.id).access_count) == (2, 0)


@spec("M25")
def test_the_query_takes_both_names_of_limit_and_tier(mem: Memotherm) -> None:
    """Two names for one thing, of which one is given; an unknown field is refused."""
    for n in range(4):
        mem.remember(f"otter {n}", tier="cold", tags=["x"] if n == 0 else [])

    assert len(queried(mem, {"query": "otter", "k": 2})["results"]) == 2
    assert len(queried(mem, {"query": "otter", "limit": 3})["results"]) == 3
    assert len(queried(mem, {"query": "otter", "filters": {"tier": "cold"}})["results"]) == 4
    assert len(queried(mem, {"query": "otter", "filters": {"tier": "hot"}})["results"]) == 0
    assert len(queried(mem, {"query": "otter", "filters": {"tags": ["x"]}})["results"]) == 1
    for wrong in (
        {"query": "otter", "limit": 3, "k": 4},
        {"query": "otter", "tier": "hot", "filters": {"tier": "cold"}},
        {"query": "otter", "top": 3},
        {"query": "otter", "filters": {"colour": "red"}},
        {"query": "otter", "filters": "cold"},
        {"limit": 3},
        {"query": "otter", "k": "3"},
    ):
        with pytest.raises(InvalidInput):
            queried(mem, wrong)


@spec("M26")
def test_a_deleted_memory_can_be_restored_within_its_grace(mem: Memotherm, clock: FakeClock) -> None:
    """For seven days; then it waits to be purged and cannot come back."""
    saved, lost = mem.remember("the otter pond"), mem.remember("the otter lake")
    mem.forget(saved.id)
    mem.forget(lost.id)
    clock.advance(days=6.9)

    assert mem.restore(saved.id).retention is Retention.ACTIVE
    assert said(mem.recall("otter")) == ["the otter pond"]
    clock.advance(days=0.1)
    with pytest.raises(InvalidInput, match="setting retention"):
        mem.restore(lost.id)


@spec("M27")
def test_a_purged_memory_does_not_come_back(mem: Memotherm) -> None:
    """Its id stays taken: neither restore nor undo nor a move finds a content there."""
    memory = mem.remember("the otter secret")
    mem.move(memory.id, "cold")
    event = mem.history(memory.id)[-1].seq
    mem.purge(memory.id)

    ways: list[Callable[[], object]] = [
        lambda: mem.restore(memory.id),
        lambda: mem.get(memory.id),
        lambda: mem.move(memory.id, "hot"),
    ]
    for way in ways:
        with pytest.raises(NotFound):
            way()
    with pytest.raises(InvalidInput, match="purged"):
        mem.undo(event)
    assert mem.history(memory.id)[-1].action == "purge"
    assert mem.status().retention[Retention.PURGED] == 1


@spec("M27")
def test_an_old_export_does_not_bring_back_what_was_purged(mem: Memotherm, tmp_path: Path) -> None:
    """Not what the memory said last, and not what it said before; what was only forgotten is no matter of this."""
    export = tmp_path / "old.jsonl"
    said = ["the otter secret", "the otter's new secret", "the heron"]
    export.write_text("".join(json.dumps({"content": content}) + "\n" for content in said), "utf-8")
    memory = mem.remember(said[0])
    mem.update(memory.id, content=said[1])
    mem.purge(memory.id)

    done = mem.store.import_("jsonl", export)

    assert (done.stored, done.duplicates, done.forgotten) == (1, 0, 2)
    assert [hit.memory.content for hit in mem.recall("otter secret heron", min_score=0)] == ["the heron"]
    assert mem.scoped(agent="a").store.import_("jsonl", export).forgotten == 2, "an agent inherits its project's purges"
    assert mem.check() == []


@spec("M27")
def test_a_purge_by_maintenance_keeps_an_import_out_too(mem: Memotherm, clock: FakeClock, tmp_path: Path) -> None:
    """What was forgotten and whose grace is over was purged as well."""
    export = tmp_path / "old.jsonl"
    export.write_text(json.dumps({"content": "the otter secret"}) + "\n", "utf-8")
    mem.forget(mem.remember("the otter secret").id)
    clock.advance(days=8)
    mem.maintain()

    assert mem.store.import_("jsonl", export).forgotten == 1


@spec("M27")
def test_who_remembers_it_again_has_it_back(mem: Memotherm, tmp_path: Path) -> None:
    """A tombstone stops what nobody meant; it forbids nothing."""
    export = tmp_path / "old.jsonl"
    export.write_text(json.dumps({"content": "the otter secret"}) + "\n", "utf-8")
    old = mem.remember("the otter secret")
    mem.purge(old.id)
    new = mem.remember("the otter secret")

    assert new.id != old.id
    assert (mem.store.import_("jsonl", export).duplicates, mem.find()[0].id) == (1, new.id)
    mem.forget(new.id)
    assert mem.store.import_("jsonl", export).forgotten == 1
    mem.restore(new.id)
    assert mem.store.import_("jsonl", export).duplicates == 1


@spec("M27")
def test_a_purge_in_one_scope_is_nobody_elses_business(open_mem: Open, tmp_path: Path) -> None:
    """Another agent may keep what this one had erased."""
    export = tmp_path / "old.jsonl"
    export.write_text(json.dumps({"content": "the otter secret"}) + "\n", "utf-8")
    mem = open_mem()
    ann, bob = mem.scoped(agent="ann"), mem.scoped(agent="bob")
    ann.purge(ann.remember("the otter secret").id)

    assert bob.store.import_("jsonl", export).stored == 1
    assert ann.store.import_("jsonl", export).forgotten == 1


@spec("M27")
def test_a_sync_does_not_bring_back_what_was_purged(mem: Memotherm, tmp_path: Path) -> None:
    """The file goes on saying it; the store does not, and the sync tells."""
    root = tmp_path / "notes"
    root.mkdir()
    file = root / "MEMORY.md"
    file.write_text("# Otter\n\nThe otter secret.\n", "utf-8")
    notes = mem.notes(root)
    notes.sync()
    mem.purge(notes.search("otter secret")[0].memory_id)
    file.rename(root / "memory.md")
    (root / "memory").mkdir()
    (root / "memory" / "zoo.md").write_text("# Otter\n\nThe otter secret.\n", "utf-8")

    skipped = notes.sync().skipped

    assert [(each.path, "purged" in each.why) for each in skipped] == [("memory/zoo.md", True)]
    assert list(notes.search("otter secret", min_score=0)) == []
    assert "secret" in (root / "memory" / "zoo.md").read_text("utf-8")


@spec("M27")
def test_a_restored_checkpoint_does_not_bring_back_what_was_purged(tmp_path: Path) -> None:
    """If it is told which store it was made of."""
    with memotherm.open(tmp_path / "agent.db", embedder="none") as mem:
        memory, other = mem.remember("the otter secret"), mem.remember("the heron")
        mem.checkpoint(tmp_path / "backup.db")
        mem.purge(memory.id)

    memotherm.restore(tmp_path / "backup.db", tmp_path / "new.db", purged_in=tmp_path / "agent.db")

    with memotherm.open(tmp_path / "new.db", embedder="none") as mem:
        assert [each.id for each in mem.find()] == [other.id]
        with pytest.raises(NotFound):
            mem.get(memory.id)
        assert mem.check() == []
    assert b"otter secret" not in (tmp_path / "new.db").read_bytes()
    with pytest.raises(NotFound, match="no store"):
        memotherm.restore(tmp_path / "backup.db", tmp_path / "x.db", purged_in=tmp_path / "nowhere.db")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["agent.db", "backup.db", "new.db"]


@spec("M27")
def test_a_restore_finds_the_purges_of_the_store_that_the_checkpoint_was_made_of(tmp_path: Path) -> None:
    """Without being told, and with the tombstones of what was stored later; on request everything is back."""
    export = tmp_path / "old.jsonl"
    export.write_text(json.dumps({"content": "the lynx secret"}) + "\n", "utf-8")
    with memotherm.open(tmp_path / "agent.db", embedder="none") as mem:
        memory, other = mem.remember("the otter secret"), mem.remember("the heron")
        mem.checkpoint(tmp_path / "backup.db")
        mem.purge(memory.id)
        ann = mem.scoped(agent="ann")
        ann.purge(ann.remember("the lynx secret").id)

    memotherm.restore(tmp_path / "backup.db", tmp_path / "new.db")
    memotherm.restore(tmp_path / "backup.db", tmp_path / "all.db", repeat_purges=False)

    with memotherm.open(tmp_path / "new.db", embedder="none") as mem:
        assert [each.id for each in mem.find()] == [other.id]
        assert mem.scoped(agent="ann").store.import_("jsonl", export).forgotten == 1
        assert mem.check() == []
    with memotherm.open(tmp_path / "all.db", embedder="none") as mem:
        assert {each.id for each in mem.find()} == {memory.id, other.id}


@spec("M27")
def test_a_restore_asks_for_the_purges_that_it_cannot_reach(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The store has gone, or another one is at its place."""
    with memotherm.open(tmp_path / "agent.db", embedder="none") as mem:
        memory = mem.remember("the otter secret")
        mem.checkpoint(tmp_path / "backup.db")
        mem.purge(memory.id)
    (tmp_path / "agent.db").rename(tmp_path / "moved.db")

    memotherm.restore(tmp_path / "backup.db", tmp_path / "first.db")
    assert "agent.db that the checkpoint was made of does not exist" in caplog.text
    assert "purged_in" in caplog.text
    memotherm.open(tmp_path / "agent.db", embedder="none").close()
    memotherm.restore(tmp_path / "backup.db", tmp_path / "second.db")
    assert "agent.db is no longer the store" in caplog.text

    caplog.clear()
    memotherm.restore(tmp_path / "backup.db", tmp_path / "third.db", purged_in=tmp_path / "moved.db")
    assert not caplog.records
    with memotherm.open(tmp_path / "third.db", embedder="none") as mem:
        assert list(mem.find()) == []


@spec("M27")
def test_an_edited_note_is_not_taken_for_a_purge(tmp_path: Path) -> None:
    """A restored checkpoint has the lines of its notes as they were; only a purged chunk is left out."""
    file = tmp_path / "MEMORY.md"
    file.write_text("# Otter\n\nThe pond is green.\n", "utf-8")
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "lynx.md").write_text("# Lynx\n\nThe lynx secret.\n", "utf-8")
    with memotherm.open(tmp_path / "agent.db", embedder="none") as mem:
        notes = mem.notes(tmp_path)
        notes.sync()
        mem.checkpoint(tmp_path / "backup.db")
        mem.purge(notes.search("lynx secret", min_score=0)[0].memory_id)
        file.write_text("# Otter\n\nThe pond is blue.\n", "utf-8")
        notes.sync()

    memotherm.restore(tmp_path / "backup.db", tmp_path / "new.db", purged_in=tmp_path / "agent.db")

    with memotherm.open(tmp_path / "new.db", embedder="none") as mem:
        assert ["green" in each.content for each in mem.find()] == [True]


@spec("M28")
def test_the_same_input_is_recognised_by_its_hash(open_mem: Open) -> None:
    """SHA-256 of the normalised text, in the same scope, at any time; can be turned off."""
    mem, twice = open_mem(), open_mem(settings={"duplicate_window_hours": 0})

    first, again = mem.remember("The otter pond"), mem.remember("  The otter pond\n")
    assert first.id == again.id
    assert len(first.digest) == 64
    assert mem.scoped(agent="a").remember("The otter pond").id != first.id
    assert mem.capture("The otter pond", kind="fact").status == "duplicate"
    assert twice.remember("The otter pond").id != twice.remember("The otter pond").id


@spec("M29")
def test_filler_is_skipped_with_a_status(mem: Memotherm) -> None:
    """Nine characters are too few for something nobody asked to remember; no error, no memory."""
    skipped, stored = mem.capture("ok thanks"), mem.capture("Owl no. 17")

    assert (skipped.status, skipped.memory) == ("skipped", None)
    assert "10" in skipped.why
    assert stored.status == "stored"
    assert mem.status().tiers[Tier.WARM].memories == 1


@spec("M28")
def test_the_window_for_duplicates_is_a_setting(open_mem: Open, clock: FakeClock) -> None:
    """A day later the same content is a memory of its own, in a session as well."""
    mem = open_mem(settings={"duplicate_window_hours": 24})
    first, in_session = mem.remember("The otter pond"), mem.session("s").add("The otter pond")
    clock.advance(hours=23)
    assert mem.remember("The otter pond").id == first.id
    clock.advance(hours=2)

    assert mem.remember("The otter pond").id != first.id
    assert mem.session("s").add("The otter pond").id != in_session.id


@spec("M29")
@pytest.mark.parametrize("text", ["ok", "Thanks!", "sure, continue", "\N{THUMBS UP SIGN}", "That's great, thank you."])
def test_filler_from_an_agent_is_skipped_and_an_explicit_call_is_kept(mem: Memotherm, text: str) -> None:
    """The tool and `capture` skip what carries a conversation on; `remember` stores what it is given."""
    skipped = tools.store_memory(mem, text)

    assert (skipped["status"], "sentence" in skipped["why"]) == ("skipped", True)
    assert mem.capture(text).status == "skipped"
    assert list(mem.find()) == []
    assert mem.remember(text).content == text


@spec("M29")
@pytest.mark.parametrize("text", ["no sugar!", "Route 66", "dobra"])
def test_what_is_below_ten_characters_is_not_captured(mem: Memotherm, text: str) -> None:
    """Over REST and by the tool of agents; `force`, a kind, a session and a call in Python store it."""
    with TestClient(application(mem), base_url="http://127.0.0.1") as client:
        skipped = [
            tools.store_memory(mem, text),
            client.post("/memories:capture", json={"content": text}).json(),
            client.post("/memories", json={"content": text}).json(),
        ]
        assert [(each["status"], "10 characters" in each["why"]) for each in skipped] == [("skipped", True)] * 3
        assert list(mem.find()) == []
        longer = text.ljust(10, "x")
        assert tools.store_memory(mem, longer)["content"] == longer
        assert client.post("/memories", json={"content": text, "force": True}).json()["content"] == text
        assert client.post("/memories", json={"content": text, "kind": "message"}).json()["content"] == text
        assert tools.store_memory(mem, text, force=True)["content"] == text
        assert tools.store_memory(mem, text, kind="fact")["content"] == text
    assert mem.session("s").add(text).content == text
    assert mem.remember(text, tags=["asked for"]).content == text


_SHOP = {"project": "shop", "user": "ana"}


@spec("M03", "M25")
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize(
    ("scope", "filters", "wanted"),
    [
        (_SHOP, {"environment": "production"}, {"production", "ana in production", "no project"}),
        (_SHOP, {"environment": "staging"}, {"staging"}),
        ({}, {"environment": "production"}, {"no project"}),
        (_SHOP, {"project": "shop"}, {"the shop"}),
        ({}, {"projectId": "shop", "environment": "staging"}, {"staging"}),
        ({"user": "ana"}, {"project_id": "shop", "environment": "production"}, {"production", "ana in production"}),
        ({}, {"project_id": "dock"}, set()),
        (_SHOP, {"retention": "archived"}, {"the archive"}),
        ({}, {"retention_status": "archived"}, {"the archive"}),
        (_SHOP, {"retention_status": "any", "environment": "staging"}, {"staging"}),
        (_SHOP, {"source": "crm"}, {"the customers"}),
        ({}, {"sources": ["crm", "wiki"]}, {"the customers"}),
        (_SHOP, {"source": "crm", "environment": "staging"}, set()),
    ],
)
def test_each_part_of_the_vector_metadata_is_a_filter(
    mem: Memotherm, scope: Any, filters: dict[str, object], wanted: set[str], nested: bool
) -> None:
    """In `filters` and beside it; a memory passes the filter of a scope field only if its own scope has it."""
    shop = mem.scoped(project="shop")
    for fields, name in (
        ({"environment": "production"}, "production"),
        ({"environment": "staging"}, "staging"),
        ({"environment": "production", "user": "ana"}, "ana in production"),
        ({"environment": "production", "user": "ben"}, "ben in production"),
        ({"environment": "production", "user": "ana", "session": "s"}, "a session"),
        ({}, "the shop"),
    ):
        shop.scoped(**fields).remember(f"quarterly goals of {name}")
    mem.scoped(environment="production").remember("quarterly goals of no project")
    mem.scoped(project="dock", environment="production").remember("quarterly goals of the dock in production")
    mem.remember("quarterly goals of the customers", source="crm")
    mem.archive(mem.remember("quarterly goals of the archive").id)
    body = {"filters": filters} if nested else filters

    found = queried(mem.scoped(**scope), {"query": "quarterly goals", **body})

    assert {item["content"].removeprefix("quarterly goals of ") for item in found["results"]} == wanted


@spec("M25")
def test_a_filter_that_is_given_twice_is_refused(mem: Memotherm) -> None:
    """In the body and in `filters`, or under two names; so is a field that no scope has."""
    for twice in ({"environment": "a", "filters": {"environment": "a"}}, {"project": "a", "project_id": "a"}):
        with pytest.raises(InvalidInput, match="mean the same"):
            queried(mem, {"query": "goals", **twice})
    for scope in ({"colour": "red"}, {}, {"environment": None}):
        with pytest.raises(InvalidInput):
            mem.recall("goals", scope=scope)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="as_of"):
        mem.recall("goals", scope={"environment": "a"}, as_of=mem.remember("goals").created_at)
