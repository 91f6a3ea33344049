"""The document about priorities (E)."""

from __future__ import annotations

import json
from itertools import pairwise

from memotherm import LimitReached, MemothermError, Priority, Scope
from tests.spec.audit.interfaces import Cli, Mcp, Python, Rest, refusal
from tests.spec.audit.table import audit

_NAMES = ("pinned", "critical", "important", "normal", "low")
#: The tools that the documents name.
_DOCUMENTED = (
    "store_memory", "set_memory_tier", "pin_memory", "unpin_memory", "memory_add", "memory_recall", "memory_spill",
    "memory_status", "memory_search", "memory_get",
)  # fmt: skip


@audit("E01", "E38", E03="D18")
def five_priorities_by_name_and_number(mcp: Mcp, rest: Rest) -> None:
    for number, name in enumerate(_NAMES):
        assert mcp("store_memory", content=f"A note of weight {name}", tier=name, sessionId="E01")["priority"] == name
        by_number = mcp("store_memory", content=f"A note of number {number}", tier=number, sessionId="E01")
        assert by_number["priority"] == name
        assert rest.remember(f"Over HTTP with {name}", priority=name)["priority"] == name
        assert rest.remember(f"Over HTTP as the tier {name}", tier=name)["priority"] == name
        assert rest.remember(f"Over HTTP as the tier {number}", tier=number)["priority"] == name
    assert mcp.schema("store_memory")["properties"]["tier"]
    mcp.refused("store_memory", content="A note of weight six", tier=5, sessionId="E01")


@audit("E02", "E16")
def the_default_is_normal(rest: Rest, mcp: Mcp, python: Python) -> None:
    assert rest.remember("A plain note")["priority"] == "normal"
    assert mcp("store_memory", content="A plain note over MCP")["priority"] == "normal"
    assert python.open().remember("A plain note").priority is Priority.of(3)


@audit("E04", "E42")
def set_memory_tier_changes_the_priority(mcp: Mcp) -> None:
    stored = mcp("store_memory", content="The safe opens at nine", sessionId="E04")
    changed = mcp("set_memory_tier", memory_id=stored["id"], tier="critical", sessionId="E04")
    assert (changed["priority"], changed["tier"]) == ("critical", "warm")
    moved = mcp("set_memory_tier", memory_id=stored["id"], tier="cold", sessionId="E04")
    assert (moved["priority"], moved["tier"]) == ("critical", "cold")


@audit("E05", "E06", "E33", "E34", "E39", fast=True)
def pinned_is_always_included_until_unpinned(mcp: Mcp) -> None:
    session = {"sessionId": "E05"}
    stored = mcp("store_memory", content="Never transfer money to Rumpel", **session)
    assert mcp("pin_memory", memory_id=stored["id"], **session)["priority"] == "pinned"
    found = mcp("memory_recall", query="weather in Lisbon tomorrow", **session)
    assert stored["id"] in [item["id"] for item in found["pinned"]]
    assert "Rumpel" in mcp("memory_context", query="weather in Lisbon", **session)["text"]
    assert mcp("unpin_memory", memory_id=stored["id"], **session)["priority"] == "normal"
    for day in ("Monday", "Tuesday", "Wednesday"):
        mcp("store_memory", content=f"The weather in Lisbon is fine on {day}", **session)
    found = mcp("memory_recall", query="weather in Lisbon tomorrow", **session)
    assert stored["id"] not in [item["id"] for item in (*found["items"], *found.get("pinned", ()))]


def _ranked(rest: Rest, *priorities: str) -> list[str]:
    """Store memories that are equally relevant and return their priorities in the order of a recall."""
    for priority in priorities:
        rest.remember(f"The ferry to the island leaves at noon ({priority})", priority=priority)
    found = rest.recall("When does the ferry to the island leave?", limit=50)
    return [item["priority"] for item in (*found["pinned"], *found["items"])]


@audit("E08", "E09", "E14", "E15", "E19", "E32", "E35", "E40", fast=True)
def boosts_decide_the_order(rest: Rest) -> None:
    assert _ranked(rest, "low", "normal", "important", "critical") == ["critical", "important", "normal", "low"]
    found = rest.recall("When does the ferry to the island leave?")
    relevance = found["relevanceScores"]
    boosts = {item["priority"]: item["score"] - relevance[item["id"]] for item in found["items"]}
    for name, boost in (("critical", 0.3), ("important", 0.15), ("low", -0.1)):
        assert abs(boosts[name] - boosts["normal"] - boost) < 0.03, boosts


