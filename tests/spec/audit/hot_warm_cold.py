"""The document about hot, warm and cold (H)."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from tests.spec.audit.interfaces import Cli, Hook, Mcp, Python, Rest
from tests.spec.audit.table import audit

_DOCS = Path(__file__).resolve().parents[3] / "docs"


@audit("H01", fast=True)
def three_tiers_and_no_other(rest: Rest, mcp: Mcp) -> None:
    for tier in ("hot", "warm", "cold"):
        assert rest.remember(f"Kept in {tier}", tier=tier)["tier"] == tier
    assert rest.refused("/memories", {"content": "Frozen solid", "tier": "frozen"})["status"] == 422
    mcp.refused("store_memory", content="Kept in a fourth tier", tier="structural")


@audit("H02")
def stored_without_a_tier_is_warm(rest: Rest, mcp: Mcp, cli: Cli, python: Python) -> None:
    assert rest.remember("Stored over HTTP")["tier"] == "warm"
    assert mcp("store_memory", content="Stored by a tool call")["tier"] == "warm"
    assert cli("remember", "Stored by a command")["tier"] == "warm"
    assert str(python.open().remember("Stored by a program").tier) == "warm"


@audit("H03")
def a_tier_given_is_honoured(rest: Rest, mcp: Mcp, cli: Cli, python: Python) -> None:
    assert rest.remember("Cold over HTTP", tier="cold")["tier"] == "cold"
    assert mcp("store_memory", content="Hot by a tool call", tier="hot", sessionId="H03")["tier"] == "hot"
    assert cli("remember", "Cold by a command", "--tier", "cold")["tier"] == "cold"
    assert str(python.open().remember("Hot by a program", tier="hot").tier) == "hot"


@audit("H04", "H05")
def hot_is_injected_at_session_start(rest: Rest, hook: Hook, python: Python) -> None:
    rest.remember("The gate code is 4711", tier="hot", tags=["blocker"], scope=f"project={hook.name}")
    # A memory without vectors, which no vector search finds.
    rest.remember("The dock code is 8812", tier="hot", index=False, scope=f"project={hook.name}")
    given = hook("SessionStart")
    started = rest.post("/sessions/begin/start", scope=f"project={hook.name}")
    for code in ("4711", "8812"):
        assert code in given
        assert code in started["text"]
    turn = rest.post("/sessions/other/context", {"prompt": "Is it windy?"}, scope=f"project={hook.name}")["text"]
    assert "4711" in turn
    assert "8812" in turn
    mem = python.open(embedder="none")
    mem.remember("The gate code is 4711", tier="hot")
    assert "4711" in mem.session("s").session_start().text
    assert mem.metrics().recall_count == 0


@audit("H06")
def the_hot_block_has_at_most_hot_max_tokens(rest: Rest, tight: Rest) -> None:
    for number in range(12):
        rest.remember(f"Hot fact number {number}: " + "ballast and water " * 60, tier="hot", tags=["blocker"])
    hot = rest.post("/context", {"budget": 8000})
    assert 0 < hot["tokens"] <= 2000 + 100, hot["tokens"]
    small = tight.post("/context", {"budget": 8000})
    assert small["tokens"] <= 60 + 100, small["tokens"]


@audit("H07", "E07")
def the_hot_block_holds_blockers_and_pinned_memories(rest: Rest) -> None:
    rest.remember("The deploy waits for a signature", tier="hot", tags=["blocker"])
    rest.remember("Never pay the second invoice", tier="cold", priority="pinned")
    text = rest.session("start")["text"]
    assert "signature" in text
    assert "second invoice" in text


@audit("H08", "H09")
def auto_recall_injects_hot_first_then_searches_warm(rest: Rest, hook: Hook) -> None:
    rest.remember("Blocker: the harbour crane is broken", tier="hot", tags=["blocker"])
    rest.remember("The lighthouse keeper is called Ines", tier="warm")
    rest.remember("The lighthouse keeper was called Bruno", tier="cold")
    text = hook("before_agent_start", prompt="What is the lighthouse keeper called?", sessionKey=hook.name)
    assert "crane" in text
    assert "Ines" in text
    assert text.index("crane") < text.index("Ines")
    assert "Bruno" not in text


@audit("H10")
def a_search_uses_words_and_vectors(rest: Rest) -> None:
    rest.remember("The invoice number is QX-7731-B")
    rest.remember("Our feline companion sleeps on the sofa all day")
    by_word = rest.recall("QX-7731-B")["items"][0]
    by_meaning = rest.recall("Where does the cat nap?")["items"][0]
    assert "QX-7731-B" in by_word["content"]
    assert "feline" in by_meaning["content"]
    assert "text" in by_word["why"] or "word" in by_word["why"], by_word["why"]


@audit("H11", fast=True)
def cold_is_in_auto_recall_only_if_asked(rest: Rest) -> None:
    rest.remember("The old archive key hangs behind the boiler", tier="cold")
    prompt = {"prompt": "Where does the archive key hang?"}
    assert "boiler" not in rest.session("context", "a", **prompt)["text"]
    assert "boiler" in rest.session("context", "b", **prompt, include_cold=True)["text"]


@audit("H12", "H13")
def memory_recall_searches_hot_and_warm_unless_cold_is_asked_for(mcp: Mcp) -> None:
    for tier in ("hot", "warm", "cold"):
        mcp("store_memory", content=f"The walrus sleeps in the {tier} pool", tier=tier)
    found = mcp("memory_recall", query="Where does the walrus sleep?")
    assert {item["tier"] for item in found["items"] if "walrus" in item["content"]} == {"hot", "warm"}
    deep = mcp("memory_recall", query="Where does the walrus sleep?", includeCold=True)
    assert "cold" in {item["tier"] for item in deep["items"] if "walrus" in item["content"]}


@audit("H14")
def the_search_command_has_a_tier_filter(rest: Rest, cli: Cli) -> None:
    rest.remember("The otter swims in the warm pool")
    rest.remember("The otter swims in the cold pool", tier="cold")
    found = cli("search", "otter", "--tier", "cold")
    assert [item["tier"] for item in found["items"]] == ["cold"]
    assert "otter" in cli.text("search", "otter", "--tier", "warm")
    cli.refused("search", "otter", "--tier", "structural")


@audit("H16", H15="D29")
def the_end_of_a_session_compacts_if_the_setting_says_so(rest: Rest, python: Python) -> None:
    rest.remember("Blocked by the customs office", tags=["blocker"])
    rest.session("start")
    assert rest.session("end")["compaction"]["hot"] == 1
    mem = python.open(compaction_on_session_end=False)
    blocker = mem.remember("Blocked by the tide", tags=["blocker"])
    mem.session("s").session_end()
    assert str(mem.get(blocker.id).tier) == "warm"
    every = python.open(compact_every_run=True)
    blocker = every.remember("Blocked by the tide", tags=["blocker"])
    every.session("s").run_ended()
    assert str(every.get(blocker.id).tier) == "hot"


@audit(H15="D29")
def the_hook_of_a_session_end_compacts(rest: Rest, hook: Hook) -> None:
    blocker = rest.remember("Blocked by the ice", tags=["blocker"])
    hook("UserPromptSubmit", prompt="Which ship is blocked by the ice?")
    hook("SessionEnd")
    hook.work()
    assert rest.read(blocker)["tier"] == "hot"


@audit("H17")
def compact_runs_now_and_prints_the_counts(rest: Rest, cli: Cli) -> None:
    rest.remember("Blocked by the notary", tags=["blocker"])
    rest.remember("Ship the crate", kind="task", tags=["task"], metadata={"status": "done"})
    printed = cli.text("compact")
    assert "hot=1" in printed, printed
    assert "warm=0" in printed
    assert "cold=1" in printed


@audit(H18="D07", H19="D07")
def decisions_and_tasks_go_cold(rest: Rest, tight: Rest) -> None:
    done = rest.remember("We chose the blue hull", kind="decision", metadata={"status": "done"})
    fresh = rest.remember("We chose the oak mast", kind="decision")
    rest.post("/compact")
    assert rest.read(done)["tier"] == "cold"
    assert rest.read(fresh)["tier"] == "warm"
    decision = tight.remember("We chose the iron anchor", kind="decision")
    task = tight.remember("Paint the keel", tags=["task"])
    tight.post("/compact")
    assert tight.read(decision)["tier"] == "cold"
    assert tight.read(task)["tier"] == "cold"


@audit(H18="D07", H19="D07")
def tasks_go_cold_after_30_and_decisions_after_90_days(python: Python) -> None:
    mem = python.open()
    decision = mem.remember("We chose the blue hull", kind="decision")
    task = mem.remember("Paint the keel", tags=["task"])
    mem.remember("Caulk the deck", kind="task", metadata={"status": "open"})
    mem.remember("The dock is closed", kind="task", tags=["blocker"], tier="hot")
    for days, cold in ((29, []), (1, [task]), (59, [task]), (1, [task, decision]), (300, [task, decision])):
        python.clock.advance(days=days)
        mem.compact()
        mem.maintain()
        assert {memory.id for memory in mem.find(tier="cold")} == {memory.id for memory in cold}, days


@audit("H20", "H21")
def an_unused_hot_preference_becomes_warm(python: Python) -> None:
    mem = python.open()
    idle = mem.remember("Prefers green tea", kind="preference", tier="hot")
    used = mem.remember("Prefers window seats", kind="preference", tier="hot")
    python.clock.advance(days=6, hours=23)
    assert mem.compact().moves == ()
    exact = python.open()
    other = exact.remember("Prefers green tea", kind="preference", tier="hot")
    python.clock.advance(days=7)
    assert [move.id for move in exact.compact().moves] == [other.id]
    python.clock.now -= timedelta(days=7, hours=23)
    mem.recall("window seats", limit=1)
    read = mem.remember("Prefers oat milk", kind="preference", tier="hot")
    python.clock.advance(days=6)
    assert mem.get(read.id).access_count == 0
    mem.compact()
    assert str(mem.get(idle.id).tier) == "warm"
    assert str(mem.get(used.id).tier) == "hot"
    python.clock.advance(days=6)
    mem.compact()
    found = mem.get(read.id)
    assert (str(found.tier), found.access_count) == ("hot", 1)
    assert found.accessed_at == python.clock.now - timedelta(days=6)


@audit("H22", fast=True)
def a_blocker_becomes_hot(rest: Rest) -> None:
    blocker = rest.remember("Waiting for the pilot boat", tags=["blocker"], tier="cold")
    run = rest.post("/compact")
    assert rest.read(blocker)["tier"] == "hot"
    assert [move["id"] for move in run["moves"]] == [blocker["id"]]


@audit("H23", "H24", "H29")
def promotion_never_passes_the_caps(tight: Rest, python: Python) -> None:
    hot = [tight.remember(f"Blocker number {number}", tags=["blocker"], tier="hot") for number in range(2)]
    for number in range(4):
        tight.remember(f"Small blocker {number}", tags=["blocker"])
    assert tight.post("/compact")["hot"] == 1
    assert tight.get("/status")["hot"]["items"] == 3
    assert tight.read(hot[0])["tier"] == "hot"
    mem = python.open(hot_max_tokens=100)
    for number in range(10):
        mem.remember(f"Blocker {number} " + "with a cargo of words " * 5, tags=["blocker"])
    mem.compact()
    mem.compact()
    assert 0 < mem.status().tiers["hot"].tokens <= 100  # type: ignore[index]


@audit(H25="D06")
def what_is_no_blocker_leaves_hot(python: Python) -> None:
    mem = python.open(default_tier="hot")
    plain = mem.remember("The weather was fine")
    pinned = mem.remember("The insurance number is 12", priority="pinned")
    explicit = mem.remember("Kept hot on purpose", tier="hot")
    mem.compact()
    assert [str(mem.get(each.id).tier) for each in (plain, pinned, explicit)] == ["warm", "hot", "hot"]
    full = python.open()
    facts = [full.remember(f"Fact number{number} stored hot", tier="hot") for number in range(50)]
    blocker = full.remember("The lock gate is stuck", tags=["blocker"])
    python.clock.advance(days=1)
    full.recall("number0", limit=1)
    full.compact()
    assert str(full.get(blocker.id).tier) == "hot"
    assert [str(full.get(fact.id).tier) for fact in facts] == ["hot", "warm", *["hot"] * 48]
    liked = python.open()
    for number in range(50):
        liked.remember(f"Prefers tea number{number}", kind="preference", tier="hot")
    blocker = liked.remember("The lock gate is stuck", tags=["blocker"])
    liked.compact()
    assert str(liked.get(blocker.id).tier) == "hot"
    strict = python.open(strict_hot_blockers_only=True)
    explicit = strict.remember("Kept hot on purpose", tier="hot")
    strict.compact()
    assert str(strict.get(explicit.id).tier) == "warm"


@audit("H26", "H28")
def the_rules_run_in_order_and_a_second_run_moves_nothing(tight: Rest, python: Python) -> None:
    both = tight.remember("Task and blocker at once", tags=["task", "blocker"])
    decision = tight.remember("We chose tar", kind="decision", tier="hot")
    run = tight.post("/compact")
    assert {move["id"]: move["to"] for move in run["moves"]} == {both["id"]: "hot", decision["id"]: "cold"}
    assert len(run["moves"]) == 2
    assert tight.post("/compact")["moves"] == []
    # The fourth rule would move all of these.
    mem = python.open(default_tier="hot", decision_cold_after_days=0, inactive_preference_days=0)
    kinds = {mem.remember(f"A {kind} of the crew", kind=kind).id: kind for kind in ("fact", "preference", "decision")}
    decided = [(kinds[move.id], str(move.to), move.rule) for move in mem.compact().moves]
    assert [(kind, tier) for kind, tier, _ in decided] == [
        ("decision", "cold"),
        ("preference", "warm"),
        ("fact", "warm"),
    ]
    assert len({rule for _, _, rule in decided}) == 3, decided
    assert mem.compact().moves == ()


@audit("H27")
def the_settings_have_their_defaults_and_are_read(cli: Cli, rest: Rest) -> None:
    code, out, err = cli.run("config", "show", "--json")
    assert code == 0, err
    for name, value in (
        ("tiering", "true"), ("hot_max_tokens", "2000"), ("compaction_on_session_end", "true"),
        ("inactive_preference_days", "7"), ("hot_max_facts", "50"),
    ):  # fmt: skip
        assert f'"{name}"' in out, name
        assert value in out.split(f'"{name}"', 1)[1][:120], name
    rest.remember("Blocked by fog", tags=["blocker"])
    assert cli("compact", tiering="false")["moves"] == []
    (cli.folder / "memotherm.toml").write_text("[memoryTiering]\nhotMaxFacts = 0\n")
    assert cli("compact")["hot"] == 0


@audit("H30")
def the_documents_are_there_and_linked(cli: Cli) -> None:
    index = (_DOCS / "index.md").read_text("utf-8")
    for page in ("reference/settings.md", "reference/cli.md"):
        assert page in index, page
    assert "`memotherm compact" in (_DOCS / "reference" / "cli.md").read_text("utf-8")
    assert "Run the tier rules" in cli.run("compact", "--help")[1]
