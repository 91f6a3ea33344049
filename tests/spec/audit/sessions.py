"""The document about the working memory of sessions (C)."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from collections.abc import Callable

from memotherm import LimitReached
from memotherm.errors import InvalidInput
from memotherm.text.tokens import count_tokens
from tests.spec.audit.interfaces import Cli, Mcp, Python, Rest, refusal
from tests.spec.audit.table import audit

#: About fifteen tokens; four of them fit into the small limit.
_CRATE = "Crate {} with fifteen lemons and two limes stands on the old pier"


def _of_tokens(tokens: int, number: int) -> str:
    """Return a text of exactly so many tokens, unlike the others."""
    return f"Turn {number}:" + " tide" * (tokens - count_tokens(f"Turn {number}:"))


@audit("C01", "C04", "C23")
def the_status_counts_each_tier(tight: Rest, mcp: Mcp) -> None:
    for number in range(6):
        tight.add(_CRATE.format(number))
    status = tight.status()
    assert status["sessionId"] == "s"
    assert status["hot"]["limit"] == 60
    assert abs(status["hot"]["utilizationPercent"] - 100 * status["hot"]["tokens"] / 60) < 0.1
    assert status["hot"]["items"] + status["warm"]["items"] + status["cold"]["items"] == 6
    assert status["cold"]["tokens"] > 0
    assert isinstance(status["suggestions"], list)
    mcp("memory_add", sessionId="C01", content="Over MCP", type="message")
    status = mcp("memory_status", sessionId="C01")
    assert (status["hot"]["items"], status["hot"]["limit"]) == (1, 4000)
    assert status["warm"] == {"items": 0, "tokens": 0} == status["cold"]


@audit("C02", C07="D23")
def an_item_has_all_fields_and_defaults(rest: Rest) -> None:
    item = rest.session("memories", content="The anchor is up", type="fact", metadata={"turn": 1})
    assert {"id", "content", "kind", "tier", "access_count", "accessed_at", "created_at", "relevance", "metadata"} <= {
        *item
    }
    assert (item["tier"], item["kind"], item["access_count"]) == ("hot", "fact", 0)
    assert item["scope"]["session"] == "s"
    assert item["metadata"] == {"turn": 1}
    assert item["tokens"] > 0
    assert rest.remember("The anchor is down")["relevance"] == 0.5
    assert rest.ask("GET", "/sessions/nobody/status")[0] == 404


#: The fields of a `MemoryItem`.
_ITEM = {"id", "sessionId", "content", "type", "tier", "accessCount", "lastAccessedAt", "createdAt", "relevanceScore",
         "metadata"}  # fmt: skip


@audit("C02")
def an_item_has_the_names_of_the_document(python: Python, rest: Rest, mcp: Mcp, cli: Cli) -> None:
    made = python.open().session("s").add("The anchor is up", "fact", {"turn": 1})
    assert (made.session_id, made.type, made.access_count, made.relevance_score) == ("s", "fact", 0, 1.0)
    assert made.last_accessed_at == made.created_at
    asked = {"sessionId": "C02", "query": "the anchor", "autoPromote": False}
    turn = {"content": "The anchor is up", "type": "fact", "metadata": {"turn": 1}}
    added = [
        rest.session("memories", "C02", **turn),
        mcp("memory_add", sessionId="C02", **turn),
        cli("session", "add", "C02", turn["content"], "--kind", "fact", "--metadata", '{"turn": 1}'),
    ]
    for item in added:
        assert set(item) >= _ITEM
        assert (item["sessionId"], item["type"], item["accessCount"]) == ("C02", "fact", 0)
        assert item["relevanceScore"] == 1.0
    hot = rest.get("/sessions/C02/hot")["memories"]
    rest.session("spill", "C02")
    mcp("memory_spill", sessionId="C02")
    recalled = rest.session("recall", "C02", query="the anchor", auto_promote=False)["items"]
    (again,) = mcp("memory_recall", **asked)["items"]
    for item in (*hot, *recalled, again):
        assert set(item) >= _ITEM


@audit("C46", fast=True)
def an_item_is_last_accessed_when_it_is_inserted(rest: Rest, mcp: Mcp) -> None:
    for item in (rest.add("The anchor is up"), mcp("memory_add", sessionId="C46", content="The anchor", type="fact")):
        assert (item["accessCount"], item["lastAccessedAt"]) == (0, item["createdAt"])
    rest.get("/sessions/s/hot")
    (read,) = rest.get("/sessions/s/hot")["memories"]
    assert read["accessCount"] >= 1
    assert read["lastAccessedAt"] > read["createdAt"]


@audit("C03", C27="D04", fast=True)
def the_tools_have_the_parameters_of_the_document(mcp: Mcp) -> None:
    assert {"memory_add", "memory_recall", "memory_spill", "memory_status"} <= set(mcp.tools())
    kinds = ("message", "fact", "decision", "entity", "context")
    for kind in kinds:
        assert mcp("memory_add", sessionId="C03", content=f"One {kind}", type=kind)["kind"] == kind
    add = mcp.schema("memory_add")
    assert {"sessionId", "content", "type"} == set(add["required"])
    assert set(kinds) <= set(add["properties"]["type"]["examples"])
    recall = mcp.schema("memory_recall")
    assert {"sessionId", "query", "limit", "autoPromote", "includeCold"} <= set(recall["properties"])
    assert recall["required"] == ["query"]
    defaults = {name: recall["properties"][name]["default"] for name in ("limit", "autoPromote", "includeCold")}
    assert defaults == {"limit": 10, "autoPromote": False, "includeCold": False}
    inside, outside = mcp("memory_recall", sessionId="C03", query="One fact"), mcp("memory_recall", query="One fact")
    assert (inside["limit"], inside["autoPromote"]) == (3, True)
    assert (outside["limit"], outside["autoPromote"], outside["tiers"]) == (10, False, ["hot", "warm"])
    spill = mcp.schema("memory_spill")
    assert spill["required"] == ["sessionId"]
    assert spill["properties"]["count"]["default"] == 4
    assert "sessionId" in mcp.schema("memory_status")["properties"]
    assert mcp("memory_spill", sessionId="C03", count=1.0)["spilledCount"] == 1


@audit("C03")
def every_interface_takes_the_same_types(mcp: Mcp, rest: Rest, cli: Cli, python: Python) -> None:
    text = "The tide comes and goes"
    own = python.open()
    taken: list[Callable[[str], object]] = [
        lambda kind: mcp("memory_add", sessionId="C03", content=text, type=kind)["type"],
        lambda kind: rest.session("memories", content=text, type=kind)["type"],
        lambda kind: cli("session", "add", "C03", text, "--kind", kind)["type"],
        lambda kind: own.session("s").add(text, kind).type,
    ]
    assert [add(kind) for add in taken for kind in ("entity", "poem")] == ["entity", "poem"] * 4
    mcp.refused("memory_add", sessionId="C03", content=text, type="no word")
    rest.refused("/sessions/s/memories", {"content": text, "type": "no word"})
    cli.refused("session", "add", "C03", text, "--kind", "no word")
    refusal(InvalidInput, own.session("s").add, text, "no word")


@audit("C05", "C24")
def status_suggests_to_spill(tight: Rest, python: Python) -> None:
    tight.add(_of_tokens(55, 1))
    (suggestion,) = tight.status()["suggestions"]
    assert suggestion["type"] == "spill"
    assert "92%" in suggestion["reason"], suggestion
    for tokens, types in ((89, []), (90, ["spill"])):
        session = python.open(hot_token_limit=100).session("s")
        session.add(_of_tokens(tokens, tokens))
        assert session.status().utilization_percent == tokens
        assert [each.type for each in session.status().suggestions] == types


@audit("C18", fast=True)
def a_recall_searches_warm_and_cold(rest: Rest, mcp: Mcp) -> None:
    items = {tier: rest.session("memories", content=f"An otter that is {tier}") for tier in ("hot", "warm", "cold")}
    for tier in ("warm", "cold"):
        rest.session("demote", memory_id=items[tier]["id"], tier=tier)
    found = rest.session("recall", query="otter", auto_promote=False)
    assert found["tiers"] == ["warm", "cold"]
    assert {item["id"] for item in found["items"]} == {items["warm"]["id"], items["cold"]["id"]}
    assert all("vector" in item["why"] for item in found["items"])
    mcp("memory_add", sessionId="C18", content="An otter that is hot", type="message")
    recall = {"sessionId": "C18", "query": "otter", "autoPromote": False}
    assert "An otter that is hot" not in str(mcp("memory_recall", **recall))
    mcp("memory_spill", sessionId="C18")
    assert "An otter that is hot" in str(mcp("memory_recall", **recall))


@audit("C06", "C17", "C19", "C32", fast=True)
def a_recall_finds_what_was_spilled(rest: Rest, mcp: Mcp) -> None:
    for content in ("The budget is $50K", "The mayor likes jazz", "Paint the door green", "The bus stops at noon"):
        rest.add(content, "fact")
    spilled = rest.session("spill")
    assert spilled["spilledCount"] == 4
    before = rest.get("/memories", f"project={rest.name}; session=s")["memories"]
    found = rest.session("recall", query="what was the budget?", auto_promote=False)
    first = found["items"][0]
    assert "$50K" in first["content"]
    assert found["limit"] == 3
    assert found["promoted"] == []
    assert "cold" in found["tiers"]
    assert first["id"] in found["relevanceScores"]
    after = {each["id"]: each for each in rest.get("/memories", f"project={rest.name}; session=s")["memories"]}
    old = {each["id"]: each for each in before}[first["id"]]
    new = after[first["id"]]
    assert new["access_count"] == old["access_count"] + 1
    assert new["accessed_at"] > old["created_at"]
    assert abs(new["relevance"] - (old["relevance"] + found["relevanceScores"][first["id"]]) / 2) < 0.01
    assert len(rest.session("recall", query="budget, mayor, door and bus", auto_promote=False)["items"]) == 3
    mcp("memory_add", sessionId="C06", content="The budget is $50K", type="fact")
    mcp("memory_spill", sessionId="C06")
    found = mcp("memory_recall", sessionId="C06", query="The budget is $50K")
    assert found["promoted"] == [item["id"] for item in found["items"]]
    assert [item["score"] > 0.8 for item in found["items"]] == [True]


def _plan(place: str, conditions: str) -> str:
    """Return how the database reads rows."""
    if place.startswith("postgresql"):
        import psycopg

        with psycopg.connect(place) as server:
            for each in ("SET search_path = memotherm", "SET enable_seqscan = off", "SET enable_sort = off"):
                server.execute(each)
            asked = f"EXPLAIN SELECT no FROM memories WHERE tenant = '' AND {conditions}"
            return "\n".join(row[0] for row in server.execute(asked))
    with contextlib.closing(sqlite3.connect(place)) as file:
        return "\n".join(
            row[3] for row in file.execute(f"EXPLAIN QUERY PLAN SELECT no FROM memories WHERE {conditions}")
        )


@audit(C08="D36")
def one_index_answers_the_three_orders(python: Python) -> None:
    place = python.locate()
    mem = python.open(place)
    session = mem.session("s")
    items = []
    for number in range(6):
        items.append(session.add(f"Crate number {number}"))
        python.clock.advance(minutes=1)
    assert [item.id for item in session.hot()] == [item.id for item in reversed(items)]
    assert "memories_by_place" in _plan(place, "space = 1 AND retention = 0 AND tier >= 0 ORDER BY tier, no")
    session.spill(ids=[items[5].id])
    session.recall("Crate number 5", auto_promote=False)
    session.promote(items[5].id)
    mem.remember("Another session has the least relevant crate")
    assert session.spill(2).spilled_ids == (items[0].id, items[1].id)
    assert session.prune(keep=1) == [items[0].id]


@audit("C09", "C11")
def adding_to_hot_starts_with_full_relevance(rest: Rest) -> None:
    first = rest.add("The first crate of lemons")
    second = rest.add("The second crate of limes")
    assert first["id"].startswith("mem")
    assert first["relevance"] == 1.0
    assert first["tokens"] > 0
    assert [each["id"] for each in rest.get("/sessions/s/hot")["memories"]] == [second["id"], first["id"]]
    rest.session("spill")
    found = rest.session("recall", query="citrus fruit", auto_promote=False)
    assert "vector" in found["items"][0]["why"]


@audit("C10", "C31", "C42")
def hot_never_exceeds_the_limit(tight: Rest) -> None:
    for number in range(20):
        tight.add(f"Message {number} with some content")
        assert tight.status()["hot"]["tokens"] <= 60
    assert tight.status()["cold"]["items"] > 0
    large = tight.add("One very long message: " + "lemons and limes " * 60)
    assert large["tier"] == "warm"
    assert large["rule"] == "session.oversized"
    assert "60" in large["warnings"][0]
    assert tight.status()["hot"]["tokens"] <= 60


@audit("C12", "C13", "C14", "C16", fast=True)
def a_spill_takes_the_least_relevant_and_oldest(rest: Rest) -> None:
    items = [rest.add(_CRATE.format(number)) for number in range(7)]
    named = rest.session("spill", ids=[items[5]["id"]])
    assert named["spilledIds"] == [items[5]["id"]]
    result = rest.session("spill")
    assert result["spilledIds"] == [item["id"] for item in items[:4]]
    assert result["spilledCount"] == 4
    assert result["targetTier"] == "cold"
    assert {move["to"] for move in result["moved"]} == {"cold"}


@audit(C15="D09")
def a_used_memory_is_spilled_to_warm(rest: Rest) -> None:
    used = rest.add("The much used crate")
    for _ in range(3):
        rest.get("/sessions/s/hot")
    rest.add("The new crate")
    result = rest.session("spill")
    assert {move["id"]: move["to"] for move in result["moved"]}[used["id"]] == "warm"
    assert result["targetTier"] == "mixed"


@audit("C20", "C33")
def a_recall_promotes_by_relevance_or_by_count(rest: Rest, python: Python) -> None:
    rest.add("Important fact", "fact")
    rest.session("spill")
    for _ in range(5):
        rest.session("recall", query="important fact")
    assert "Important fact" in [each["content"] for each in rest.get("/sessions/s/hot")["memories"]]
    off = python.open(auto_promote=False).session("s")
    off.add("Important fact", "fact")
    off.spill()
    assert not off.recall("important fact").promoted
    once = python.open().session("s")
    once.add("Important fact", "fact")
    once.spill()
    assert len(once.recall("important fact").promoted) == 1


@audit("C21")
def a_recall_filters_by_type(rest: Rest) -> None:
    rest.add("The lemon crate is open", "fact")
    rest.add("Open the lemon crate today", "decision")
    rest.session("spill")
    found = rest.session("recall", query="lemon crate", types=["decision"], auto_promote=False)
    assert [item["kind"] for item in found["items"]] == ["decision"]


@audit("C33", C22="D23")
def a_recall_promotes_with_full_relevance(python: Python) -> None:
    text = "The crane by the old pier lifts crates of lemons and limes every morning"
    for query, times, least in ((text, 1, 0.85), ("who lifted limes?", 3, 1.0)):
        session = python.open(promote_threshold=least).session("s")
        item = session.add(text)
        session.spill()
        turns = [session.add(f"Turn {number} of the talk") for number in range(3)]
        promoted = [session.recall(query).promoted for _ in range(times)]
        assert promoted[-1] == (item.id,), promoted
        assert session.memory.get(item.id).relevance == 1.0
        assert session.spill(1).spilled_ids == (turns[0].id,)
    mem = python.open()
    blocker = mem.remember("Blocked by the tide", tags=["blocker"])
    mem.compact()
    assert mem.get(blocker.id).relevance == 1.0


@audit(C22="D13")
def promotion_makes_room_first(tight: Rest) -> None:
    first = tight.add(_CRATE.format("zero"))
    for number in range(6):
        tight.add(_CRATE.format(number))
    answer = tight.session("promote", memory_id=first["id"])
    assert answer["promoted"] is True
    assert tight.status()["hot"]["tokens"] <= 60
    promoted = next(each for each in tight.get("/sessions/s/hot")["memories"] if each["id"] == first["id"])
    assert promoted["relevance"] == 1.0
    status, answer = tight.ask("POST", "/sessions/s/promote", {"memory_id": "mem_" + "0" * 26})
    assert (status, answer["promoted"]) == (200, False)


@audit("C25", "C44")
def status_suggests_to_prune_and_pruning_works(tight: Rest) -> None:
    items = [tight.add(f"Crate number {number}") for number in range(5)]
    tight.session("spill", count=5)
    assert "prune" in [each["type"] for each in tight.status()["suggestions"]]
    assert len(tight.session("prune")["pruned"]) == 3
    assert tight.status()["cold"]["items"] == 2
    hot = tight.add("A crate to demote")
    assert tight.session("demote", memory_id=hot["id"])["tier"] == "warm"
    kept = tight.session("keep", memory_id=hot["id"])
    assert "session" not in kept["scope"]
    assert tight.session("clear")["cleared"] == 2
    assert tight.status()["cold"]["items"] == 0, items


@audit("C44")
def the_other_interfaces_prune_clear_demote_and_delete(all_tools: Mcp, cli: Cli) -> None:
    items = [all_tools("memory_add", sessionId="C44", content=f"Crate number {n}", type="fact") for n in range(4)]
    assert all_tools("memory_demote", sessionId="C44", memory_id=items[0]["id"], tier="cold")["tier"] == "cold"
    assert all_tools("memory_prune", sessionId="C44", keep=0)["pruned"] == [items[0]["id"]]
    all_tools("memory_forget", memory_id=items[1]["id"], sessionId="C44")
    assert all_tools("memory_clear", sessionId="C44")["cleared"] == 2
    assert "compaction" in all_tools("memory_end", sessionId="C44")
    assert all_tools("memory_compact", dryRun=True)["dry_run"] is True
    cli("session", "add", "c44", "A crate by a command")
    assert cli("session", "clear", "c44")["cleared"] == 1
    assert cli("session", "prune", "c44", "--keep", "0")["pruned"] == []


@audit("C26")
def status_suggests_to_recall(rest: Rest) -> None:
    for number in range(3):
        rest.add(f"The lemon crate {number} stands on pier {number}", "fact")
    rest.session("spill")
    rest.session("recall", query="Where does lemon crate 1 stand?", auto_promote=False)
    rest.session("recall", query="Where does lemon crate 1 stand?", auto_promote=False)
    rest.session("recall", query="Where does lemon crate 1 stand?", auto_promote=False)
    suggestions = {each["type"]: each for each in rest.status()["suggestions"]}
    assert suggestions["recall"]["itemIds"]


@audit("C28")
def every_setting_is_read(python: Python, cli: Cli) -> None:
    values = json.loads(cli.run("config", "show", "--json")[1])
    wanted = {"hot_token_limit": 4000, "warm_access_threshold": 3, "promote_threshold": 0.85, "max_cold_items": 1000,
              "auto_spill": True, "auto_promote": True}  # fmt: skip
    assert {name: values[name] for name in wanted} == wanted
    sample = "agent:\n  memory:\n    hotTokenLimit: 4000\n    maxColdItems: 1000\n    autoSpillEnabled: true\n"
    (cli.folder / "memotherm.toml").write_text(sample)
    _, _, error = cli.run("list")
    assert "line 1" in error
    instead = " ".join(error.split()).partition("so write ")[2].partition(" hint:")[0].split("; ")
    assert instead[0] == "agent.memory.hotTokenLimit = 4000"
    assert cli.run("config", "show", "--json")[0] == 0
    other = "\n".join(instead).replace("4000", "3000").replace("1000", "500").replace("true", "false")
    (cli.folder / "memotherm.toml").write_text(other)
    values = json.loads(cli.run("config", "show", "--json")[1])
    assert [values[name] for name in ("hot_token_limit", "max_cold_items", "auto_spill")] == [3000, 500, False]
    assert cli.run("remember", "The bell rings", "--store", cli.folder / "own.db")[0] == 0
    (cli.folder / "memotherm.toml").unlink()
    full = python.open(auto_spill=False, hot_token_limit=30).session("s")
    full.add("Crate number one of very many crates")
    refusal(LimitReached, full.add, "Crate number two " + "of very many crates " * 5)
    assert full.status().cold.memories == 0
    assert full.status().hot.tokens <= 30
    warm = python.open(warm_access_threshold=0).session("s")
    warm.add("One crate")
    assert warm.spill().target_tier == "warm"
    never = python.open(promote_threshold=1.0, promote_access_count=1000).session("s")
    never.add("The budget is fifty thousand")
    never.spill()
    assert not never.recall("what did we pay for").promoted
    small = python.open(max_cold_items=0).session("s")
    small.add("One crate")
    small.spill()
    assert "prune" in [each.type for each in small.status().suggestions]


@audit(C29="D11")
def the_example_of_the_conversation(tight: Rest) -> None:
    turns = ["The proposal is for the town hall", "We agreed on a budget of $50K for it", "The roof needs new tiles"]
    added = [tight.add(turn) for turn in turns]
    while tight.status()["cold"]["items"] < 2:
        added.append(tight.add(f"Turn {len(added) + 1}: we talked about the colour of window {len(added)}"))
    assert len(added) > 4
    hot = [each["id"] for each in tight.get("/sessions/s/hot")["memories"]]
    spilled = [item["id"] for item in added if item["id"] not in hot]
    assert spilled == [item["id"] for item in added[: len(spilled)]]
    assert added[-1]["id"] in hot
    while len(added) < 29:
        added.append(tight.add(f"Turn {len(added) + 1}: we talked about the colour of window {len(added)}"))
    answers = [tight.session("recall", query="What was the budget we discussed earlier?") for _ in range(3)]
    first = answers[0]["items"][0]
    assert (first["id"], first["tier"]) == (added[1]["id"], "cold")
    assert "$50K" in first["content"]
    assert any(added[1]["id"] in answer["promoted"] for answer in answers)
    assert added[1]["id"] in [each["id"] for each in tight.get("/sessions/s/hot")["memories"]]
    assert tight.status()["hot"]["tokens"] <= 60


@audit(C30="D12")
def the_example_of_the_status(python: Python, cli: Cli) -> None:
    store = python.locate()
    session = python.open(store).session("session-123")
    sizes = {"cold": [189] * 44 + [184], "warm": [200] * 12, "hot": [400] * 8}
    for tier, tokens in sizes.items():
        for number, size in enumerate(tokens):
            item = session.add(_of_tokens(size, 100 * len(tokens) + number))
            if tier != "hot":
                session.demote(item.id, tier)  # type: ignore[arg-type]
    code, out, err = cli.run("session", "status", session.id, "--store", store, "--json")
    assert code == 0, err
    status = json.loads(out)
    assert {name: status[name] for name in ("sessionId", "hot", "warm", "cold")} == {
        "sessionId": "session-123",
        "hot": {"items": 8, "tokens": 3200, "limit": 4000, "utilizationPercent": 80},
        "warm": {"items": 12, "tokens": 2400},
        "cold": {"items": 45, "tokens": 8500},
    }
    assert status["suggestions"] == []
    session.add(_of_tokens(400, 9))
    (suggestion,) = session.status().suggestions
    assert suggestion.type == "spill"
    assert "90%" in suggestion.reason


_METRICS = ("spill_count", "recall_count", "promotion_count", "hit_rate")


def _counted(mcp: Mcp) -> list[float]:
    metrics = mcp("memory_status", sessionId="C34")["metrics"]
    return [metrics[f"memory_{name}"] for name in _METRICS]


@audit("C34", "C35", "C36", "C37", "C38", "C39", fast=True)
def the_six_metrics(mcp: Mcp, rest: Rest) -> None:
    session = {"sessionId": "C34"}
    for number in range(4):
        mcp("memory_add", content=f"Lemon crate {number}", type="fact", **session)
    assert _counted(mcp)[:3] == [0, 0, 0]
    mcp("memory_spill", count=3, **session)
    assert _counted(mcp)[:3] == [1, 0, 0]
    mcp("memory_spill", count=1, **session)
    assert _counted(mcp)[:3] == [2, 0, 0]
    mcp("memory_recall", query="lemon crate 1", autoPromote=False, **session)
    assert _counted(mcp) == [2, 1, 0, 1]
    found = mcp("memory_recall", query="Lemon crate 1", limit=1, **session)
    assert len(found["promoted"]) == 1
    assert _counted(mcp) == [2, 2, 1, 1]
    mcp("memory_recall", query="zxqv wobblefrotz", autoPromote=False, **session)
    assert _counted(mcp)[:3] == [2, 3, 1]
    assert abs(_counted(mcp)[3] - 2 / 3) < 0.01
    metrics, hot = (mcp("memory_status", **session)[name] for name in ("metrics", "hot"))
    assert 0 < metrics["memory_recall_latency_ms"] < 60_000
    assert hot["tokens"] > 0
    assert abs(metrics["memory_hot_utilization"] - 100 * hot["tokens"] / hot["limit"]) < 0.01
    whole = mcp("memory_status", includeNarrower=True)["metrics"]
    assert whole["memory_hot_utilization"] >= metrics["memory_hot_utilization"]
    rest.remember("A hot block of many words " * 100, tier="hot")
    rest.add("A turn of the talk")
    page = rest.metrics()
    ratios = dict(re.findall(r'^memotherm_hot_utilization_ratio{fullest="(\w+)"} (\S+)$', page, re.MULTILINE))
    assert float(ratios["scope"]) >= 0.25
    assert float(ratios["session"]) > 0
    for name in ("spills_total", "recalls_total", "promotions_total", "hit_rate_ratio"):
        assert f"memotherm_{name}" in page, name
    assert 'memotherm_recall_duration_seconds_bucket{cold="true"' in page


@audit("C34", fast=True)
def the_metrics_of_the_root_see_the_sessions(python: Python) -> None:
    mem = python.open()
    assert mem.metrics().hot_utilization == 0
    session = mem.scoped(project="harbour").session("s")
    session.add("Crate number one of very many crates " * 20)
    status = session.status()
    assert status.utilization_percent > 0
    for view in (mem, mem.scoped(project="harbour"), session.memory):
        assert view.metrics().hot_utilization == status.utilization_percent
    assert mem.scoped(project="pier").metrics().hot_utilization == 0


@audit("C40")
def the_lifecycle_of_a_session_is_separate_from_tiers(rest: Rest) -> None:
    item = rest.add("The last crate")
    assert rest.status()["state"] == "active"
    rest.session("end", summary="We moved crates")
    assert rest.status()["state"] == "summarized"
    rest.add("Another crate", session="t")
    rest.session("end", "t")
    assert rest.status("t")["state"] == "archived"
    assert rest.get(f"/memories/{item['id']}", f"project={rest.name}; session=s")["retention"] == "active"


@audit("C41")
def sessions_are_isolated(rest: Rest) -> None:
    mine = rest.add("The lemon crate of mine", session="mine")
    rest.add("The lime crate of yours", session="yours")
    assert rest.ask("POST", "/sessions/yours/spill", {"ids": [mine["id"]]})[0] == 404
    assert rest.ask("POST", "/sessions/yours/promote", {"memory_id": mine["id"]})[1].get("promoted") is not True
    assert rest.ask("POST", "/sessions/yours/demote", {"memory_id": mine["id"]})[0] == 404
    assert mine["id"] not in str(rest.session("recall", "yours", query="lemon crate of mine"))
    assert [each["tier"] for each in rest.get("/sessions/mine/hot")["memories"]] == ["hot"]


@audit(C43="D22")
def reading_hot_counts_as_access_and_injecting_it_does_not(rest: Rest) -> None:
    item = rest.add("The crate that is read")
    rest.get("/sessions/s/hot")
    scope = f"project={rest.name}; session=s"
    assert rest.get(f"/memories/{item['id']}", scope)["access_count"] == 1
    rest.session("start")
    (read,) = rest.get("/memories", scope)["memories"]
    assert read["access_count"] == 2
    uses = rest.get(f"/memories/{item['id']}/uses", scope)
    assert (uses["injected_count"], uses["last_injected_at"]) == (1, uses["receipts"][0]["at"])