@audit("E10")
def low_is_included_only_if_space_permits(rest: Rest) -> None:
    for number in range(3):
        rest.remember(f"The tide table of harbour {number} hangs in the hut " + "beside the door " * 8)
    low = rest.remember("The tide table of harbour nine hangs in the hut " + "beside the door " * 8, priority="low")
    query = "Where does the tide table hang?"
    wide = rest.post("/context", {"query": query, "budget": 2000})
    assert "harbour nine" in wide["text"]
    tokens = wide["tokens"]
    narrow = rest.post("/context", {"query": query, "budget": tokens - 20})
    assert "harbour nine" not in narrow["text"], low["id"]


@audit("E11")
def get_relevant_memories_returns_text(python: Python) -> None:
    mem = python.open()
    for number in range(8):
        mem.scoped(agent="alpha").remember(f"The bridge has {number} arches")
    mem.scoped(agent="alpha").remember("Never cross at night", priority="pinned")
    text = mem.get_relevant_memories("alpha", "How many arches has the bridge?")
    assert text.splitlines()[0] == "- [pinned] Never cross at night"
    assert len(text.splitlines()) == 1 + 5


@audit(E12="D15", fast=True)
def pinned_memories_do_not_count_towards_the_limit(rest: Rest) -> None:
    for number in range(5):
        rest.remember(f"Standing order {number}", priority="pinned")
    for number in range(4):
        rest.remember(f"The crane lifts {number} tons")
    found = rest.recall("What does the crane lift?", limit=2)
    assert len(found["pinned"]) == 5
    assert len(found["items"]) == 2


@audit(E13="D25")
def the_answer_for_k_is_the_beginning_of_the_answer_for_more(rest: Rest) -> None:
    for number in range(40):
        rest.remember(
            f"Buoy {number} marks the channel of the river", priority="important" if number == 7 else "normal"
        )
    query = "Which buoy marks the channel?"
    answers = [[item["id"] for item in rest.recall(query, limit=limit)["items"]] for limit in (1, 5, 10, 30)]
    assert [len(answer) for answer in answers] == [1, 5, 10, 30]
    assert all(longer[: len(shorter)] == shorter for shorter, longer in pairwise(answers))


@audit("E17")
def the_tier_is_metadata_on_add_and_a_filter_on_search(rest: Rest, mcp: Mcp, cli: Cli, python: Python) -> None:
    metadata, pinned = {"tier": 0, "created_tick": 42}, {"tier": 0}
    stored = rest.remember("Do not feed the gulls", metadata=metadata)
    rest.remember("The gulls are white")
    assert (stored["priority"], stored["metadata"]["created_tick"]) == ("pinned", 42)
    for query in ("", "gulls"):
        for found in (rest.query(query, filters=pinned)["results"], rest.recall(query, filters=pinned)["items"]):
            assert [each["id"] for each in found] == [stored["id"]]
    session = {"sessionId": "E17"}
    assert mcp("store_memory", content="Do not feed the swans", metadata=metadata, **session)["priority"] == "pinned"
    found = mcp("memory_search", query="", filters=pinned, **session)["results"]
    assert [each["snippet"] for each in found] == ["Do not feed the swans"]
    made = cli("remember", "Do not feed the ducks", "--metadata", json.dumps(metadata))
    found = cli("recall", "", "--filters", "tier=0")["items"]
    assert [each["id"] for each in found] == [made["id"], stored["id"]]
    mem = python.open(embedder="none")
    memory = mem.remember("Do not feed the geese", metadata=metadata)
    mem.remember("The geese are grey")
    assert [hit.memory.id for hit in mem.recall("", where=pinned)] == [memory.id]


@audit("E18")
def the_pinned_list_is_a_list(rest: Rest, python: Python) -> None:
    mem = python.open(embedder="none")
    first = mem.remember("First rule", priority="pinned")
    second = mem.remember("Second rule", priority="pinned")
    assert [each.id for each in mem.pinned()] == [first.id, second.id]
    assert mem.metrics().recall_count == 0
    rest.remember("A rule over HTTP", priority="pinned")
    assert len(rest.get("/memories?priority=pinned")["memories"]) == 1


