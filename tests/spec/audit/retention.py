"""The document about tiers, retention and queries (M)."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta
from typing import Any

from memotherm import Memotherm, NotFound
from tests.spec.audit.interfaces import Cli, Hook, Mcp, Python, Rest, refusal
from tests.spec.audit.table import audit


@audit("M01")
def a_tier_is_hot_warm_or_cold(rest: Rest, cli: Cli) -> None:
    stored = rest.remember("Goals of the quarter")
    assert rest.refused(f"/memories/{stored['id']}/move", {"tier": "lukewarm"})["status"] == 422
    assert rest.refused("/memory/query", {"query": "goals", "tier": "lukewarm"})["status"] == 422
    assert "hot" in cli.refused("move", stored["id"], "lukewarm")


@audit(M02="D01", M20="D01")
def the_default_can_be_hot(cli: Cli) -> None:
    assert cli("remember", "Goals of the quarter", default_tier="hot")["tier"] == "hot"


@audit("M04", M03="D03")
def filters_run_inside_the_search(rest: Rest) -> None:
    near = [{"content": f"Quarterly goals of team {number}", "tier": "warm"} for number in range(30)]
    rest.post("/memories:batch", {"memories": near})
    rest.remember("Quarterly goals of the archive", tier="cold", tags=["archive"], source="audit", kind="decision")
    for filters in ({"tiers": ["cold"]}, {"tags": ["archive"]}, {"kinds": ["decision"], "tiers": ["warm", "cold"]}):
        body: dict[str, Any] = {"tiers": ["hot", "warm", "cold"], "limit": 1, **filters}
        found = rest.recall("quarterly goals", **body)["items"]
        assert [item["tier"] for item in found] == ["cold"], filters
    found = rest.query("quarterly goals", limit=1, filters={"tier": "cold"})["results"]
    assert [item["source"] for item in found] == ["audit"]
    environment = f"project={rest.name}; environment=production"
    rest.remember("Quarterly goals in production", scope=environment, tier="cold", tags=["archive"], source="audit")
    assert len(rest.query("quarterly goals", tier="cold")["results"]) == 1
    hidden = rest.remember("Quarterly goals of last year", tier="warm")
    rest.change(hidden, "archive")
    one = {"limit": 1, "filters": {"environment": "production"}}
    filtered = [rest.query("quarterly goals", limit=1, retention="archived"), rest.query("quarterly goals", **one)]
    assert [found["results"][0]["tier"] for found in filtered] == ["warm", "cold"]
    (hit,) = filtered[1]["results"]
    assert "vector" in hit["why"]
    assert (hit["id"][:4], hit["retention"], hit["tags"], hit["source"]) == ("mem_", "active", ["archive"], "audit")
    assert hit["scope"] == {"project": rest.name, "environment": "production"}


@audit("M05", "M06")
def the_initial_tier_follows_the_time_to_live(rest: Rest) -> None:
    for minutes, tier in ((30, "cold"), (3 * 24 * 60, "warm"), (8 * 24 * 60, "warm")):
        assert rest.remember(f"Lives for {minutes} minutes", ttl_minutes=minutes)["tier"] == tier
    assert rest.remember("Short, but kept hot", ttl_minutes=30, tier="hot")["tier"] == "hot"
    plain = rest.remember("Lives for good")
    assert plain["tier"] == "warm"
    assert len(rest.rules(plain)) == 1


@audit("M07", "M08", fast=True)
def cold_is_recallable_and_archived_is_not(rest: Rest) -> None:
    cold = rest.remember("The vault is below the bakery", tier="cold")
    hidden = [rest.remember(f"The vault is below the {place}", tier=tier)
              for place, tier in (("church", "hot"), ("mill", "warm"), ("inn", "cold"))]  # fmt: skip
    for each in hidden:
        assert rest.change(each, "archive")["retention"] == "archived"
    found = rest.query("Where is the vault?")["results"]
    assert [item["id"] for item in found] == [cold["id"]]
    assert found[0]["retention"] == "active"
    assert "church" not in rest.post("/context", {"query": "Where is the vault?"})["text"]


@audit("M09", "M10", "M11", "M25", fast=True)
def the_query_takes_a_tier_and_a_limit(rest: Rest) -> None:
    for tier in ("hot", "warm", "cold"):
        for number in range(2):
            rest.remember(f"Last quarter goals, {tier} list {number}", tier=tier)
    assert {item["tier"] for item in rest.query("last quarter goals")["results"]} == {"hot", "warm", "cold"}
    assert {item["tier"] for item in rest.query("last quarter goals", tier="cold", limit=10)["results"]} == {"cold"}
    assert len(rest.query("last quarter goals", limit=2)["results"]) == 2
    assert len(rest.query("last quarter goals", k=2)["results"]) == 2
    found = rest.query("last quarter goals", filters={"tier": "warm"})
    assert {item["tier"] for item in found["results"]} == {"warm"}
    assert found["tiers"] == ["warm"]


@audit(fast=True, M12="D03")
def closer_tiers_rank_higher(rest: Rest) -> None:
    # Among equals the newest is first, and that is the cold one.
    for tier in ("hot", "warm", "cold"):
        rest.remember(f"The regatta starts at the {tier} harbour", tier=tier)
    found = rest.query("Where does the regatta start?")["results"]
    assert [item["tier"] for item in found] == ["hot", "warm", "cold"]
    rest.remember("Sails are sewn by Ann in the loft", tier="cold")
    rest.remember("Sails are sewn by someone", tier="warm")
    found = rest.query("Who sews sails in the loft?")["results"]
    assert [item["tier"] for item in found if "sewn" in item["content"]] == ["warm", "cold"]
    assert rest.query("Who sews sails in the loft?", tier="cold")["results"][0]["content"].endswith("loft")
    scores = {item["tier"]: item["score"] - item["parts"]["relevance"] - item["parts"]["use"] for item in found[:3]}
    assert {tier: round(lost, 4) for tier, lost in scores.items()} == {"hot": 0, "warm": -0.02, "cold": -0.25}


@audit(M12="D03")
def a_newer_version_in_cold_does_not_outrank_hot(tight: Rest) -> None:
    tight.remember("The release train leaves on Tuesday", tier="hot")
    later = tight.remember("The release train leaves on Thursday", kind="decision")
    tight.post("/compact")
    assert tight.read(later)["tier"] == "cold"
    found = tight.query("When does the release train leave?")["results"]
    assert [item["tier"] for item in found] == ["hot", "cold"]


def _used(mem: Memotherm, query: str, times: int) -> None:
    for _ in range(times):
        mem.recall(query, limit=1)


@audit("M13", "M14", "M15")
def maintenance_promotes_and_demotes(python: Python) -> None:
    mem = python.open()
    used = mem.remember("The pump room is flooded")
    idle = mem.remember("The attic is empty", tier="hot")
    busy = mem.remember("The cellar is dry", tier="hot")
    for _ in range(40):
        _used(mem, "cellar", 1)
        python.clock.advance(days=1)
    _used(mem, "pump room flooded", 3)
    run = mem.maintain()
    assert {move.id: str(move.to) for move in run.moves} == {used.id: "hot", idle.id: "warm"}
    assert str(mem.get(busy.id).tier) == "hot"
    fresh = python.open(default_tier="hot")
    busy_today, quiet = fresh.remember("The winch is greased"), fresh.remember("The shed is painted red")
    _used(fresh, "winch greased", 20)
    assert [move.id for move in fresh.compact().moves] == [quiet.id]
    assert fresh.get(busy_today.id).access_count == 20
    assert 0 < mem.inspect.heat(idle.id).decay < mem.inspect.heat(busy.id).decay <= 1
    python.clock.advance(days=200)
    mem.maintain()
    python.clock.advance(days=200)
    mem.maintain()
    assert str(mem.get(idle.id).tier) == "cold"


@audit("M16", "M18")
def a_move_keeps_id_vector_and_scope(rest: Rest) -> None:
    scope = f"project={rest.name}; user=ana"
    stored = rest.remember("Our feline companion sleeps on the sofa", scope=scope)
    moved = rest.post(f"/memories/{stored['id']}/move", {"tier": "cold"}, scope)
    same = ("id", "scope", "content", "tags", "source", "created_at", "priority", "retention")
    assert {name: moved[name] for name in same} == {name: stored[name] for name in same}
    found = rest.post("/recall", {"query": "Where does the cat nap?", "tiers": ["cold"]}, scope)["items"]
    assert found[0]["id"] == stored["id"]
    assert "vector" in found[0]["why"]
    assert rest.query("Where does the cat nap?")["results"] == []


@audit("M17")
def a_tier_never_deletes(python: Python) -> None:
    mem = python.open()
    cold = mem.remember("The oldest ledger is in the crypt", tier="cold")
    for _ in range(5):
        python.clock.advance(days=365)
        mem.maintain()
        mem.compact()
    assert str(mem.get(cold.id).retention) == "active"
    assert [hit.memory.id for hit in mem.recall("oldest ledger", tiers=("cold",))] == [cold.id]


@audit("M19")
def stored_tokens_count_in_every_tier(rest: Rest) -> None:
    stored = rest.remember("Twelve barrels of herring")
    for tier in ("hot", "warm", "cold"):
        rest.change(stored, "move", tier=tier)
        status = rest.get("/status")
        assert status[tier] == {"items": 1, "tokens": stored["tokens"]}
        assert sum(status[each]["items"] for each in ("hot", "warm", "cold")) == 1


@audit(M21="D34")
def the_states_and_windows_of_retention(python: Python) -> None:
    mem = python.open(retention="standard")
    mem.remember("A ledger nobody reads")
    seen = []
    for days in (89, 1, 59, 1, 6, 1):
        python.clock.advance(days=days)
        mem.maintain()
        # Listing is no use of a memory, which would begin the window anew.
        (state,) = mem.find(retention="any") or ["purged"]
        seen.append(state if isinstance(state, str) else str(state.retention))
    assert seen == ["active", "archived", "archived", "deleted", "deleted", "purged"], seen
    off = python.open()
    kept = off.remember("A ledger nobody reads")
    python.clock.advance(days=1000)
    off.maintain()
    assert str(off.get(kept.id).retention) == "active"


@audit("M22")
def an_expired_memory_is_invisible_at_once(python: Python) -> None:
    mem = python.open()
    mem.remember("The code of today is 8812", ttl=timedelta(hours=1), tier="hot")
    assert len(mem.recall("code of today")) == 1
    python.clock.advance(hours=1)
    assert len(mem.recall("code of today", tiers=("hot", "warm", "cold"))) == 0
    assert "8812" not in mem.context("code of today").text
    assert len(mem.find()) == 0


@audit("M23", fast=True)
def each_transition_is_one_event(rest: Rest) -> None:
    stored = rest.remember("The treaty is in the chest")
    for verb, body in (("move", {"tier": "cold", "why": "old"}), ("pin", {}), ("archive", {}), ("restore", {})):
        rest.change(stored, verb, **body)
    rest.delete(f"/memories/{stored['id']}")
    events = rest.get(f"/memories/{stored['id']}/history")["events"]
    assert len(events) == 6, [event["action"] for event in events]
    assert events[1]["changes"]["tier"] == {"from": "warm", "to": "cold"}
    assert events[1]["why"] == "old"
    assert all(event["at"] and event["actor"] and event["action"] for event in events)
    assert [event["seq"] for event in events] == sorted(event["seq"] for event in events)


@audit("M24")
def each_result_counts_one_use(rest: Rest) -> None:
    stored = rest.remember("The dovecote has nine doors")
    for _ in range(2):
        rest.query("How many doors has the dovecote?")
    rest.query("How many doors has the dovecote?", track=False)
    assert rest.read(stored)["access_count"] == 2


@audit("M26")
def a_deleted_memory_can_be_restored(rest: Rest, python: Python) -> None:
    stored = rest.remember("The quarry is closed")
    assert rest.delete(f"/memories/{stored['id']}")["retention"] == "deleted"
    assert rest.query("Is the quarry closed?")["results"] == []
    assert rest.change(stored, "restore")["retention"] == "active"
    assert len(rest.query("Is the quarry closed?")["results"]) == 1
    mem = python.open()
    late = mem.remember("The quarry is open")
    mem.forget(late.id)
    python.clock.advance(days=8)
    mem.maintain()
    refusal(NotFound, mem.restore, late.id)


@audit("M27")
def a_purged_memory_does_not_come_back(rest: Rest, cli: Cli) -> None:
    stored = rest.remember("The secret is a poem")
    exported = cli.folder / "memories.jsonl"
    cli.run("export", exported, "--store", cli.store, "--project", cli.name)
    assert "secret is a poem" in exported.read_text("utf-8")
    assert rest.ask("POST", f"/memories/{stored['id']}/purge", {})[0] == 204
    retold = cli.folder / "retold.jsonl"
    retold.write_text(json.dumps({"content": "The secret is a poem"}) + "\n")
    for file in (exported, retold):
        cli.run("import", "jsonl", file, "--store", cli.store, "--project", cli.name)
    assert rest.query("What is the secret?")["results"] == []
    assert rest.ask("GET", f"/memories/{stored['id']}")[0] in (404, 410)


@audit(M28="D37")
def duplicates_are_detected(rest: Rest, python: Python) -> None:
    first = rest.remember("The toll is two coins")
    assert rest.remember("The toll is two coins")["id"] == first["id"]
    assert rest.remember("The toll is three coins")["id"] != first["id"]
    assert len(rest.get("/memories")["memories"]) == 2
    forever = python.open()
    kept = forever.remember("The toll is two coins")
    python.clock.advance(days=365)
    assert forever.remember("The toll is two coins").id == kept.id
    assert kept.digest == hashlib.sha256(b"The toll is two coins").hexdigest()
    off = python.open(duplicate_window_hours=0)
    assert off.remember("The toll is two coins").id != off.remember("The toll is two coins").id
    window = python.open(duplicate_window_hours=24)
    first_one = window.remember("The toll is two coins")
    python.clock.advance(hours=23)
    assert window.remember("The toll is two coins").id == first_one.id
    python.clock.advance(hours=25)
    assert window.remember("The toll is two coins").id != first_one.id


@audit(M29="D40")
def filler_is_skipped_with_a_status(mcp: Mcp, rest: Rest, cli: Cli, hook: Hook, python: Python) -> None:
    mem = python.open()
    for text in ("ok", "short", "Route 667", "ok, thanks"):
        answers = [
            mcp("store_memory", content=text), rest.remember(text), rest.post("/memories:capture", {"content": text}),
            cli("remember", text), rest.post("/memories:batch", {"memories": [{"content": text}]})["skipped"][0],
        ]  # fmt: skip
        for answer in answers:
            assert answer["status"] == "skipped", json.dumps(answer)
            assert answer["why"]
        assert mem.capture(text).status == "skipped"
    assert rest.get("/memories")["memories"] == []
    for number, insists in enumerate(({"force": True}, {"kind": "message"})):
        stored = [mcp("store_memory", content=f"yes {number}", **insists), rest.remember(f"yes {number}", **insists)]
        assert [each["content"] for each in stored] == [f"yes {number}"] * 2
    assert cli("remember", "no", "--force")["content"] == cli("remember", "no", "--kind", "message")["content"] == "no"
    assert mem.remember("ok").content == "ok"
    assert mcp("store_memory", content="Route 6677")["content"] == "Route 6677"
    assert rest.post("/memories:capture", {"content": "Route 6677"})["status"] == "stored"
    for prompt in ("Route 66", "We ship the shop on Route 66"):
        hook("UserPromptSubmit", prompt=prompt)
        hook("Stop", last_assistant_message="ok")
    hook("SessionEnd")
    hook.work()
    stored = rest.post("/memories:find", {"include_narrower": True, "contains": "Route 66"})["memories"]
    said = {each["content"] for each in stored if each["kind"] != "summary"}
    assert said == {"Route 6677", "We ship the shop on Route 66"}
