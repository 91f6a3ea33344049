"""Priorities: what is always there, what ranks higher, and how many may insist (part E)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import memotherm
from memotherm import Memotherm, Priority, Scope, Settings, Tier, tools
from memotherm.errors import Forbidden, InvalidInput, LimitReached
from memotherm.model import Memory
from memotherm.rest.app import application
from memotherm.testing import FakeClock, HashEmbedder
from tests.spec.ids import spec
from tests.spec.told import said
from tests.stores import located

Open = Callable[..., Memotherm]


@spec("E01")
def test_the_five_priorities_have_numbers_and_names(mem: Memotherm) -> None:
    """Either names a priority, wherever one is taken."""
    names = ["pinned", "critical", "important", "normal", "low"]

    assert [str(priority) for priority in Priority] == names
    for number, name in enumerate(names):
        assert mem.remember(f"by number {number}", priority=number).priority == name
        assert mem.remember(f"by name {name}", priority=name).priority.rank == number
    for wrong in (5, -1, "urgent", "", True):
        with pytest.raises(InvalidInput, match="pinned, critical, important, normal, low"):
            mem.remember("a fact", priority=wrong)


@spec("E02", "E16")
def test_a_memory_without_a_priority_is_normal(mem: Memotherm) -> None:
    """Normal is number 3 and adds nothing to a score."""
    memory = mem.remember("otters hold hands")

    assert memory.priority is Priority.NORMAL
    assert memory.priority.rank == 3
    assert mem.recall("otters")[0].why.boost == 0


@spec("E30")
def test_tags_say_nothing_about_priority(mem: Memotherm) -> None:
    """A tag named like a priority is a tag, and both can be asked for on their own."""
    tagged = mem.remember("tagged critical", tags=["critical", "security"])
    important = mem.remember("important and tagged", tags=["security"], priority="important")

    assert tagged.priority is Priority.NORMAL
    assert {memory.id for memory in mem.find(tags=["security"])} == {tagged.id, important.id}
    assert [memory.id for memory in mem.find(priority="important")] == [important.id]


@spec("E03", "E38")
@pytest.mark.parametrize("name", list(Priority))
def test_the_store_tool_takes_a_priority_as_tier(mem: Memotherm, name: str) -> None:
    """The value decides: a priority's name sets the priority and leaves the tier at its default."""
    stored = tools.store_memory(mem, "never trade with agent X", tier=name)

    assert (stored["priority"], stored["tier"]) == (name, "warm")


@spec("E04", "E42")
@pytest.mark.parametrize(
    ("value", "tier", "priority"),
    [
        ("hot", "hot", "normal"),
        ("cold", "cold", "normal"),
        ("low", "warm", "low"),
        (0, "warm", "pinned"),
        ("1", "warm", "critical"),
    ],
)
def test_the_tier_tool_sets_tier_or_priority_by_the_value(
    mem: Memotherm, value: str | int, tier: str, priority: str
) -> None:
    """Tier and priority are stored apart, so setting one leaves the other."""
    memory = mem.remember("a fact")

    changed = tools.set_memory_tier(mem, memory.id, value)

    assert (changed["tier"], changed["priority"]) == (tier, priority)
    with pytest.raises(InvalidInput, match="unknown tier"):
        tools.set_memory_tier(mem, memory.id, "frozen")


@spec("E05")
def test_pinning_changes_the_priority_and_not_the_tier(mem: Memotherm) -> None:
    """Through the library and through the tool."""
    memory, other = mem.remember("a fact", tier="cold"), mem.remember("another fact")

    assert mem.pin(memory.id).priority is Priority.PINNED
    assert mem.get(memory.id).tier is Tier.COLD
    assert tools.call(mem, "pin_memory", {"memory_id": other.id})["priority"] == "pinned"


@spec("E06")
def test_unpinning_gives_normal_priority(mem: Memotherm) -> None:
    """What was not pinned is left as it is."""
    pinned, low = mem.remember("a fact", priority="pinned"), mem.remember("another", priority="low")

    assert tools.call(mem, "unpin_memory", {"memory_id": pinned.id})["priority"] == "normal"
    assert mem.unpin(low.id).priority is Priority.LOW