@audit("E20", "E22", "E23", "E24", "E36", "E41")
def limits_are_enforced_on_pinned_and_critical_only(rest: Rest, mcp: Mcp, python: Python) -> None:
    for number in range(5):
        rest.remember(f"Pinned rule {number}", priority="pinned")
    assert rest.refused("/memories", {"content": "Pinned rule 6", "priority": "pinned"})["code"] == "limit_reached"
    for number in range(10):
        rest.remember(f"Critical rule {number}", priority="critical")
    assert rest.refused("/memories", {"content": "Critical 11", "priority": "critical"})["code"] == "limit_reached"
    many = [{"content": f"Important rule {number}", "priority": "important"} for number in range(30)]
    assert len(rest.post("/memories:batch", {"memories": many})["memories"]) == 30
    for number in range(5):
        mcp("store_memory", content=f"Pinned tool rule {number}", tier="pinned", sessionId="E20")
    assert "5" in mcp.refused("store_memory", content="Pinned tool rule 6", tier="pinned", sessionId="E20")
    mem = python.open(max_pinned=1, on_tier_limit="demote_oldest")
    oldest = mem.remember("The older rule", priority="pinned")
    python.clock.advance(minutes=1)
    mem.remember("The newer rule", priority="pinned")
    assert str(mem.get(oldest.id).priority) != "pinned"


@audit("E21")
def the_boosts_are_read_from_the_settings(rest: Rest, cli: Cli) -> None:
    rest.remember("The ferry leaves at noon, says the captain", priority="normal")
    rest.remember("The ferry leaves at noon, says the sailor", priority="low")
    (cli.folder / "memotherm.toml").write_text("[memory.tier_boosts]\nlow = 0.9\nnormal = -0.5\n")
    found = cli("recall", "When does the ferry leave?")["items"]
    assert found[0]["priority"] == "low", found


@audit("E25")
def pinned_is_permanent(python: Python) -> None:
    mem = python.open(retention="standard")
    pinned = mem.remember("Never sell the boat", priority="pinned", ttl="1h")
    python.clock.advance(days=400)
    mem.maintain()
    mem.compact()
    assert str(mem.get(pinned.id).retention) == "active"
    assert pinned.id in [hit.memory.id for hit in mem.recall("anything at all").pinned]


@audit("E26", "E28")
def pinned_memories_take_the_budget_first(rest: Rest) -> None:
    rest.remember("Pinned: " + "the keel is made of oak " * 6, priority="pinned")
    rest.remember("Found: " + "the sail is made of linen " * 6)
    query = "What is the sail made of?"
    pinned = rest.post("/context", {"budget": 400})["tokens"]
    small = rest.post("/context", {"query": query, "budget": pinned + 5})
    wide = rest.post("/context", {"query": query, "budget": 400})
    assert "Pinned" in small["text"]
    assert "linen" not in small["text"]
    assert small["tokens"] <= pinned + 5
    assert "Pinned" in wide["text"]
    assert "linen" in wide["text"]


@audit(E27="D15")
def pinned_over_budget_cuts_the_oldest_and_says_so(python: Python) -> None:
    mem = python.open()
    for name in ("oldest", "middle", "newest"):
        mem.remember(f"The {name} rule: " + "keep the deck dry " * 5, priority="pinned")
        python.clock.advance(minutes=1)
    context = mem.context(budget=70)
    assert "newest" in context.text
    assert "oldest" not in context.text
    assert any("pinned" in entry.reason for entry in context.left_out), [entry.reason for entry in context.left_out]
    strict = python.open(on_pinned_overflow="error")
    strict.remember("A long rule: " + "keep the deck dry " * 40, priority="pinned")
    assert "pinned" in refusal(MemothermError, strict.context, budget=50)


@audit(E29="D17")
def no_new_action_type_is_needed(python: Python, mcp: Mcp, one_tool: Mcp) -> None:
    mem = python.open()
    captured = mem.capture("The agent moved three crates to the pier").memory
    assert captured is not None
    assert (str(captured.priority), str(captured.tier)) == ("normal", "warm")
    assert str(mem.pin(captured.id).priority) == "pinned"
    assert {*_DOCUMENTED} <= set(mcp.tools())
    assert len(mcp.tools()) <= 16
    assert one_tool.tools() == ["memory"]
    wanted = {"content": "The pier is closed at night", "tier": "critical"}
    stored = one_tool("memory", action="store_memory", arguments=wanted)
    assert stored["priority"] == "critical"
    pinned = one_tool("memory", action="pin_memory", arguments={"memory_id": stored["id"]})
    assert pinned["priority"] == "pinned"


@audit("E30")
def tags_and_priorities_are_independent(rest: Rest) -> None:
    stored = rest.remember("The lock was changed", tags=["critical", "lesson"], priority="low")
    assert (stored["tags"], stored["priority"]) == (["critical", "lesson"], "low")
    changed = rest.change(stored, "prioritize", priority="important")
    assert (changed["tags"], changed["priority"]) == (["critical", "lesson"], "important")
    assert len(rest.recall("lock", tags=["lesson"])["items"]) == 1


