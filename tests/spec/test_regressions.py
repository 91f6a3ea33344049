"""What the systems behind the source documents got wrong, one test each (W01-W32)."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import memotherm
from memotherm import Memotherm, Settings, Tier, tools
from memotherm.errors import InvalidInput
from memotherm.storage.store import Store
from memotherm.testing import FakeClock
from memotherm.text.tokens import count_tokens
from memotherm.tiers.scheduler import Scheduler
from tests.helpers import queried
from tests.spec.ids import spec
from tests.spec.told import moves_of, said, tiers_of

ROOT = Path(__file__).resolve().parents[2]
Open = Callable[..., Memotherm]


@spec("W01")
@pytest.mark.parametrize("tier", ["hot", "warm", "cold"])
def test_an_agent_reaches_every_tier_with_tools_alone(mem: Memotherm, tier: str) -> None:
    """It creates, moves, pins, spills, recalls, promotes and observes a memory in every tier."""

    def tool(name: str, **arguments: object) -> dict[str, object]:
        return tools.call(mem, name, arguments)

    made = tool("store_memory", content=f"an otter that begins {tier}", tier=tier, sessionId="s")
    memory_id = str(made["id"])
    view = mem.session("s").memory
    assert made["tier"] == tier

    for there in ("cold", "warm", "hot"):
        assert tools.call(view, "set_memory_tier", {"memory_id": memory_id, "tier": there})["tier"] == there
        assert tools.call(view, "memory_get", {"id": memory_id})["tier"] == there
        status = tool("memory_status", sessionId="s")
        assert status[there]["items"] == 1  # type: ignore[index]
    assert tool("memory_spill", sessionId="s", ids=[memory_id])["targetTier"] in ("warm", "cold")
    recalled = tool("memory_recall", query="an otter", sessionId="s", autoPromote=False)
    assert [each["id"] for each in recalled["items"]] == [memory_id]  # type: ignore[attr-defined]
    assert tool("memory_promote", sessionId="s", memory_id=memory_id)["promoted"] is True
    assert tools.call(view, "pin_memory", {"memory_id": memory_id})["priority"] == "pinned"
    assert tools.call(view, "unpin_memory", {"memory_id": memory_id})["priority"] == "normal"
    assert tools.call(view, "memory_forget", {"memory_id": memory_id})["retention"] == "deleted"


def test_a_tool_says_what_is_missing_unknown_or_wrong(mem: Memotherm) -> None:
    """Before anything is written."""
    for name, arguments in (
        ("memory_teleport", {}),
        ("memory_add", {"sessionId": "s", "content": "hello"}),
        ("memory_add", {"sessionId": "s", "content": "hello", "type": "message", "colour": "red"}),
        ("store_memory", {"content": "hello there", "tier": "pinned", "priority": "low"}),
        ("memory_recall", {"query": "hello", "sessionId": "s", "tags": ["x"]}),
    ):
        with pytest.raises(InvalidInput):
            tools.call(mem, name, arguments)
    assert mem.status().seq == 0
    assert all(tool.title and tool.description for tool in tools.TOOLS.values())


@spec("W02")
def test_zero_means_zero(open_mem: Open) -> None:
    """For limits, caps, thresholds and counts."""
    mem = open_mem(settings={"hot_max_tokens": 0, "hot_max_facts": 0, "max_pinned": 0, "recall_max_tokens": 0})
    mem.remember("a hot otter", tier="hot", tags=["blocker"])
    memory = mem.remember("a warm otter", tags=["blocker"])

    assert mem.session("s").before_turn("otter").text == ""
    assert mem.context("otter", budget=0).text == ""
    assert mem.compact().hot == 0
    assert len(mem.recall("otter", limit=0)) == 0
    assert tools.memory_recall(mem, "otter", limit=0)["items"] == []
    assert queried(mem, {"query": "otter", "limit": 0})["results"] == []
    assert list(mem.find(limit=0)) == []
    with pytest.raises(memotherm.MemothermError, match="max_pinned is 0"):
        mem.pin(memory.id)
    session = open_mem(settings={"hot_token_limit": 0}).session("s")
    assert session.add("hello there").tier is Tier.WARM


@spec("W03")
def test_a_decision_stays_findable_until_the_session_really_ends(mem: Memotherm) -> None:
    """Runs of the agent do not compact, and at the end only one that says it is done goes cold."""
    session = mem.session("s")
    session.add("we will use SQLite for the otters", "decision", {"status": "done"})
    taken = session.add("we will use Python for the badgers", "decision")
    opened = session.add("whether to use Rust is open", "decision", {"status": "open"})
    session.run_ended()
    assert len(session.memory.recall("SQLite otters", limit=1)) == 1

    session.end()

    assert session.memory.get(opened.id).tier is not Tier.COLD
    assert session.memory.get(taken.id).tier is not Tier.COLD
    assert session.memory.recall("SQLite otters", tiers=("cold",))[0].memory.kind == "decision"


@spec("W04")
def test_hot_does_not_grow_past_its_caps_run_by_run(open_mem: Open) -> None:
    """Each run adds blockers; the caps count those that are hot already."""
    mem = open_mem(settings={"hot_max_facts": 4, "hot_max_tokens": 60})
    for n in range(20):
        mem.remember(f"blocker {n} of the day", tags=["blocker"])
        mem.compact()
        hot = mem.status().tiers[Tier.HOT]
        assert hot.memories <= 4
        assert hot.tokens <= 60


@spec("W05")
def test_the_fourth_rule_does_not_undo_the_second(open_mem: Open, clock: FakeClock) -> None:
    """A used preference stays, an idle one goes, and the idle one is really idle here."""
    mem = open_mem(settings={"default_tier": "hot"})
    idle = mem.remember("prefers tea", kind="preference")
    clock.advance(days=10)
    used = mem.remember("prefers metric units", kind="preference")

    assert moves_of(mem.compact()) == [(idle.id, "hot", "warm", "compact.preference")]
    assert mem.get(used.id).tier is Tier.HOT


@spec("W06")
def test_a_blocker_that_is_a_task_moves_once_and_counts_once(mem: Memotherm) -> None:
    """Cold first and hot then would be two moves in every run."""
    memory = mem.remember("repair the database", tags=["task", "blocker"], kind="decision")

    assert moves_of(mem.compact()) == [(memory.id, "warm", "hot", "compact.blocker")]
    assert mem.compact().moves == ()
    assert len(mem.history(memory.id)) == 2


@spec("W07")
def test_tokens_are_counted_on_the_text_that_is_given_out(mem: Memotherm) -> None:
    """One counter, on the rendered block, and nothing is cut afterwards."""
    content = "otter " * 120
    mem.remember(content.strip(), tier="hot")
    mem.remember("naïve 東京 🦦🦦🦦 otter")

    context = mem.context("otter")

    assert context.tokens == count_tokens(context.text)
    assert content.strip() in context.text


@spec("W08")
@pytest.mark.parametrize("prompt", ["", " ", "a", "go", "ok?"])
def test_a_short_prompt_gets_the_hot_block_too(mem: Memotherm, prompt: str) -> None:
    """However short it is."""
    mem.remember("deploys are frozen", tier="hot")

    assert "deploys are frozen" in mem.context(prompt).text


@spec("W09")
def test_a_hot_memory_appears_once(mem: Memotherm) -> None:
    """In the block, and not again among what was recalled, also when cold is included."""
    mem.remember("deploys are frozen", tier="hot")
    mem.remember("deploys are fun")

    text = mem.context("are deploys frozen?", include_cold=True).text

    assert text.count("deploys are frozen") == 1


@spec("W10")
def test_cold_memories_eat_no_places_of_an_answer(mem: Memotherm) -> None:
    """Fifty better matches are cold; the answer still has as many warm ones as were asked for."""
    for n in range(50):
        mem.remember(f"otter pond {n}", tier="cold")
    for n in range(5):
        mem.remember(f"an otter was seen near some other pond on day {n}")

    assert len(mem.recall("otter pond", limit=5)) == 5


@spec("W11")
def test_cold_does_not_leak_into_what_is_given_unasked(mem: Memotherm) -> None:
    """Not through words, tags, kinds, an entity's name or what replaced what."""
    old = mem.remember("Ann likes the otter pond", kind="entity", tags=["Ann"], tier="cold")
    mem.remember("Ann likes the otter lake", kind="entity", tags=["Ann"], supersedes=old.id)
    mem.remember("Ann is at the otter pond", kind="entity", tags=["Ann"], tier="cold")

    for question in ("Ann", "Ann likes the otter pond", "otter"):
        assert tiers_of(mem.recall(question, tags=["Ann"])) <= {"hot", "warm"}
        assert {entry.memory.tier for entry in mem.context(question).included} <= {Tier.WARM}
        assert "at the otter pond" not in mem.get_relevant_memories("ann", question)