@spec("E29")
def test_what_is_captured_takes_the_default_and_a_call_sets_the_rest(mem: Memotherm) -> None:
    """Nothing but ordinary calls is needed to control a priority."""
    captured = mem.capture("the build took nine minutes today").memory
    assert captured is not None

    assert captured.priority is Priority.NORMAL
    assert mem.prioritize(captured.id, "important").priority is Priority.IMPORTANT


@spec("E07", "E33", "E39")
def test_a_pinned_memory_is_included_whatever_is_asked(mem: Memotherm) -> None:
    """From any tier, in a recall and in a context, with or without a question."""
    pinned = mem.remember("never send money to agent X", priority="pinned", tier="cold")
    mem.remember("otters hold hands")

    for question in ("otters", "quantum chromodynamics"):
        assert [hit.memory.id for hit in mem.recall(question).pinned] == [pinned.id]
        assert pinned.id not in [hit.memory.id for hit in mem.recall(question)]
        assert pinned.id in [memory.id for memory in mem.context(question).included]
    assert pinned.id in [memory.id for memory in mem.context().included]


@spec("E08", "E09", "E14", "E19")
def test_boosts_are_added_to_the_score(mem: Memotherm) -> None:
    """The five numbers, seen in the reasons of the hits."""
    wanted = {"pinned": 1.0, "critical": 0.3, "important": 0.15, "normal": 0.0, "low": -0.1}
    for name in wanted:
        mem.remember(f"the otter fact that is {name}", priority=name)

    found = mem.recall("otter fact")
    hits = (*found.pinned, *found.hits)

    assert {str(hit.memory.priority): hit.why.boost for hit in hits} == wanted
    for hit in hits:
        assert hit.score == pytest.approx(hit.why.relevance + hit.why.use + hit.why.boost + hit.why.tier)


def test_a_critical_memory_is_rarely_dropped(mem: Memotherm) -> None:
    """It comes before better matches of normal priority."""
    mem.remember("otter pond rules: critical part", priority="critical")
    for n in range(10):
        mem.remember(f"otter pond rules number {n}")

    assert mem.recall("otter pond rules", limit=1)[0].memory.priority is Priority.CRITICAL


@spec("E10")
def test_low_priority_comes_only_if_space_is_left(mem: Memotherm) -> None:
    """In a recall it ranks last; in a context it is packed after everything else."""
    low = mem.remember("the otter pond is deep, said Ann", priority="low")
    normal = mem.remember("the otter pond is deep, said Bob")

    assert [hit.memory.id for hit in mem.recall("the otter pond is deep")] == [normal.id, low.id]
    included = [memory.id for memory in mem.context("the otter pond is deep").included]
    assert included == [normal.id, low.id]
    tight = mem.context("the otter pond is deep", budget=mem.context("otter pond deep").tokens - 2)
    assert [memory.id for memory in tight.included] == [normal.id]
    assert [each.memory.id for each in tight.left_out] == [low.id]


@spec("E11")
def test_relevant_memories_are_lines_of_text(mem: Memotherm) -> None:
    """Five results by default, pinned ones beside them; a label names every priority but normal."""
    agent = mem.scoped(agent="planner")
    agent.remember("never trade with X", priority="pinned")
    for n in range(7):
        agent.remember(f"trade rule number {n}")

    text = mem.get_relevant_memories("planner", "trade rule")

    assert text.splitlines()[0] == "- [pinned] never trade with X"
    assert len(text.splitlines()) == 6
    assert text.splitlines()[1].startswith("- trade rule number")
    assert mem.get_relevant_memories("nobody", "trade rule") == "(No relevant memories)"


@spec("E12")
def test_pinned_memories_do_not_eat_the_limit(mem: Memotherm) -> None:
    """Five are pinned and three results are wanted: there are three, and five apart."""
    for n in range(5):
        mem.remember(f"pinned rule {n}", priority="pinned")
    for n in range(5):
        mem.remember(f"otter fact {n}")

    recall = mem.recall("otter fact", limit=3)

    assert len(recall.pinned) == 5
    assert len(recall) == 3
    assert (len(mem.recall("otter fact", limit=0)), len(mem.recall("otter fact", limit=0).pinned)) == (0, 5)


@spec("E13")
def test_the_pool_is_the_same_for_every_limit(mem: Memotherm) -> None:
    """It holds three times every default limit, and a shorter answer begins a longer one."""
    for n in range(40):
        mem.remember(f"otter fact number {n} of the pond {n % 7}")

    answers = [said(mem.recall("otter fact of the pond 3", limit=limit, track=False)) for limit in range(1, 30)]

    assert Settings().pool_size >= 3 * 10
    assert all(longer[: len(shorter)] == shorter for shorter, longer in itertools.pairwise(answers))