@audit("E31")
def agents_are_isolated(rest: Rest, python: Python) -> None:
    rest.remember("Alpha hides the map in the clock", scope=f"project={rest.name}; agent=alpha", priority="pinned")
    alpha = rest.post("/recall", {"query": "map in the clock"}, scope=f"project={rest.name}; agent=alpha")
    beta = rest.post("/recall", {"query": "map in the clock"}, scope=f"project={rest.name}; agent=beta")
    assert len(alpha["pinned"]) == 1
    assert beta["items"] == beta["pinned"] == []
    mem = python.open(scope=Scope(agent="beta"))
    mem.scoped(session="x").remember("Beta's own secret")
    assert mem.get_relevant_memories("beta", "secret") in ("", "(No relevant memories)")


@audit("E37", "E43")
def priority_survives_a_checkpoint_and_its_restore(rest: Rest, cli: Cli) -> None:
    stored = rest.remember("The reef is two miles out", priority="critical")
    cli.text("remember", "Another one", "--priority", "important")
    code, _, err = cli.run("store", "migrate", cli.store, cli.folder / "copy.db")
    assert code == 0, err
    code, _, err = cli.run("store", "checkpoint", cli.folder / "saved.db", "--store", cli.folder / "copy.db")
    assert code == 0, err
    code, _, err = cli.run("store", "restore", cli.folder / "saved.db", cli.folder / "restored.db")
    assert code == 0, err
    found = cli.run("get", stored["id"], "--store", cli.folder / "restored.db", "--project", cli.name, "--json")
    assert json.loads(found[1])["priority"] == "critical", found
    assert rest.read(stored)["priority"] == "critical"


@audit("E44")
def limits_hold_on_every_write_path(rest: Rest, mcp: Mcp, cli: Cli, python: Python) -> None:
    for number in range(5):
        rest.remember(f"Pinned rule {number}", priority="pinned")
    plain = rest.remember("A plain rule")
    batch = {"memories": [{"content": "Batch rule", "priority": "pinned"}]}
    assert rest.refused("/memories:batch", batch)["code"] == "limit_reached"
    assert rest.refused(f"/memories/{plain['id']}/pin", {})["code"] == "limit_reached"
    assert rest.refused(f"/memories/{plain['id']}/prioritize", {"priority": "pinned"})["code"] == "limit_reached"
    assert "pinned" in cli.refused("remember", "Rule by a command", "--priority", "pinned")
    lines = cli.folder / "more.jsonl"
    lines.write_text(json.dumps({"content": "Imported rule", "priority": "pinned"}) + "\n")
    cli.run("import", "jsonl", lines, "--store", cli.store, "--project", cli.name)
    assert len(rest.get("/memories?priority=pinned")["memories"]) == 5
    archived = rest.get("/memories?priority=pinned")["memories"][0]
    rest.change(archived, "archive")
    rest.change(plain, "pin")
    assert rest.refused(f"/memories/{archived['id']}/restore", {})["code"] == "limit_reached"
    first = mcp("store_memory", content="A rule by a tool", sessionId="E44")
    for number in range(5):
        mcp("store_memory", content=f"A pinned rule {number} by a tool", tier=0, sessionId="E44")
    assert "limit_reached" in mcp.refused("pin_memory", memory_id=first["id"], sessionId="E44")
    mem = python.open(max_pinned=0)
    refusal(LimitReached, mem.remember, "No rule at all", priority="pinned")


@audit("E45")
def pinned_memories_survive_pruning_and_clearing(rest: Rest) -> None:
    pinned = rest.add("Never drop this line")
    scope = f"project={rest.name}; session=s"
    rest.post(f"/memories/{pinned['id']}/pin", {}, scope)
    rest.post(f"/memories/{pinned['id']}/move", {"tier": "cold"}, scope)
    rest.session("prune", keep=0)
    rest.session("clear")
    assert rest.get(f"/memories/{pinned['id']}", scope)["retention"] == "active"


@audit("E46")
def a_pinned_memory_is_not_repeated(rest: Rest) -> None:
    pinned = rest.remember("The anchor chain is forty fathoms", priority="pinned")
    query = "How long is the anchor chain?"
    found = rest.recall(query)
    assert ([item["id"] for item in found["pinned"]], found["items"]) == ([pinned["id"]], [])
    assert rest.post("/context", {"query": query})["text"].count("forty fathoms") == 1


@audit("E47")
def ids_are_stable(rest: Rest) -> None:
    stored = rest.remember("The mast is twelve metres high")
    for verb, body in (("move", {"tier": "cold"}), ("pin", {}), ("unpin", {}), ("archive", {}), ("restore", {})):
        assert rest.change(stored, verb, **body)["id"] == stored["id"]
    assert rest.recall("How high is the mast?", tiers=["cold"])["items"][0]["id"] == stored["id"]
