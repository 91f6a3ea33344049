"""What callers of less trust may do to a memory of more: the table of docs/how-to/trust.md, row by row."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memotherm import Memory, Memotherm
from memotherm.errors import Forbidden, NotFound
from memotherm.testing import FakeClock
from memotherm.tools import call

HARBOUR, AIRPORT = "Ana works at the harbour", "Ana works at the airport"


def _approved(mem: Memotherm, said: Memory) -> object:
    return mem.approve(mem.remember(AIRPORT, source="extracted", supersedes=said.id).id)


def _pruned(mem: Memotherm, said: Memory) -> object:
    mem.move(said.id, "cold")
    return mem.session("s1").prune(0)


def _imported(mem: Memotherm, said: Memory, path: Path) -> object:
    now = said.updated_at + timedelta(minutes=1)
    entry = {**said.as_dict(), "content": AIRPORT, "trust": "agent", "updated_at": now.isoformat()}
    path.write_text(json.dumps(entry))
    return mem.store.import_("jsonl", path)


#: What each row of the table does to a memory of a person, by an agent.
CALLS: dict[str, Callable[[Memotherm, Memory, Path], object]] = {
    "remember(supersedes=)": lambda mem, said, _: mem.remember(AIRPORT, supersedes=said.id),
    "remember(key=)": lambda mem, said, _: mem.remember(AIRPORT, key=said.key),
    "update(content=)": lambda mem, said, _: mem.update(said.id, content=AIRPORT),
    "amend": lambda mem, said, _: mem.amend(said.id, AIRPORT),
    "decide": lambda mem, said, _: mem.decide(mem.remember(AIRPORT).id, over=[said.id]),
    "approve": lambda mem, said, _: _approved(mem, said),
    "archive": lambda mem, said, _: mem.archive(said.id),
    "forget": lambda mem, said, _: mem.forget(said.id),
    "remember_many(forget=)": lambda mem, said, _: mem.remember_many([{"content": AIRPORT}], forget=[said.id]),
    "bulk.forget": lambda mem, said, _: mem.bulk.forget(ids=[said.id]),
    "purge": lambda mem, said, _: mem.purge(said.id),
    "bulk.purge": lambda mem, said, _: mem.bulk.purge(ids=[said.id]),
    "erase": lambda mem, _said, _: mem.scoped(user="ana").erase(),
    "rescope": lambda mem, said, _: mem.rescope(said.id, {"project": "shop"}),
    "undo": lambda mem, said, _: mem.undo(mem.history(said.id)[0].seq),
    "update(kind=)": lambda mem, said, _: mem.update(said.id, kind="task"),
    "update(key=)": lambda mem, said, _: mem.update(said.id, key="other"),
    "update(ttl=)": lambda mem, said, _: mem.update(said.id, ttl="1d"),
    "update(valid_until=)": lambda mem, said, _: mem.update(said.id, valid_until="2020-01-01"),
    'update(metadata={"ends": ...})': lambda mem, said, _: mem.update(
        said.id, metadata={"ends": {"when": "branch main exists", "place": "x"}}
    ),
    "store.import_": _imported,
    "store.move_project": lambda mem, _said, _: mem.store.move_project("web", "shop"),
    "session.clear": lambda mem, _said, _: mem.session("s1").clear(),
    "session.prune": lambda mem, said, _: _pruned(mem.scoped(session="s1"), said),
    "remember": lambda mem, said, _: mem.remember(HARBOUR, key=said.key, ttl="1d", valid_until="2020-01-01"),
    "move": lambda mem, said, _: mem.move(said.id, "hot"),
    "prioritize": lambda mem, said, _: mem.prioritize(said.id, "low"),
    "pin": lambda mem, said, _: mem.pin(said.id),
    "unpin": lambda mem, said, _: mem.unpin(said.id),
    "verify": lambda mem, said, _: mem.verify(said.id),
    "move_out_of_session": lambda mem, said, _: mem.scoped(session="s1").move_out_of_session(said.id),
    "update(tags=)": lambda mem, said, _: mem.update(said.id, tags=["work"]),
    "update(metadata=)": lambda mem, said, _: mem.update(said.id, metadata={"status": "done"}),
    "compact": lambda mem, _said, _: mem.compact(),
    "maintain": lambda mem, _said, _: mem.maintain(),
}


def _table() -> dict[str, str]:
    """Return the outcome of each call that the table of the docs names."""
    page = (Path(__file__).parent.parent / "docs" / "how-to" / "trust.md").read_text()
    section = page.partition("## What less trust may change")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]*) \| (\w+)", section, re.MULTILINE)
    return {name: outcome for calls, outcome in rows for name in re.findall(r"`([^`]+)`", calls)}


OUTCOMES = _table()


def test_the_table_names_every_call() -> None:
    """Each row is walked below."""
    assert OUTCOMES.keys() == CALLS.keys()


@pytest.mark.parametrize("name", CALLS)
def test_what_a_person_said_outlasts_less_trust(
    name: str, open_mem: Callable[..., Memotherm], clock: FakeClock, tmp_path: Path
) -> None:
    """It stays as it was, unless the call does not concern what it says; a person may do all of it."""
    scope = {"project": "web", "user": "ana"}
    if name.startswith(("session.", "move_out")):
        scope["session"] = "s1"
    mem = open_mem(tmp_path / "memory.db")
    pinned = OUTCOMES[name] == "pinned"
    priority = "pinned" if pinned else "critical"
    said = mem.by("person").scoped(**scope).remember(HARBOUR, key="ana/work", priority=priority)
    clock.advance(hours=1)
    view = mem if "store." in name or name == "erase" else mem.scoped(project="web", user="ana")
    if name.startswith("session."):
        view.session("s1").add("An otter swims")
    reads = mem.scoped(**scope)

    def act(by: Memotherm) -> Any:
        return CALLS[name](by, said, tmp_path / "entries.jsonl")

    def kept() -> bool:
        try:
            now = reads.get(said.id)
        except NotFound:
            return False
        told = ("content", "retention", "trust", "kind", "key", "expires_at", "valid_until")
        same = all(getattr(now, field) == getattr(said, field) for field in told)
        same = same and (now.priority == said.priority or not pinned) and "ends" not in now.metadata
        return same and reads.scoped(session="s1").get(key="ana/work").id == said.id

    if OUTCOMES[name] in ("refused", "pinned"):
        with pytest.raises(Forbidden, match="person"):
            act(view)
        assert kept()
        act(view.by("person"))
        assert not kept()
        return
    result = act(view)
    result = result[0] if name == "decide" else result
    assert kept()
    assert name != "session.clear" or result == 1, "the rest is cleared"
    proposals = mem.find(retention="proposed", include_narrower=True)
    assert [each.content for each in proposals] == [AIRPORT] * (OUTCOMES[name] == "proposed")
    if OUTCOMES[name] == "proposed":
        assert (result.id, result.supersedes, result.trust) == (proposals[0].id, said.id, "agent")
        again = act(view)
        assert (again[0] if name == "decide" else again).id == result.id, "proposed once"
        with pytest.raises(Forbidden):
            view.approve(result.id)
        assert view.by("person").approve(result.id).trust == "person"
        assert (reads.get(said.id).retention, reads.get(key="ana/work").content) == ("archived", AIRPORT)


@pytest.fixture(params=["decide", "remember", "update"])
def proposed(request: pytest.FixtureRequest, open_mem: Callable[..., Memotherm], tmp_path: Path) -> list[Any]:
    """A store, what a person and an agent said in it, and the agent's proposal that its text replaces the other."""
    mem = open_mem(tmp_path / "memory.db")
    said, kept = mem.by("person").remember(HARBOUR, priority="pinned"), mem.remember(AIRPORT, tags=["work"])
    calls: dict[str, Callable[[], Memory]] = {
        "decide": lambda: mem.decide(kept.id, over=[said.id])[0],
        "remember": lambda: mem.remember(AIRPORT, supersedes=said.id),
        "update": lambda: mem.update(said.id, content=AIRPORT),
    }
    return [mem, said, kept, calls[request.param]]