@spec("E15", "E35", "E40", "E32")
def test_a_boost_changes_the_order_and_the_cut_comes_after_it(open_mem: Open) -> None:
    """The weaker match with the higher priority comes first, also when only one is wanted."""
    question = "which otter was mentioned, and how deep is the pond?"

    plain, boosted = (open_mem(settings={"priority_boosts": {"critical": boost}}) for boost in (0.0, 1.0))
    for each in (plain, boosted):
        each.remember("otter pond depth: the pond is deep")
        each.remember("an otter, in passing", priority="critical")
    first = [each.recall(question, limit=1)[0] for each in (plain, boosted)]
    both = boosted.recall(question)

    assert [str(hit.memory.priority) for hit in first] == ["normal", "critical"]
    assert [str(hit.memory.priority) for hit in both] == ["critical", "normal"]
    assert both[0].why.relevance < both[1].why.relevance


@spec("E18")
def test_the_pinned_memories_are_listed_without_a_search(open_mem: Open) -> None:
    """No embedder, no query, oldest first."""
    mem = open_mem(embedder="none")
    first = mem.remember("a rule", priority="pinned")
    mem.remember("a fact")
    second = mem.remember("another rule", priority="pinned", tier="cold")

    assert [memory.id for memory in mem.pinned()] == [first.id, second.id]


@spec("E17", "E43")
def test_priority_is_stored_with_the_memory_and_can_be_filtered(mem: Memotherm) -> None:
    """Beside free metadata such as the tick of its making."""
    memory = mem.remember("started a calculator", priority=0, metadata={"created_tick": 42})
    mem.remember("something else")

    (found,) = mem.find(priority=0)

    assert found.id == memory.id
    assert found.priority.rank == 0
    assert found.metadata == {"created_tick": 42}


@spec("E17")
def test_the_tier_is_metadata_on_add_and_a_filter_on_search(mem: Memotherm) -> None:
    """As the source writes it; the priority follows later changes, and a word of the caller's own is only metadata."""
    rule = mem.remember("never feed the gulls", metadata={"tier": 0, "created_tick": 42})
    gold = mem.remember("gulls of a gold customer", metadata={"tier": "gold"})
    cold = mem.remember("gulls of last year", metadata={"tier": "cold"}, priority="low")
    assert (rule.priority, gold.priority, cold.priority, cold.tier) == ("pinned", "normal", "low", "cold")

    for query in ("", "gulls"):
        assert said(mem.recall(query, where={"tier": 0})) == [rule.content]
        assert said(mem.recall(query, where={"tier": "gold"})) == [gold.content]
        assert said(mem.recall(query, where={"tier": "cold"})) == [cold.content]
    assert said(mem.recall("")) == [gold.content, rule.content]
    assert said(mem.recall("", retention="any", tiers=("cold",))) == [cold.content]
    assert said(mem.recall("", as_of=rule.created_at)) == [gold.content, rule.content]
    mem.unpin(rule.id)
    assert said(mem.recall("", where={"tier": 0})) == []
    assert [memory.id for memory in mem.find(tier="normal")] == [gold.id, rule.id]
    with pytest.raises(InvalidInput, match="two different priorities"):
        mem.remember("gulls again", tier="critical", priority="low")


@spec("E17", "E42")
def test_a_tier_may_be_a_priority_in_every_interface(mem: Memotherm) -> None:
    """By its name or number, where a memory is stored, changed and listed."""
    with TestClient(application(mem), base_url="http://127.0.0.1") as client:
        for number, name in enumerate(("pinned", "critical", "important", "normal", "low")):
            memory = mem.remember(f"number {number}", tier=number)
            sent = client.post("/memories", json={"content": f"the name {name}", "tier": name}).json()
            assert (memory.priority, sent["priority"], memory.tier) == (name, name, "warm")
            for asked in (number, name):
                listed = client.get("/memories", params={"tier": asked}).json()["memories"]
                found = client.post("/memory/query", json={"query": "", "filters": {"tier": asked}}).json()["results"]
                assert [each["id"] for each in listed] == [sent["id"], memory.id] == [each["id"] for each in found]
        moved = client.post(f"/memories/{memory.id}/move", json={"tier": 1}).json()
        assert (moved["tier"], moved["priority"]) == ("warm", "critical")
        assert client.post("/memory/query", json={"query": "", "filters": {"tier": 5}}).status_code == 422


