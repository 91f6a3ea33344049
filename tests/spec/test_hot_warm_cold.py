"""The three tiers, the hot block, and compaction (part H)."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memotherm import Memory, Memotherm, Settings, Tier, tools
from memotherm.errors import InvalidInput
from memotherm.testing import FakeClock
from memotherm.tiers.policy_checks import stored_examples
from memotherm.tiers.rules import DEFAULT_RULES, Situation
from memotherm.tiers.rules.rule import RuleSet
from tests.spec.ids import spec
from tests.spec.told import added, moves_of, tiers_of

ROOT = Path(__file__).resolve().parents[2]
Open = Callable[..., Memotherm]


@spec("H01")
def test_there_are_three_tiers_and_no_other(mem: Memotherm) -> None:
    """Hot, warm and cold exist; every verb that takes a tier refuses anything else."""
    memory = mem.remember("a fact about otters")

    assert [str(tier) for tier in Tier] == ["hot", "warm", "cold"]
    for wrong in ("lukewarm", "HOT", "", 5, -1, True):
        with pytest.raises(InvalidInput, match="hot, warm, cold"):
            mem.remember("another fact", tier=wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="hot, warm, cold"):
            mem.move(memory.id, wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="hot, warm, cold"):
            mem.recall("otters", tiers=[wrong])  # type: ignore[list-item]


@spec("H02")
def test_a_memory_without_a_tier_starts_warm(mem: Memotherm) -> None:
    """Storing says nothing about closeness, so it is neither in the prompt nor in the archive."""
    assert mem.remember("otters hold hands").tier is Tier.WARM


@spec("H03")
@pytest.mark.parametrize("tier", list(Tier))
def test_the_tier_given_on_store_is_kept_through_every_door(mem: Memotherm, tier: Tier) -> None:
    """The library and the tool both store where they are told to."""
    told = mem.remember(f"told {tier}", tier=tier)
    by_tool = tools.store_memory(mem, f"told by a tool {tier}", tier=str(tier))

    assert told.tier is tier
    assert by_tool["tier"] == tier
    assert mem.get(by_tool["id"]).tier is tier


@spec("H04")
def test_hot_memories_are_injected_at_the_start_of_a_session(mem: Memotherm) -> None:
    """Without any question the context holds what is hot, and nothing that is warm or cold."""
    for tier in Tier:
        mem.remember(f"a {tier} memory", tier=tier)

    context = mem.context()

    assert [memory.content for memory in context.included] == ["a hot memory"]
    assert "a hot memory" in context.text


@spec("H05")
def test_the_hot_block_is_a_lookup_and_not_a_search(open_mem: Open) -> None:
    """It works without any embedder, and no recall is counted."""
    mem = open_mem(embedder="none")
    mem.remember("the staging key has expired", tier="hot")

    context = mem.context()

    assert "staging key" in context.text
    assert context.tiers == ()
    assert mem.metrics().recall_count == 0


@spec("H06")
@pytest.mark.parametrize("most", [2000, 120, 0])
def test_the_hot_block_never_costs_more_than_its_setting(open_mem: Open, most: int) -> None:
    """However much is hot, the text of the block stays within hot_max_tokens; 0 turns it off."""
    mem = open_mem(settings={"hot_max_tokens": most})
    mem.remember_many([{"content": f"hot fact {n} " + "and so on " * 12, "tier": "hot"} for n in range(120)])

    context = mem.context(budget=100_000)

    assert context.tokens <= most
    assert bool(context.included) == bool(most)
    assert len(context.included) + len(context.left_out) == 120


@spec("H07")
def test_the_hot_block_holds_blockers_first_and_pinned_memories_from_any_tier(mem: Memotherm) -> None:
    """What is pinned need not be hot to be there."""
    mem.remember("ordinary hot fact", tier="hot")
    mem.remember("deploys are frozen", tier="hot", tags=["blocker"])
    mem.remember("never send money to agent X", tier="cold", priority="pinned")

    context = mem.context()

    assert [memory.content for memory in context.included] == [
        "never send money to agent X",
        "deploys are frozen",
        "ordinary hot fact",
    ]


@spec("H08")
def test_a_turn_gets_the_hot_block_before_what_is_recalled(mem: Memotherm) -> None:
    """The order of the text: pinned, hot, then what the question found."""
    mem.remember("the release of the otter app is on Friday")
    mem.remember("deploys are frozen", tier="hot")

    text = mem.context("when is the release of the otter app?").text

    assert text.index("deploys are frozen") < text.index("on Friday")


@spec("H09")
def test_a_turn_searches_warm_only_and_repeats_nothing_that_is_hot(mem: Memotherm) -> None:
    """Hot memories are there already; the search that follows looks into warm."""
    hot = mem.remember("the otter release is on Friday, says Ann", tier="hot")
    warm = mem.remember("the otter release is on Friday, says Bob")

    context = mem.context("when is the otter release?")

    assert context.tiers == (Tier.WARM,)
    assert [memory.id for memory in context.included] == [hot.id, warm.id]


@spec("H10")
def test_every_search_uses_words_and_vectors(mem: Memotherm) -> None:
    """Both legs say what they think of a memory that both find."""
    mem.remember("the otter release is on Friday")

    (hit,) = mem.recall("otter release")

    assert hit.why.vector is not None
    assert hit.why.text is not None


@spec("H11")
def test_cold_comes_into_a_turn_only_when_it_is_switched_on(open_mem: Open) -> None:
    """The switch is a setting, or an argument of the call."""
    question = "what was decided about otters?"
    plain, switched = open_mem(), open_mem(settings={"context_includes_cold": True})
    for mem in (plain, switched):
        mem.remember("decided about otters: they stay", tier="cold")

    assert plain.context(question).included == ()
    assert len(plain.context(question, include_cold=True).included) == 1
    assert len(switched.context(question).included) == 1
    assert switched.context(question, include_cold=False).included == ()


@spec("H12", "H13")
def test_recall_searches_hot_and_warm_and_cold_on_request(mem: Memotherm) -> None:
    """The tool and the verb agree on the default, and on how to include the archive."""
    for tier in Tier:
        mem.remember(f"an otter that is {tier}", tier=tier)

    assert tiers_of(mem.recall("otter")) == {"hot", "warm"}
    assert tiers_of(mem.recall("otter", tiers=("hot", "warm", "cold"))) == {"hot", "warm", "cold"}
    default, deep = tools.memory_recall(mem, "otter"), tools.memory_recall(mem, "otter", includeCold=True)
    assert {item["tier"] for item in default["items"]} == {"hot", "warm"}
    assert default["tiers"] == ["hot", "warm"]
    assert {item["tier"] for item in deep["items"]} == {"hot", "warm", "cold"}


@spec("H15")
def test_the_end_of_a_session_compacts(mem: Memotherm) -> None:
    """What the session left hot is tidied up when it ends."""
    session = mem.session("s1")
    message = session.add("hello there")

    ended = session.end()

    assert ended is not None
    assert moves_of(ended) == [(message.id, "hot", "warm", "compact.focus")]


@spec("H16")
def test_the_end_of_a_session_does_not_compact_when_the_setting_is_off(open_mem: Open) -> None:
    """Everything stays where it is, and the call says that nothing ran."""
    mem = open_mem(settings={"compaction_on_session_end": False})
    session = mem.session("s1")
    message = session.add("hello there")

    assert session.end() is None
    assert session.memory.get(message.id).tier is Tier.HOT


def test_a_run_of_the_agent_compacts_only_when_the_setting_asks_for_it(open_mem: Open) -> None:
    """The real end of a session is the usual moment; every run can be chosen."""
    usual, eager = open_mem(), open_mem(settings={"compact_every_run": True})
    for mem in (usual, eager):
        mem.remember("we decided to ship", kind="decision", metadata={"status": "done"})

    assert usual.session("s").run_ended() is None
    compaction_of_run = eager.session("s").run_ended()
    assert compaction_of_run is not None
    assert compaction_of_run.cold == 1


@spec("H18")
def test_an_old_decision_goes_cold(mem: Memotherm, clock: FakeClock) -> None:
    """Rule 1, after 90 days, from hot and from warm; one that says it is open stays."""
    warm = mem.remember("we use SQLite", kind="decision")
    hot = mem.remember("we use WAL", kind="decision", tier="hot")
    mem.remember("we might use Rust", kind="decision", metadata={"status": "open"})

    clock.advance(days=89.9)
    assert mem.compact().moves == ()
    clock.advance(days=0.1)
    assert moves_of(mem.compact()) == [
        (warm.id, "warm", "cold", "compact.idle"),
        (hot.id, "hot", "cold", "compact.idle"),
    ]


@spec("H19")
def test_a_task_that_says_it_is_done_goes_cold_at_once(mem: Memotherm) -> None:
    """Rule 1 for the tag; a task without a status, an open one and a pinned one stay."""
    said_done = [
        {"content": f"a task whose {key} is {status}", "tags": ["task"], "metadata": {key: status}}
        for key in ("status", "state")
        for status in ("closed", "Done", "resolved", "completed", "cancelled")
    ]
    done = mem.remember_many(said_done)
    mem.remember("water the plants", tags=["task"])
    mem.remember("call the bank", tags=["task"], metadata={"state": "active"})
    mem.remember("pay the invoice", tags=["task"], metadata={"status": "done"}, priority="pinned")

    assert moves_of(mem.compact()) == [(memory.id, "warm", "cold", "compact.done") for memory in done]


@spec("H19")
def test_a_change_and_a_use_each_postpone_the_move_of_a_task(open_mem: Open, clock: FakeClock) -> None:
    """The days of the setting count from the last change or use."""
    mem = open_mem(settings={"task_cold_after_days": 2})
    untouched = mem.remember("write the report", tags=["task"])
    changed = mem.remember("water the plants", tags=["task"])
    used = mem.remember("count the otters", tags=["task"])

    clock.advance(days=1)
    mem.update(changed.id, content="water the plants twice")
    mem.recall("otters", limit=1)
    clock.advance(days=1)
    assert [move.id for move in mem.compact().moves] == [untouched.id]
    clock.advance(days=1)
    assert {move.id for move in mem.compact().moves} == {changed.id, used.id}


@spec("H18", "H19")
def test_decisions_and_tasks_can_go_cold_at_once(open_mem: Open) -> None:
    """The literal text of the source, with settings of 0, also if they say that they are open."""
    for name, cold in (("task_cold_after_days", 2), ("decision_cold_after_days", 1)):
        mem = open_mem(settings={name: 0})
        mem.remember("we use SQLite", kind="decision", metadata={"status": "open"})
        mem.remember("write the report", tags=["task"])
        mem.remember("read the report", kind="task", metadata={"status": "open"})

        assert mem.compact().cold == cold


@spec("H18", "H19")
def test_tasks_go_cold_after_30_and_decisions_after_90_days(mem: Memotherm, clock: FakeClock) -> None:
    """What is open or a blocker stays for good, also in maintenance; what is superseded goes at once."""
    task = mem.remember("write the report", kind="task")
    decision = mem.remember("we use SQLite", kind="decision")
    mem.remember("we use pipes", kind="decision", metadata={"status": "superseded"})
    mem.remember("call the bank", kind="task", metadata={"status": "open"})
    mem.remember("the disk is full", kind="task", tags=["blocker"])
    cold = 1
    for days, moved in ((0, None), (29, None), (1, task), (59, None), (1, decision), (400, None)):
        clock.advance(days=days)
        mem.compact()
        mem.maintain()
        cold += moved is not None
        assert len(mem.find(tier="cold")) == cold, days
        assert moved is None or mem.get(moved.id).tier_rule == "compact.idle"


def test_a_decision_is_still_found_after_its_session(mem: Memotherm) -> None:
    """A default recall of the next session finds what was decided in this one."""
    session = mem.session("morning")
    mem.remember("we chose SQLite for the otters", kind="decision")
    session.end()

    assert mem.session("evening").memory.recall("what did we choose for the otters?")[0].memory.kind == "decision"


@spec("H20")
def test_a_hot_preference_that_is_not_used_for_a_week_goes_warm(mem: Memotherm, clock: FakeClock) -> None:
    """Rule 2, at exactly the seventh day, also for one that was set hot on purpose."""
    preference = mem.remember("prefers metric units", kind="preference", tier="hot")
    clock.advance(days=7)

    assert moves_of(mem.compact()) == [(preference.id, "hot", "warm", "compact.preference")]


@spec("H21")
def test_a_hot_preference_in_use_stays_hot(open_mem: Open, clock: FakeClock) -> None:
    """Rule 4 does not swallow rule 2: a preference that was used within the window stays."""
    mem = open_mem(settings={"default_tier": "hot"})
    preference = mem.remember("prefers metric units", kind="preference")
    clock.advance(days=6)
    mem.recall("metric units")
    clock.advance(days=6)

    assert mem.compact().moves == ()
    assert mem.get(preference.id).tier is Tier.HOT


@spec("H21")
def test_the_rules_read_the_access_that_is_shown(open_mem: Open, clock: FakeClock) -> None:
    """A preference that was read by its id or listed as hot yesterday is in use."""
    for listed in (True, False):
        session = open_mem().session("s")
        preference = session.add("prefers metric units", "preference")
        for _ in range(8):
            clock.advance(days=2)
            _ = session.hot() if listed else [session.memory.get(preference.id)]
        session.end()
        clock.advance(days=6)

        assert session.memory.compact().moves == ()
        (shown,) = session.memory.find()
        assert (shown.tier, shown.access_count) == (Tier.HOT, 8)
        clock.advance(days=1)
        assert session.memory.compact().warm == 1


@spec("H22")
@pytest.mark.parametrize("tier", ["warm", "cold"])
def test_a_blocker_goes_hot(mem: Memotherm, tier: str) -> None:
    """Rule 3, from warm and from cold; a blocker that is over stays where it is."""
    blocker = mem.remember("the database is down", tags=["blocker"], tier=tier)
    mem.remember("the network was down", tags=["blocker"], tier=tier, metadata={"status": "resolved"})

    assert moves_of(mem.compact()) == [(blocker.id, tier, "hot", "compact.blocker")]


@spec("H22", "H25")
def test_a_blocker_displaces_what_is_hot_only_by_an_explicit_call(open_mem: Open, clock: FakeClock) -> None:
    """The least recently used, as many as it needs; nothing that is hot for another reason, and nothing in vain."""
    for settings in ({"hot_max_facts": 4}, {"hot_max_tokens": 30}):
        mem = open_mem(settings=settings)
        pinned = mem.remember("an old pinned fact", priority="pinned", tier="hot")
        facts = [mem.remember(f"the {bird} nests on the pier", tier="hot") for bird in ("heron", "egret", "stork")]
        preference = mem.remember("prefers green tea", kind="preference", tier="hot")
        clock.advance(hours=1)
        mem.recall("heron", limit=1)
        blocker = mem.remember("the harbour is closed by order of the admiral", tags=["blocker"])

        moved = moves_of(mem.compact())

        assert moved[0] == (blocker.id, "warm", "hot", "compact.blocker")
        assert [move[0] for move in moved[1:]] == [fact.id for fact in facts[1 : len(moved)]]
        assert {move[3] for move in moved[1:]} == {"compact.focus"}
        assert {pinned.id, preference.id, facts[0].id} <= {memory.id for memory in mem.find(tier="hot")}
        assert mem.compact().moves == ()
        hot = mem.status().tiers[Tier.HOT]
        assert hot.memories <= mem.settings.hot_max_facts
        assert hot.tokens <= mem.settings.hot_max_tokens

        mem.remember("a blocker of many words " * 40, tags=["blocker"])
        assert (mem.compact().moves == ()) is ("hot_max_tokens" in settings)


@spec("H22", "H25")
def test_a_blocker_displaces_a_preference_but_nothing_pinned(open_mem: Open, clock: FakeClock) -> None:
    """Fresh preferences that fill hot yield, least recently used first; a blocker waits only for pinned memories."""
    mem = open_mem(settings={"hot_max_facts": 3})
    preferences = [
        mem.remember(f"prefers {tea} tea", kind="preference", tier="hot") for tea in ("green", "black", "mint")
    ]
    clock.advance(hours=1)
    mem.recall("green tea", limit=1)
    blocker = mem.remember("the harbour is closed by order of the admiral", tags=["blocker"])

    assert [move[:3] for move in moves_of(mem.compact())] == [
        (blocker.id, "warm", "hot"), (preferences[1].id, "hot", "warm"),
    ]  # fmt: skip
    assert mem.compact().moves == ()

    full = open_mem(settings={"hot_max_facts": 3})
    for number in range(3):
        full.remember(f"standing order number {number}", tier="hot", priority="pinned")
    full.remember("the harbour is closed by order of the admiral", tags=["blocker"])
    assert full.compact().moves == ()


@spec("H23")
def test_promotion_stops_at_the_tokens_of_the_hot_block(open_mem: Open) -> None:
    """The cap may be filled exactly and is never passed."""
    mem = open_mem(settings={"hot_max_tokens": 60})
    memories = [mem.remember(f"blocker number {n} " + "word " * 17, tags=["blocker"]) for n in range(5)]
    each = memories[0].tokens

    moved = mem.compact()

    assert moved.hot == 60 // each
    assert mem.status().tiers[Tier.HOT].tokens <= 60


@spec("H24")
def test_promotion_stops_at_the_number_of_hot_facts(open_mem: Open) -> None:
    """Only as many blockers come in as the setting allows; 0 means none."""
    for most in (3, 0):
        mem = open_mem(settings={"hot_max_facts": most})
        mem.remember_many([{"content": f"blocker {n}", "tags": ["blocker"]} for n in range(7)])

        assert mem.compact().hot == most
        assert mem.status().tiers[Tier.HOT].memories == most


@spec("H25")
def test_what_blocks_nothing_leaves_hot_unless_it_is_exempt(open_mem: Open) -> None:
    """Rule 4 with all its exemptions: blockers, pinned, explicit, fresh preferences, open sessions."""
    mem = open_mem(settings={"default_tier": "hot"})
    plain = mem.remember("a plain fact")
    mem.remember("a blocker", tags=["blocker"])
    mem.remember("a pinned fact", priority="pinned")
    mem.remember("put here on purpose", tier="hot")
    mem.remember("a fresh preference", kind="preference")
    mem.session("open").add("said in a session that goes on")

    assert moves_of(mem.session("open").memory.compact()) == [(plain.id, "hot", "warm", "compact.focus")]


def test_the_literal_fourth_rule_can_be_chosen(open_mem: Open) -> None:
    """With the strict setting only blockers and pinned memories stay hot."""
    mem = open_mem(settings={"default_tier": "hot", "strict_hot_blockers_only": True})
    for fields in ({"tier": "hot"}, {"kind": "preference"}, {"tags": ["blocker"]}, {"priority": "pinned"}):
        mem.remember(f"a memory with {fields}", **fields)

    assert mem.compact().warm == 2
    assert [memory.content for memory in mem.find(tier="hot")] == [
        "a memory with {'priority': 'pinned'}",
        "a memory with {'tags': ['blocker']}",
    ]


@spec("H26")
def test_the_rules_run_in_their_order(mem: Memotherm, clock: FakeClock) -> None:
    """The first rule that applies wins, and the moves are listed rule by rule."""
    idle_and_done = mem.remember(
        "prefers tasks", kind="preference", tags=["task"], tier="hot", metadata={"status": "done"}
    )
    idle = mem.remember("prefers tea", kind="preference", tier="hot")
    clock.advance(days=8)
    session = mem.session("over")
    said = session.add("hello")
    blocker = session.memory.remember("no network", tags=["blocker"])

    ended = session.end()

    assert ended is not None
    assert moves_of(ended) == [
        (idle_and_done.id, "hot", "cold", "compact.done"),
        (idle.id, "hot", "warm", "compact.preference"),
        (blocker.id, "warm", "hot", "compact.blocker"),
        (said.id, "hot", "warm", "compact.focus"),
    ]


@spec("H27")
def test_the_settings_of_compaction_have_the_documented_defaults() -> None:
    """The five names in their Python form."""
    settings = Settings()

    assert settings.tiering is True
    assert settings.hot_max_tokens == 2000
    assert settings.compaction_on_session_end is True
    assert settings.inactive_preference_days == 7
    assert settings.hot_max_facts == 50


def test_compaction_moves_nothing_when_tiering_is_off(open_mem: Open) -> None:
    """The switch is really read."""
    mem = open_mem(settings={"tiering": False})
    mem.remember("we use SQLite", kind="decision", metadata={"status": "done"})

    assert mem.compact().moves == ()


@spec("H28")
def test_compacting_twice_moves_nothing_the_second_time(open_mem: Open, clock: FakeClock) -> None:
    """Also when the caps are full, and when a session's limit is smaller than its blockers."""
    mem = open_mem(settings={"hot_max_tokens": 40, "hot_max_facts": 3, "hot_token_limit": 20})
    for n in range(6):
        mem.remember(f"blocker {n} stops everything", tags=["blocker", "task"])
        mem.remember(f"decision {n}", kind="decision", tier="hot", metadata={"status": "done"})
        mem.remember(f"preference {n}", kind="preference", tier="hot")
    session = mem.session("small")
    added(session, "a session's blocker that is quite long", tags=["blocker"])
    session.add("some talk that fills the session")
    added(session, "another blocker of the session, also long", tags=["blocker"])
    clock.advance(days=9)

    first, second = session.memory.compact(), session.memory.compact()

    assert first.moves
    assert second.moves == ()