@spec("W13")
def test_tier_and_decay_do_not_disagree_about_a_decision(mem: Memotherm, clock: FakeClock) -> None:
    """Marked permanent, no rule lets it go cold, and no clock erases or hides it."""
    memory = mem.remember("decided: SQLite for ever", kind="decision", tags=["permanent"])
    clock.advance(days=14)
    assert mem.compact().cold == 0
    clock.advance(days=3650)
    mem.maintain()

    assert mem.get(memory.id).retention == "active"
    assert said(mem.recall("SQLite")) == ["decided: SQLite for ever"]


@spec("W14")
def test_what_the_last_turn_captured_is_compacted_with_its_session(mem: Memotherm) -> None:
    """What is stored before the end takes part in the compaction of the end."""
    session = mem.session("s")
    memory = session.memory.capture("we decided to use SQLite", kind="decision", metadata={"status": "done"}).memory
    assert memory is not None

    ended = session.end()

    assert ended is not None
    assert (memory.id, "warm", "cold", "compact.done") in moves_of(ended)


@spec("W15")
def test_the_boosts_exist_in_one_place_only() -> None:
    """The numbers stand in the settings and nowhere else in the package."""
    sources = (ROOT / "src/memotherm").rglob("*.py")
    found = [path.name for path in sources if re.search(r"CRITICAL[^\n]*0\.3\b", path.read_text("utf-8"))]

    assert found == []
    assert Settings().priority_boosts[1:3] == (0.3, 0.15)