def test_an_approval_keeps_the_memory_that_has_the_text_already(proposed: list[Any]) -> None:
    """It stays under its id, the other one is archived, no copy is left, and an undo takes all of it back."""
    mem, said, kept, propose = proposed
    waiting = propose()
    assert (waiting.retention, waiting.content, waiting.supersedes) == ("proposed", AIRPORT, said.id)
    assert sorted(each.id for each in mem.find()) == sorted([said.id, kept.id])
    approved = mem.by("person").approve(waiting.id)
    assert (approved.id, approved.trust, approved.tags) == (kept.id, "person", ("work",))
    assert [each.id for each in mem.find()] == [kept.id]
    assert mem.get(said.id).retention == "archived"
    assert not list(mem.find(retention="proposed"))
    mem.by("person").undo(approved.version)
    assert sorted(each.id for each in mem.find()) == sorted([said.id, kept.id])
    assert mem.get(kept.id).trust == "agent"
    assert mem.check() == []


def test_a_rejected_decision_changes_nothing_and_is_not_proposed_again(proposed: list[Any]) -> None:
    """The text of the memory that it would have kept is not marked as forgotten."""
    mem, said, kept, propose = proposed
    mem.by("person").reject(propose().id)
    assert [mem.get(each.id) == each for each in (said, kept)] == [True, True]
    assert mem.capture(f"{AIRPORT}, says Ben.").memory.content == f"{AIRPORT}, says Ben."
    with pytest.raises(Forbidden, match="ask the user"):
        propose()


