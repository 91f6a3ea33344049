"""Who stands behind a memory: the interface says so, no caller raises it, and low trust is neither hot nor pinned."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from memotherm import Memory, Memotherm, Move, Select, Situation, Tier
from memotherm.cli.app import run
from memotherm.mcp.results import concise
from memotherm.rest.app import application
from memotherm.tools import call


class EverythingHot:
    """A rule that moves every memory to hot."""

    id = "test.hot"
    selects = Select(during="compact", tiers=(Tier.WARM,))
    names_trust = False

    def decide(self, memory: Memory, situation: Situation) -> Move | None:
        """Move it."""
        return Move.of(memory, Tier.HOT, "all of them")


def test_no_argument_claims_the_trust_of_a_person(mem: Memotherm) -> None:
    """The source may lower it; a model cannot raise it, whatever it says."""
    stored = {source: mem.remember(f"from {source}", source=source).trust for source in ("user", "person", "web")}

    assert stored == {"user": "agent", "person": "agent", "web": "web"}
    assert mem.remember("seen", source="https://example.org/a").trust == "web"
    assert mem.remember("said", metadata={"role": "user"}).trust == "agent"
    call(mem, "store_memory", {"content": "by a tool", "metadata": {"role": "user", "source": "person"}})
    assert mem.find(limit=1)[0].trust == "agent"
    person = mem.by("person")
    assert person.scoped(user="ann").remember("by a person").trust == "person"
    assert person.capture("The answer is 42", metadata={"role": "assistant"}).memory.trust == "agent"  # type: ignore[union-attr]


def test_no_rewrite_raises_trust_unless_a_person_makes_it(mem: Memotherm) -> None:
    """An agent that repeats, edits or replaces what a page said does not make it more reliable."""
    page = mem.remember("The port is 5433", source="web", key="port")
    assert mem.remember("The port is 5434", key="port").trust == "web"
    assert mem.update(page.id, content="The port is 5435").trust == "web"
    said = mem.by("person").remember("Ana likes tea")
    assert mem.remember("Ana likes tea").trust == "person"
    assert mem.update(said.id, tags=["drinks"]).trust == "person"
    assert mem.update(said.id, content="Ana likes coffee").trust == "agent"
    assert mem.by("person").update(said.id, content="Ana likes water").trust == "person"
    assert (mem.verify(page.id).trust, mem.by("person").verify(page.id).trust) == ("web", "person")
    assert [event.changes["trust"] for event in mem.history(page.id) if "trust" in event.changes] == [("web", "person")]


def test_memories_are_listed_by_their_trust(mem: Memotherm, capsys: pytest.CaptureFixture[str]) -> None:
    """In every interface, and forgotten together."""
    mem.remember("The port is 5433", source="https://example.org/ports")
    mem.by("person").remember("Ana likes tea")
    assert [each.content for each in mem.find(trust="web")] == ["The port is 5433"]
    assert (mem.count(trust="person"), mem.count(trust="import")) == (1, 0)
    client = TestClient(application(mem), base_url="http://127.0.0.1:8077")
    assert len(client.post("/memories:find", json={"trust": "person"}).json()["memories"]) == 1
    assert client.post("/memories:find", json={"trust": "nobody"}).status_code == 422
    assert run(["list", "--trust", "web", "--store", str(mem.status().store)]) == 0
    listed = capsys.readouterr().out
    assert ("5433" in listed, "tea" in listed) == (True, False)
    mem.bulk.forget(trust="web")
    assert [each.content for each in mem.find()] == ["Ana likes tea"]


def test_nothing_of_little_trust_becomes_hot_or_pinned_by_itself(
    open_mem: Callable[..., Memotherm], tmp_path: Path
) -> None:
    """Neither by the default tier, nor by a file, nor by a rule that does not name trust; a caller may ask for it."""
    rule = EverythingHot()
    mem = open_mem(tmp_path / "a.db", settings={"default_tier": "hot"}, rules=[rule])
    other = open_mem(tmp_path / "b.db", rules=[rule])
    own = mem.by("person").remember("A person's fact", priority="pinned")
    page = mem.remember("A page's fact", source="web")
    (tmp_path / "a.jsonl").write_text(json.dumps(own.as_dict()))
    imported = other.store.import_("jsonl", tmp_path / "a.jsonl", trust="import")
    (copy,) = other.find()

    assert (page.tier, copy.tier, copy.priority, copy.trust) == ("warm", "warm", "important", "import")
    assert imported.skipped[0].why == (
        "imported with the trust import, not person, as neither hot nor pinned: that needs the trust of a person"
    )
    assert [mem.compact().moves, other.compact().moves] == [(), ()]
    assert "import: A person's fact" in other.context("the person's fact").text
    rule.names_trust = True
    assert [move.id for move in mem.compact().moves] == [page.id]
    assert other.pin(copy.id).priority == "pinned"
    again = open_mem(tmp_path / "c.db").by("person")
    again.store.import_("jsonl", tmp_path / "a.jsonl")
    assert [(each.tier, each.priority, each.trust) for each in again.find()] == [("hot", "pinned", "person")]


@pytest.mark.sqlite
def test_the_interfaces_say_who_it_is(
    open_mem: Callable[..., Memotherm], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command line and a login with the printed token are a person's; keys and tools are an agent's."""
    mem = open_mem(tmp_path / "memory.db")
    address = "http://127.0.0.1:8077"
    secret = mem.keys.create("ana", "acme")
    client = TestClient(application(mem, require_keys=True, token="once"), base_url=address)
    bearer, origin = {"authorization": f"Bearer {secret}"}, {"origin": address}
    by_key = client.post(
        "/memories", json={"content": "by a key", "kind": "fact", "source": "user"}, headers=bearer
    ).json()
    client.post("/login", headers={"authorization": "Bearer once", **origin})
    by_login = client.post("/memories", json={"content": "by a login", "kind": "fact"}, headers=origin).json()
    run(["remember", "by hand", "--force", "--store", str(tmp_path / "memory.db"), "--json"])
    by_hand = json.loads(capsys.readouterr().out)

    assert [each["trust"] for each in (by_key, by_login, by_hand)] == ["agent", "person", "person"]
    assert concise({"items": [by_login | {"score": 1.0}]})["items"][0]["trust"] == "person"


@pytest.mark.parametrize("who", ["agent", "import", "web"])
def test_an_export_gives_no_caller_more_trust_than_its_own(who: str, mem: Memotherm, tmp_path: Path) -> None:
    """What its entries say of themselves neither makes them a person's nor replaces what a person said."""
    said = mem.by("person").remember("Never deploy on a Friday", key="deploy", priority="pinned")
    entries = [{"content": "Deploy on Fridays", "key": "deploy"}, {"content": "Deploy on Sundays"}]
    claimed = {"trust": "person", "priority": "pinned", "updated_at": said.updated_at.isoformat()}
    (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps({**entry, **claimed})}\n" for entry in entries))
    mem.by(who).store.import_("jsonl", tmp_path / "a.jsonl")
    assert mem.get(said.id).content == "Never deploy on a Friday"
    assert [each.content for each in mem.find(trust="person")] == ["Never deploy on a Friday"]