@spec("H29")
def test_the_caps_count_what_is_hot_already(open_mem: Open) -> None:
    """Two are hot, three are allowed: one more comes in, not three."""
    mem = open_mem(settings={"hot_max_facts": 3})
    for n in range(2):
        mem.remember(f"a hot blocker {n}", tier="hot", tags=["blocker"])
    mem.remember_many([{"content": f"blocker {n}", "tags": ["blocker"]} for n in range(4)])

    assert mem.compact().hot == 1
    assert mem.compact().hot == 0


def test_a_dry_run_tells_the_moves_and_makes_none(mem: Memotherm) -> None:
    """What it lists is what the real run then does."""
    mem.remember("we use SQLite", kind="decision", metadata={"status": "done"})

    planned = mem.compact(dry_run=True)

    assert planned.dry_run
    assert planned.cold == 1
    assert mem.status().tiers[Tier.COLD].memories == 0
    assert mem.compact().moves == planned.moves


def test_the_rules_are_a_function_of_memories_and_a_moment(a_memory: Callable[..., Memory]) -> None:
    """What compaction would do can be asked about any memory at any time."""
    memory = a_memory("we use SQLite", kind="decision")
    situation = Situation(now=memory.created_at + timedelta(days=100), settings=Settings())

    with stored_examples([memory]) as (store, spaces):
        ((_, move),) = RuleSet(DEFAULT_RULES, "compact").decisions(store.selector(spaces), situation)

    assert str(move) == "mem_1 warm -> cold: a decision or task not changed or used for 100 days [compact.idle]"