def test_a_purge_of_the_memory_to_keep_takes_the_proposal_with_it(proposed: list[Any]) -> None:
    """No copy of what was purged waits for an approval."""
    mem, said, kept, propose = proposed
    propose()
    mem.purge(kept.id)
    assert [each.id for each in mem.find(retention="any")] == [said.id]
    assert AIRPORT not in str(mem.inspect.everything())


def test_a_decision_between_scopes_is_approved_where_both_are_seen(
    open_mem: Callable[..., Memotherm], tmp_path: Path
) -> None:
    """The memory that is kept stays in its wider scope."""
    mem = open_mem(tmp_path / "memory.db")
    project, ana = mem.scoped(project="web"), mem.scoped(project="web", user="ana")
    kept = project.remember(AIRPORT)
    ana.by("person").remember(HARBOUR)
    (waiting,) = ana.decide(kept.id)
    assert waiting.scope == ana.scope
    assert ana.by("person").approve(waiting.id).scope == project.scope
    assert [each.id for each in ana.find()] == [kept.id]


def test_a_decision_archives_what_the_caller_may_replace_and_proposes_the_rest(
    open_mem: Callable[..., Memotherm], tmp_path: Path
) -> None:
    """The retention of each memory in the result says which it was."""
    mem = open_mem(tmp_path / "memory.db")
    said, older = mem.by("person").remember(HARBOUR), mem.remember("Ana works at the market")
    kept = mem.remember(AIRPORT)
    decided = mem.decide(kept.id, over=[said.id, older.id])
    assert [(each.retention, each.supersedes or each.id) for each in decided] == [
        ("proposed", said.id),
        ("archived", older.id),
    ]
    mem.by("person").update(kept.id, content="Ana works at home")
    mem.by("person").approve(decided[0].id)
    found = sorted(each.content for each in mem.find())
    assert found == ["Ana works at home", AIRPORT], "the text that was shown is approved"


def test_an_agent_forgets_what_its_user_said_and_an_undo_brings_it_back(
    open_mem: Callable[..., Memotherm], tmp_path: Path
) -> None:
    """The user asks for it; only what is pinned needs the person."""
    mem = open_mem(tmp_path / "memory.db")
    said = mem.by("person").remember(HARBOUR)
    forgotten = mem.forget(said.id, why="the user asked")
    assert (forgotten.retention, len(mem.find())) == ("deleted", 0)
    assert mem.undo(forgotten.version).retention == "active"


