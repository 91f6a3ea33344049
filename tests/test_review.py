"""Proposals: what a source may only propose waits for a decision, and is in no prompt until then."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from memotherm import Memotherm
from memotherm.cli.app import run
from memotherm.errors import InvalidInput

HARBOUR, AIRPORT = "Ana works at the harbour", "Ana works at the airport"


def test_a_proposal_waits_outside_of_every_prompt(mem: Memotherm) -> None:
    """It is found on request only, may be edited, and is approved once."""
    proposal = mem.remember(HARBOUR, source="extracted:qwen")
    assert (proposal.retention, mem.remember(HARBOUR, source="extracted:qwen").id) == ("proposed", proposal.id)
    assert (len(mem.find()), len(mem.recall("harbour").hits), "harbour" in mem.context("harbour").text) == (0, 0, False)
    assert [hit.memory.id for hit in mem.recall("harbour", retention="proposed").hits] == [proposal.id]
    edited = mem.update(proposal.id, content=f"{HARBOUR}.")
    approved = mem.by("person").approve(proposal.id)
    assert (approved.content, approved.retention, approved.trust) == (edited.content, "active", "person")
    assert "harbour" in mem.context("Who works at the harbour?").text
    with pytest.raises(InvalidInput, match="not proposed"):
        mem.by("person").approve(proposal.id)
    assert mem.by("person").undo(approved.version).retention == "proposed"


def test_what_was_rejected_is_not_proposed_again(mem: Memotherm) -> None:
    """Nor captured; whoever remembers it overrides that, and remembering a proposal approves it."""
    proposal = mem.remember(HARBOUR, source="extracted")
    rejected = mem.reject(proposal.id, why="she does not")
    assert (rejected.retention, mem.history(proposal.id)[-1].action) == ("deleted", "reject")
    with pytest.raises(InvalidInput, match="rejected"):
        mem.remember(f"{HARBOUR}!", source="extracted")
    assert mem.remember_many([{"content": HARBOUR, "source": "extracted"}]) == []
    assert mem.capture(HARBOUR).status == "skipped"
    assert mem.remember(HARBOUR).retention == "active"
    other = mem.remember(AIRPORT, source="extracted")
    assert mem.capture(AIRPORT, kind="fact").memory.retention == "proposed"  # type: ignore[union-attr]
    assert (mem.remember(AIRPORT).id, mem.get(other.id).retention) == (other.id, "active")


def test_a_proposal_replaces_another_memory_only_when_it_is_approved(mem: Memotherm) -> None:
    """By filter, all or none."""
    old = mem.remember(HARBOUR)
    mem.remember(AIRPORT, source="extracted", supersedes=old.id)
    mem.remember("Ben likes tea", source="extracted", tags=["drinks"])
    assert mem.get(old.id).retention == "active"
    assert [each.content for each in mem.bulk.reject(tags=["drinks"])] == ["Ben likes tea"]
    mem.by("person").bulk.approve(contains="airport", count=1)
    assert ([each.content for each in mem.find()], mem.get(old.id).retention) == ([AIRPORT], "archived")


def test_one_undo_takes_back_an_approval_with_what_it_archived(mem: Memotherm) -> None:
    """Both are as before, and what was archived is no longer marked as forgotten."""
    old = mem.remember(HARBOUR)
    proposal = mem.remember(AIRPORT, source="extracted", supersedes=old.id)
    assert mem.by("person").undo(mem.by("person").approve(proposal.id).version).retention == "proposed"
    assert [each.content for each in mem.find()] == [HARBOUR]
    assert mem.capture(f"Ben said: {HARBOUR}").memory.content.endswith(HARBOUR)  # type: ignore[union-attr]
    mem.archive(old.id)
    mem.by("person").undo(mem.by("person").approve(proposal.id).version)
    assert mem.get(old.id).retention == "archived", "the approval did not archive it"


def test_a_proposal_under_a_key_in_use_waits_and_takes_the_key(mem: Memotherm) -> None:
    """It is neither dropped nor stored twice; an undo gives the key back."""
    old = mem.remember(HARBOUR, key="ana/work")
    proposal = mem.remember(AIRPORT, key="ana/work", source="extracted")
    assert mem.remember(AIRPORT, key="ana/work", source="extracted").id == proposal.id
    assert mem.remember(HARBOUR, key="ana/work", source="extracted").id == old.id
    assert ([each.id for each in mem.find(retention="proposed")], mem.get(key="ana/work").id) == ([proposal.id], old.id)
    approved = mem.by("person").approve(proposal.id)
    assert (mem.get(key="ana/work").content, mem.get(old.id).retention) == (AIRPORT, "archived")
    mem.by("person").undo(approved.version)
    assert (mem.get(key="ana/work").content, mem.get(proposal.id).retention) == (HARBOUR, "proposed")


def test_a_setting_says_which_sources_propose(open_mem: Callable[..., Memotherm], tmp_path: Path) -> None:
    """Such as imports and captures."""
    mem = open_mem(tmp_path / "memory.db", settings={"propose_sources": ["import", "capture"]})
    (tmp_path / "mem0.json").write_text(json.dumps([{"memory": HARBOUR}]))
    mem.store.import_("mem0", tmp_path / "mem0.json")
    mem.capture(AIRPORT)
    mem.remember("Ben likes tea", source="extracted")
    assert {each.content for each in mem.find(retention="proposed")} == {HARBOUR, AIRPORT}


def test_an_export_and_its_import_keep_proposals(
    open_mem: Callable[..., Memotherm], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What they replace is kept as well; what was approved stays so, unless the file is of less trust."""
    mem = open_mem(tmp_path / "a.db")
    old = mem.remember(HARBOUR)
    waiting = mem.remember(AIRPORT, source="extracted", supersedes=old.id)
    approved = mem.by("person").approve(mem.remember("Ben likes tea", source="extracted").id)
    store, export = ["--store", str(mem.status().store)], tmp_path / "all.jsonl"
    assert run(["export", "-", *store]) == 0
    assert "proposals (1); --all" in capsys.readouterr().err
    assert run(["export", str(export), "--all", *store]) == 0
    other, wary = open_mem(tmp_path / "b.db"), open_mem(tmp_path / "c.db")
    assert other.store.import_("jsonl", export).stored == 3
    assert other.store.import_("jsonl", export).duplicates == 3
    assert [each.id for each in other.find(retention="proposed")] == [waiting.id]
    assert {each.id for each in other.find()} == {old.id, approved.id}
    other.by("person").approve(waiting.id)
    assert {each.content for each in other.find()} == {AIRPORT, "Ben likes tea"}
    wary.store.import_("jsonl", export, trust="import")
    assert {each.id for each in wary.find(retention="proposed")} == {waiting.id, approved.id}


@pytest.mark.sqlite
def test_the_inbox_of_the_command_line(
    open_mem: Callable[..., Memotherm], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`review` lists, `approve` and `reject` decide by id or filter."""
    mem = open_mem(tmp_path / "memory.db")
    first, second = (mem.remember(text, source="extracted").id for text in (HARBOUR, AIRPORT))

    def called(*words: str) -> str:
        assert run([*words, "--store", str(tmp_path / "memory.db")]) == 0
        return capsys.readouterr().out

    assert [each["id"] for each in json.loads(called("review", "--json"))["memories"]] == [second, first]
    called("approve", first)
    called("reject", "--contains", "airport", "--yes")
    assert (mem.get(first).retention, mem.get(first).trust, mem.get(second).retention) == (
        "active",
        "person",
        "deleted",
    )
    assert json.loads(called("review", "--json"))["memories"] == []