@spec("W16")
def test_critical_has_a_limit_on_every_way_in(open_mem: Open) -> None:
    """As pinned has."""
    mem = open_mem(settings={"max_critical": 1})
    mem.remember("the one", priority="critical")
    other = mem.remember("another")

    ways: list[Callable[[], object]] = [
        lambda: mem.remember("more", priority="critical"),
        lambda: mem.remember_many([{"content": "more", "priority": "critical"}]),
        lambda: mem.prioritize(other.id, 1),
        lambda: tools.set_memory_tier(mem, other.id, "critical"),
    ]
    for way in ways:
        with pytest.raises(memotherm.MemothermError, match="max_critical"):
            way()


@spec("W17")
@pytest.mark.parametrize("embedder", ["none", None])
def test_the_query_decides_and_not_the_date(open_mem: Open, clock: FakeClock, embedder: str | None) -> None:
    """An older normal memory that answers comes before a newer low one that does not, with any embedder."""
    mem = open_mem(embedder=embedder) if embedder else open_mem()
    mem.remember("the otter pond is deep")
    clock.advance(days=1)
    mem.remember("lunch was good", priority="low")

    assert said(mem.recall("otter pond", limit=1)) == ["the otter pond is deep"]


@spec("W18")
def test_trimming_keeps_pinned_memories(open_mem: Open) -> None:
    """A session's limit pushes everything out but them."""
    session = open_mem(settings={"hot_token_limit": 30}).session("s")
    pinned = session.memory.remember("the pinned rule", tier="hot", priority="pinned")
    for n in range(50):
        session.add(f"history line number {n}")

    assert pinned.id in [memory.id for memory in session.hot()]


@spec("W19")
def test_ids_are_names_and_not_positions(mem: Memotherm) -> None:
    """Forgetting and purging others changes no id, and search returns the id that storing gave."""
    memories = [mem.remember(f"otter number {n}") for n in range(5)]
    mem.purge(memories[0].id)
    mem.forget(memories[1].id)

    for memory in memories[2:]:
        assert mem.recall(memory.content, limit=1)[0].memory.id == memory.id
        assert mem.get(memory.id).content == memory.content