def test_equal_trust_replaces_as_before(open_mem: Callable[..., Memotherm], tmp_path: Path) -> None:
    """An agent corrects what an agent said, and a person what anybody said."""
    mem = open_mem(tmp_path / "memory.db")
    first = mem.remember(HARBOUR)
    second = mem.remember(AIRPORT, supersedes=first.id, source="https://example.org/ana")
    assert (mem.get(first.id).retention, second.retention, second.trust) == ("archived", "active", "web")
    assert mem.update(second.id, content="Ana works at home").retention == "active"
    mem.by("person").forget(second.id)


def test_a_tool_says_that_a_proposal_waits(open_mem: Callable[..., Memotherm], tmp_path: Path) -> None:
    """The model can tell the user."""
    mem = open_mem(tmp_path / "memory.db")
    said = mem.by("person").remember(HARBOUR, key="ana/work")
    for tool, arguments in (("store_memory", {"supersedes": said.id}), ("memory_put_key", {"key": "ana/work"})):
        result = call(mem, tool, {"content": AIRPORT, **arguments})
        assert (result["retention"], said.id in result["warnings"][0]) == ("proposed", True)
    assert mem.get(key="ana/work").content == HARBOUR


# Imports


def test_an_import_does_not_revert_a_correction(
    open_mem: Callable[..., Memotherm], clock: FakeClock, tmp_path: Path
) -> None:
    """Neither with a date in the future, nor without one, nor with less trust, nor with what was forgotten."""
    mem = open_mem(tmp_path / "memory.db").by("person")
    old = mem.remember(HARBOUR, key="ana/work")
    clock.advance(days=1)
    mem.update(old.id, content=AIRPORT)
    clock.advance(days=1)
    later = {"updated_at": clock.now.isoformat()}
    future = {"updated_at": "2027-06-01T00:00:00+00:00"}
    other = "Ana works at the market"
    entries: list[dict[str, Any]] = [
        old.as_dict() | future | {"trust": "import"},
        old.as_dict() | later,
        old.as_dict() | future | {"content": other},
        {"id": old.id, "key": "ana/work", "content": other},
        old.as_dict() | later | {"content": other, "trust": "agent"},
        {"key": "ana/work", "content": HARBOUR},
        {"key": "ana/work", "content": other, "trust": "import"},
    ]
    for entry in entries:
        (tmp_path / "old.jsonl").write_text(json.dumps(entry))
        mem.store.import_("jsonl", tmp_path / "old.jsonl")
        mem.store.import_("jsonl", tmp_path / "old.jsonl", trust="import")
        assert mem.get(key="ana/work").content == AIRPORT, entry
        assert mem.get(key="ana/work").trust == "person", entry
    (tmp_path / "old.jsonl").write_text(json.dumps(old.as_dict() | later | {"content": other}))
    mem.store.import_("jsonl", tmp_path / "old.jsonl")
    assert mem.get(key="ana/work").content == other, "a newer entry of the same trust replaces it"


def test_an_import_believes_no_time_in_the_future(open_mem: Callable[..., Memotherm], tmp_path: Path) -> None:
    """It is left out, with a remark; an expiry may lie there."""
    mem, other = open_mem(tmp_path / "a.db"), open_mem(tmp_path / "b.db")
    memory = mem.remember(HARBOUR)
    ahead = memory.created_at + timedelta(days=400)
    wrong = replace(memory, created_at=ahead, updated_at=ahead, verified_at=ahead, expires_at=ahead)
    (tmp_path / "a.jsonl").write_text(json.dumps(wrong.as_dict()))
    imported = other.store.import_("jsonl", tmp_path / "a.jsonl")
    (copy,) = other.find()
    assert (copy.created_at, copy.updated_at, copy.verified_at) == (memory.created_at, memory.updated_at, None)
    assert copy.expires_at == ahead
    assert "future" in imported.skipped[0].why