@spec("H30")
def test_the_documents_about_tiers_are_there_and_linked() -> None:
    """A page about settings, one about commands and an index of features lead to each other."""
    pages = {
        "settings": ROOT / "docs/reference/settings.md",
        "commands": ROOT / "docs/reference/cli.md",
        "index": ROOT / "docs/index.md",
        "tiers": ROOT / "docs/explain/tiers.md",
    }
    texts = {name: path.read_text("utf-8") for name, path in pages.items()}

    assert "compact" in texts["commands"]
    assert all(name in texts["settings"] for name in ("hot_max_tokens", "hot_max_facts", "inactive_preference_days"))
    for target in ("explain/tiers.md", "reference/settings.md", "reference/cli.md"):
        assert target in texts["index"]
    for target in ("reference/settings.md", "reference/cli.md"):
        assert target in texts["tiers"]


@spec("H14", "W12")
def test_the_command_line_searches_in_the_tiers_it_is_told(
    tmp_path: Path, open_mem: Open, run_cli: Callable[..., str]
) -> None:
    """The filter takes the three tiers and no fourth word."""
    path = tmp_path / "agent.db"
    mem = open_mem(path)
    for tier in Tier:
        mem.remember(f"an otter that is {tier}", tier=tier)

    def found(*options: str) -> set[str]:
        told = json.loads(run_cli("search", "otter", "--store", path, "--json", *options))
        return {each["tier"] for each in told["items"]}

    assert found() == {"hot", "warm"}
    assert found("--tier", "cold") == {"cold"}
    assert found("--tier", "hot", "--tier", "cold") == {"hot", "cold"}
    assert "an otter that is warm" in run_cli("search", "otter", "--store", path)
    assert "lukewarm" in run_cli("search", "otter", "--store", path, "--tier", "lukewarm", exit_code=2)