@spec("W20")
def test_the_pinned_list_leaves_no_trace_of_a_search(mem: Memotherm) -> None:
    """No recall is logged, and there may be more pinned memories than a search would return."""
    for n in range(5):
        mem.remember(f"rule {n}", priority="pinned")

    assert len(mem.pinned()) == 5
    assert mem.metrics().recall_count == 0


@spec("W21")
def test_as_many_pinned_as_the_limit_still_leave_room_for_results(mem: Memotherm) -> None:
    """The default of five pinned, and five results beside them."""
    for n in range(5):
        mem.remember(f"rule {n}", priority="pinned")
        mem.remember(f"otter {n}")

    lines = mem.get_relevant_memories("planner", "otter").splitlines()

    assert len(lines) == 10
    assert sum(line.startswith("- [pinned]") for line in lines) == 5


@pytest.mark.sqlite
@spec("W22")
def test_a_restored_checkpoint_has_the_same_pinned_memories_and_tiers(
    mem: Memotherm, open_mem: Open, tmp_path: Path
) -> None:
    """The test that the source promised and never wrote."""
    mem.remember("rule", priority="pinned", tier="cold")
    mem.session("s").add("hello there")
    memotherm.restore(mem.checkpoint(tmp_path / "c.db"), tmp_path / "r.db")

    restored = open_mem(tmp_path / "r.db")

    assert [hit.memory.content for hit in restored.recall("anything").pinned] == ["rule"]
    assert [memory.content for memory in restored.session("s").hot()] == ["hello there"]


@spec("W27")
def test_a_spill_tells_the_truth(mem: Memotherm) -> None:
    """Its target and its count are what the memories say afterwards; warm and cold are counted apart."""
    session = mem.session("s")
    for n in range(3):
        session.add(f"turn {n}")
    session.hot()
    session.hot()
    session.add("turn 3")
    session.hot()

    spill = tools.call(mem, "memory_spill", {"sessionId": "s"})

    for move in spill["moved"]:
        assert session.memory.get(move["id"]).tier == move["to"]
    status = tools.memory_status(mem, "s")
    assert (status["hot"]["items"], status["warm"]["items"], status["cold"]["items"]) == (0, 3, 1)


@spec("W28")
def test_a_promotion_by_recall_does_not_make_a_memory_immortal(mem: Memotherm) -> None:
    """It is as relevant as a turn that was just added, and leaves hot before the turns that came after it."""
    session = mem.session("s")
    memory = session.add("the pond in the park is deep and full of otters")
    session.spill()
    for _ in range(3):
        session.recall("did anybody ever mention otters?")
    fresh = session.add("a fresh turn")

    assert session.memory.get(memory.id).tier is Tier.HOT
    assert session.memory.get(memory.id).relevance == fresh.relevance == 1.0
    assert session.spill(count=1).spilled_ids == (memory.id,)
    assert session.memory.get(fresh.id).tier is Tier.HOT


@spec("W30")
def test_all_three_suggestions_and_all_six_metrics_exist(open_mem: Open) -> None:
    """Each suggestion comes up in a real case."""
    mem = open_mem(settings={"hot_token_limit": 40, "max_cold_items": 1})
    session = mem.session("s")
    seen = set()
    for n in range(12):
        session.add(f"turn {n} of the talk")
        seen |= {each.type for each in session.status().suggestions}
    session.spill(count=20)
    seen |= {each.type for each in session.status().suggestions}

    assert seen == {"spill", "recall", "prune"}
    assert set(mem.metrics().as_dict()) == {
        "memory_hot_utilization",
        "memory_spill_count",
        "memory_recall_count",
        "memory_promotion_count",
        "memory_recall_latency_ms",
        "memory_hit_rate",
    }


@spec("W31")
def test_the_query_has_one_contract(mem: Memotherm) -> None:
    """Cold is searchable, one word for each thing, a tier that is derived in one place."""
    mem.remember("an otter in the archive", tier="cold")

    assert queried(mem, {"query": "otter"})["results"][0]["tier"] == "cold"
    one = queried(mem, {"query": "otter", "tier": "cold", "limit": 5})
    other = queried(mem, {"query": "otter", "filters": {"tier": "cold"}, "k": 5})
    assert [each["id"] for each in one.pop("results")] == [each["id"] for each in other.pop("results")]
    assert one.pop("recall_id") != other.pop("recall_id")
    assert one == other