@spec("E31")
def test_agents_do_not_see_each_other(mem: Memotherm) -> None:
    """Neither searched nor pinned memories cross, and ids of others do not exist."""
    mine, yours = mem.scoped(agent="a"), mem.scoped(agent="b")
    secret = mine.remember("the otter password", priority="pinned")

    assert list(yours.recall("otter password")) == []
    assert yours.pinned() == []
    assert yours.context("otter password").included == ()
    with pytest.raises(memotherm.MemothermError):
        yours.pin(secret.id)


@spec("E20", "E36", "E41")
def test_at_most_five_memories_are_pinned(mem: Memotherm) -> None:
    """The sixth is refused with the number and the setting that says so; 5 may be filled exactly."""
    for n in range(5):
        mem.remember(f"rule {n}", priority="pinned")

    with pytest.raises(LimitReached, match="max_pinned is 5"):
        mem.remember("rule 6", priority="pinned")
    assert len(mem.pinned()) == 5


@spec("E21")
def test_the_boosts_are_read_from_the_settings(open_mem: Open) -> None:
    """With the numbers turned round, so is the order."""
    mem = open_mem(settings={"priority_boosts": {"critical": -0.5, "low": 0.9, "pinned": 2.5}})
    for name in ("critical", "low", "pinned"):
        mem.remember(f"the otter fact that is {name}", priority=name)

    found = mem.recall("otter fact")
    hits = (*found.pinned, *found.hits)

    assert [str(hit.memory.priority) for hit in hits] == ["pinned", "low", "critical"]
    assert [hit.why.boost for hit in hits] == [2.5, 0.9, -0.5]


@spec("E22")
def test_at_most_ten_memories_are_critical(mem: Memotherm) -> None:
    """The eleventh is refused."""
    for n in range(10):
        mem.remember(f"rule {n}", priority="critical")

    with pytest.raises(LimitReached, match="max_critical is 10"):
        mem.remember("rule 11", priority="critical")


@spec("E23")
@pytest.mark.parametrize("name", ["important", "normal", "low"])
def test_the_other_priorities_have_no_limit(mem: Memotherm, name: str) -> None:
    """Any number is fine."""
    mem.remember_many([{"content": f"{name} {n}", "priority": name} for n in range(30)])

    assert len(mem.find(priority=name)) == 30


@spec("E24")
def test_a_full_priority_rejects_or_demotes_its_oldest_by_setting(open_mem: Open) -> None:
    """Rejecting changes nothing; demoting is an event with its rule."""
    mem = open_mem(settings={"on_tier_limit": "demote_oldest", "max_pinned": 2})
    oldest, second = (mem.remember(f"rule {n}", priority="pinned") for n in range(2))

    third = mem.remember("rule 3", priority="pinned")

    assert [memory.id for memory in mem.pinned()] == [second.id, third.id]
    assert mem.get(oldest.id).priority is Priority.NORMAL
    assert mem.history(oldest.id)[-1].rule == "limit.demote_oldest"


@spec("E25")
def test_pinned_is_permanent_until_it_is_unpinned(open_mem: Open, clock: FakeClock) -> None:
    """Years without use, an end of its own and every window pass it by."""
    mem = open_mem(settings={"retention": "30/30/7"})
    memory = mem.remember("the rule of rules", priority="pinned", tier="hot", ttl="1d")
    clock.advance(days=1000)

    mem.maintain()
    mem.compact()

    kept = mem.get(memory.id)
    assert (kept.tier, kept.retention) == (Tier.HOT, "active")
    assert mem.recall("anything at all").pinned[0].memory.id == memory.id