@spec("H17")
def test_the_command_line_compacts_and_prints_the_counts(
    tmp_path: Path, open_mem: Open, run_cli: Callable[..., str]
) -> None:
    """A dry run says the same and moves nothing."""
    path = tmp_path / "agent.db"
    mem = open_mem(path)
    mem.remember("we use SQLite", kind="decision")
    mem.remember("no network", tags=["blocker"])

    assert "hot=1 warm=0 cold=1" in run_cli("compact", "--store", path, "--dry-run")
    assert mem.status().tiers[Tier.COLD].memories == 0
    told = json.loads(run_cli("compact", "--store", path, "--json"))
    assert (told["hot"], told["warm"], told["cold"]) == (1, 0, 1)
    assert {move["rule"] for move in told["moves"]} == {"compact.blocker", "compact.idle"}
    assert "hot=0 warm=0 cold=0" in run_cli("compact", "--store", path)


def test_the_command_line_maintains(tmp_path: Path, open_mem: Open, run_cli: Callable[..., str]) -> None:
    """By the real clock, so what was made long ago has cooled."""
    path = tmp_path / "agent.db"
    open_mem(path, clock=FakeClock(datetime(2020, 1, 1, tzinfo=UTC))).remember("made long ago")

    told = json.loads(run_cli("maintain", "--store", path, "--json"))

    assert [(move["from"], move["to"], move["rule"]) for move in told["moves"]] == [("warm", "cold", "maintain.cool")]
    assert told["expired"] == 0
    assert "moved 0" in run_cli("maintain", "--store", path)