@spec("W32")
def test_a_read_can_be_free_of_side_effects(mem: Memotherm) -> None:
    """Queries count uses and say so; `track=False` counts none, and no memory's version changes by reading."""
    memory = mem.remember("the otter pond")

    mem.recall("otter", track=False)
    assert mem.find()[0] == memory

    mem.recall("otter")
    assert mem.get(memory.id).access_count == 1
    assert mem.get(memory.id).access_count == 2
    assert mem.get(memory.id).version == memory.version


def test_background_maintenance_runs_in_one_process_at_a_time(mem: Memotherm) -> None:
    """Whoever holds the lease works; the others do not, and a crash frees it after a while."""
    first, second = mem.store.maintenance(), mem.store.maintenance()

    assert first.run_once()
    assert second.run_once()
    started, go_on = threading.Event(), threading.Event()
    held = mem.store.maintenance()

    def job(part: Store) -> None:
        started.set()
        go_on.wait(timeout=120)

    held._job = job
    thread = threading.Thread(target=held.run_once)
    thread.start()
    assert started.wait(timeout=120)
    assert not second.run_once()
    go_on.set()
    thread.join()
    assert second.run_once()


def test_a_long_job_keeps_its_lease(mem: Memotherm, clock: FakeClock) -> None:
    """Its lease is renewed while it works: nobody else starts inside a job that takes eleven minutes."""
    readings, changed = 0, threading.Condition()

    def counted() -> datetime:
        nonlocal readings
        with changed:
            readings += threading.current_thread().name == "memotherm-renew"
            changed.notify_all()
        return clock()

    def await_renewal() -> None:
        with changed:
            # The second reading of the clock comes after the renewal that the first one is for.
            wanted = readings + 2
            assert changed.wait_for(lambda: readings >= wanted, timeout=120)

    def job(part: Store) -> None:
        for _ in range(11):
            clock.advance(minutes=1)
            await_renewal()
        assert not mem.store.maintenance().run_once()

    store = mem._services.all_tenants
    hour = timedelta(hours=1)
    long = Scheduler(store, "maintain", job, counted, hour, 0, renew_every=timedelta(milliseconds=1))

    assert long.run_once()
    assert mem.store.maintenance().run_once()


def test_a_holder_that_lost_its_lease_stops(mem: Memotherm, clock: FakeClock) -> None:
    """A process that was suspended for longer than its lease does not go on beside the one that took over."""
    steps: list[str] = []

    def job(part: Store) -> None:
        steps.append("began")
        clock.advance(minutes=11)
        assert mem.store.maintenance().run_once()
        part.transact(lambda _: steps.append("wrote"))

    suspended = Scheduler(mem._services.all_tenants, "maintain", job, clock, timedelta(hours=1), 0)

    assert not suspended.run_once()
    assert steps == ["began"]


@pytest.mark.sqlite
def test_a_crashed_holder_loses_the_lease_after_its_term(mem: Memotherm, clock: FakeClock) -> None:
    """Nobody has to clean up behind it."""
    minutes = timedelta(minutes=10)
    crashed = mem._services.all_tenants.claims("maintain", "crashed", clock, minutes, clock.now + minutes)
    assert next(crashed)
    assert not mem.store.maintenance().run_once()

    clock.advance(minutes=10)

    assert mem.store.maintenance().run_once()


def test_background_maintenance_really_runs_and_stops(mem: Memotherm) -> None:
    """Entering begins, leaving waits for a run that is under way."""
    done = threading.Event()
    scheduler = mem.store.maintenance(every_minutes=0.0002)
    job = scheduler._job

    def counted(part: Store) -> None:
        job(part)
        done.set()

    scheduler._job = counted
    with scheduler:
        assert done.wait(timeout=120)

    runs = scheduler.runs
    assert runs >= 1
    assert scheduler.runs == runs