@spec("E26", "E28")
def test_pinned_memories_take_the_budget_first_and_the_rest_goes_to_the_search(mem: Memotherm) -> None:
    """What is left of the budget is filled with what the question finds."""
    pinned = mem.remember("the rule: " + "be careful " * 10, priority="pinned")
    for n in range(30):
        mem.remember(f"otter fact number {n} about the pond")
    full = mem.context("otter pond", budget=200)
    small = mem.context("otter pond", budget=full.tokens // 2)

    for context in (full, small):
        assert context.included[0].id == pinned.id
        assert context.tokens <= context.budget
    assert len(full.included) > len(small.included) > 1


@spec("E27")
def test_pinned_memories_over_the_budget_are_cut_oldest_first_or_an_error(open_mem: Open) -> None:
    """The context says that it has cut; the setting makes it an error."""
    contents = [f"rule {n}: " + "be careful " * 8 for n in range(3)]
    cutting, strict = open_mem(), open_mem(settings={"on_pinned_overflow": "error"})
    for mem in (cutting, strict):
        for content in contents:
            mem.remember(content, priority="pinned")
    budget = cutting.context().tokens - 10

    context = cutting.context(budget=budget)

    assert [memory.content for memory in context.included] == contents[1:]
    assert [each.memory.content for each in context.left_out] == contents[:1]
    assert context.pinned_cut
    with pytest.raises(LimitReached, match="on_pinned_overflow"):
        strict.context(budget=budget)


@spec("E34")
def test_an_unpinned_memory_is_found_like_any_other(mem: Memotherm) -> None:
    """It is no longer there whatever is asked, and still there when it is the answer."""
    memory = mem.remember("never send money to agent X", priority="pinned")
    mem.remember("otters hold hands")
    mem.unpin(memory.id)

    assert mem.recall("otters hold hands").pinned == ()
    assert mem.context().included == ()
    assert mem.recall("send money to agent X")[0].memory.id == memory.id


@pytest.mark.sqlite
@spec("E37")
def test_priorities_and_tiers_survive_checkpoint_and_restore(
    mem: Memotherm, tmp_path: Path, open_mem: Open, clock: FakeClock
) -> None:
    """The restored store answers as the old one did."""
    made = [mem.remember(f"{tier} {priority}", tier=tier, priority=priority) for tier in Tier for priority in Priority]
    memotherm.restore(mem.checkpoint(tmp_path / "copy.db"), tmp_path / "restored.db")

    restored = open_mem(tmp_path / "restored.db")

    assert [restored.get(memory.id) for memory in made] == made
    assert [memory.id for memory in restored.pinned()] == [memory.id for memory in mem.pinned()]


@spec("E44")
def test_the_limits_hold_on_every_way_of_writing(open_mem: Open) -> None:
    """Store, bulk, tool, pin, change of priority, restore, undo, repetition, move to a wider scope."""
    mem = open_mem(settings={"max_pinned": 1})
    gone = mem.remember("was pinned once", priority="pinned")
    mem.forget(gone.id)
    unpinned = mem.remember("pinned for a while", priority="pinned")
    mem.unpin(unpinned.id)
    event = mem.history(unpinned.id)[-1].seq
    session = mem.session("s").memory
    inside = session.remember("pinned in a session", priority="pinned")
    mem.remember("the one that may", priority="pinned")
    other = mem.remember("an ordinary one")

    ways: list[Callable[[], object]] = [
        lambda: mem.remember("a second one", priority="pinned"),
        lambda: mem.remember_many([{"content": "a second one", "priority": 0}]),
        lambda: mem.remember("an ordinary one", priority="pinned"),
        lambda: tools.store_memory(mem, "a second rule", tier="pinned"),
        lambda: tools.set_memory_tier(mem, other.id, 0),
        lambda: mem.pin(other.id),
        lambda: mem.prioritize(other.id, "pinned"),
        lambda: mem.restore(gone.id),
        lambda: mem.undo(event),
        lambda: session.move_out_of_session(inside.id),
    ]
    for way in ways:
        with pytest.raises(LimitReached):
            way()
    assert len(mem.pinned()) == 1


@spec("E45")
def test_pinned_memories_survive_trimming_and_pruning(open_mem: Open) -> None:
    """A session that spills, prunes and clears keeps what is pinned."""
    mem = open_mem(settings={"hot_token_limit": 60})
    session = mem.session("s")
    hot = session.memory.remember("the pinned hot rule", priority="pinned", tier="hot")
    cold = session.memory.remember("the pinned cold rule", priority="pinned", tier="cold")
    for n in range(30):
        session.add(f"message number {n} with some words")
    session.spill(count=100)
    session.prune(keep=0)
    session.clear()

    assert [memory.id for memory in session.memory.pinned()] == [hot.id, cold.id]
    assert session.memory.get(hot.id).tier is Tier.HOT
    with pytest.raises(InvalidInput, match="pinned"):
        session.spill(ids=[hot.id])


@spec("E46")
def test_a_pinned_memory_is_never_repeated_among_the_results(mem: Memotherm) -> None:
    """Also when it is the best match, in every tier."""
    for tier in Tier:
        mem.remember(f"the otter rule, {tier}", priority="pinned", tier=tier)

    for tiers in (("hot", "warm"), ("hot", "warm", "cold"), ("cold",)):
        found = mem.recall("the otter rule", tiers=tiers)
        assert (len(found), len({hit.memory.id for hit in found.pinned}), len(found.pinned)) == (0, 3, 3)
    included = [memory.id for memory in mem.context("the otter rule").included]
    assert len(included) == len(set(included)) == 3


@pytest.mark.plain_file
@spec("E47")
def test_an_id_stays_the_same_for_life(tmp_path: Path, open_mem: Open) -> None:
    """Through every change, and in another process's eyes."""
    mem = open_mem(tmp_path / "m.db")
    memory = mem.remember("a fact", tags=["x"])
    steps: list[Callable[[], Memory]] = [
        lambda: mem.move(memory.id, "cold"),
        lambda: mem.pin(memory.id),
        lambda: mem.update(memory.id, content="another fact"),
        lambda: mem.archive(memory.id),
        lambda: mem.restore(memory.id),
        lambda: mem.forget(memory.id),
        lambda: mem.restore(memory.id),
    ]
    assert {step().id for step in steps} == {memory.id}

    other = memotherm.open(located(tmp_path / "m.db"), embedder=HashEmbedder(), settings=Settings(), scope=Scope())
    assert other.get(memory.id).content == "another fact"
    other.close()


@spec("E17")
def test_a_priority_in_the_metadata_follows_the_memory(mem: Memotherm) -> None:
    """As a number or a name, and back by an undo; another value is metadata like any other."""
    pinned = mem.remember("Do not feed the gulls", metadata={"tier": 0, "created_tick": 42})
    named = mem.remember("Do not feed the swans", metadata={"tier": "critical"})
    other = mem.remember("Customers of the best tier", metadata={"tier": 9})

    assert mem.unpin(pinned.id).metadata == {"tier": 3, "created_tick": 42}
    assert mem.prioritize(named.id, "low").metadata == {"tier": "low"}
    assert mem.pin(other.id).metadata == {"tier": 9}
    assert [hit.memory.id for hit in mem.recall("", where={"tier": 9})] == [other.id]
    mem.undo(mem.history(pinned.id)[-1].seq)
    restored = mem.get(pinned.id)
    assert (str(restored.priority), restored.metadata["tier"]) == ("pinned", 0)


@spec("E17")
def test_an_update_of_the_metadata_sets_the_tier_or_the_priority_that_they_name(open_mem: Open) -> None:
    """A value that was there before says nothing, and an agent cannot unpin what a person has pinned."""
    mem = open_mem(settings={"max_pinned": 1})
    memory = mem.remember("Do not feed the gulls", metadata={"tier": 1})

    assert str(mem.update(memory.id, metadata={"tier": 2}).priority) == "important"
    assert [hit.memory.id for hit in mem.recall("", where={"tier": 2})] == [memory.id]
    assert str(mem.update(memory.id, metadata={"tier": "cold"}).tier) == "cold"
    mem.move(memory.id, "warm")
    assert str(mem.update(memory.id, metadata={"tier": "cold", "read": True}).tier) == "warm"
    mem.by("person").update(memory.id, metadata={"tier": 0})
    mem.by("person").verify(memory.id)
    with pytest.raises(Forbidden):
        mem.update(memory.id, metadata={"tier": 3})
    with pytest.raises(LimitReached):
        mem.update(mem.remember("Do not feed the swans").id, metadata={"tier": 0})


@spec("E17")
def test_a_priority_in_the_metadata_follows_a_demotion_by_the_limit(open_mem: Open) -> None:
    """What makes room for another pinned memory does not say that it is pinned."""
    mem = open_mem(settings={"on_tier_limit": "demote_oldest", "max_pinned": 1})
    oldest = mem.remember("Do not feed the gulls", metadata={"tier": 0})
    mem.remember("Do not feed the swans", priority="pinned")

    assert mem.get(oldest.id).metadata == {"tier": 3}
