"""Summaries follow what they were made from."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from memotherm import Memory, Memotherm, Scope
from memotherm.hooks.capture import process_spool
from memotherm.hooks.spool import Spool
from memotherm.operations.codec import to_json


@pytest.mark.parametrize(
    "change",
    [
        lambda mem, memory: mem.purge(memory.id),
        lambda mem, memory: mem.forget(memory.id),
        lambda mem, memory: mem.update(memory.id, content="We decided to use MySQL"),
        lambda mem, memory: mem.remember("We decided to use MySQL", supersedes=memory.id),
        lambda mem, memory: mem.decide(mem.remember("We decided to use MySQL").id, over=[memory.id]),
        lambda mem, memory: mem.by("person").approve(
            mem.remember("We decided to use MySQL", supersedes=memory.id, source="extracted").id
        ),
    ],
    ids=["purge", "forget", "update", "supersede", "decide", "approve"],
)
def test_a_summary_is_made_again_when_a_source_changes(
    mem: Memotherm, change: Callable[[Memotherm, Memory], object]
) -> None:
    """Neither the summary nor its history has the former text; the other sources stay in it."""
    wrong = mem.remember("We decided to use Postgres", kind="decision")
    other = mem.remember("We decided to ship in March", kind="decision")
    made = {"derived_from": {wrong.id: wrong.version, other.id: other.version}}
    text = "Session of 2026-01-05\nDecided: We decided to use Postgres; We decided to ship in March"
    mem.remember(text, kind="summary", key="session/s1/summary", metadata=made, index=False)
    change(mem, wrong)

    (summary,) = mem.find(kind="summary")
    assert summary.key == "session/s1/summary"
    assert "We decided to ship in March" in summary.content
    everything = [event for event in to_json(mem.inspect.everything())["events"] if event["id"] != wrong.id]
    assert "Postgres" not in summary.content + json.dumps(everything)


@pytest.mark.sqlite
def test_a_purge_leaves_nothing_in_the_summary_of_a_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_mem: Callable[..., Memotherm]
) -> None:
    """The summary that hooks make names its sources; without any, it goes."""
    monkeypatch.setenv("MEMOTHERM_STORE", str(tmp_path / "memory.db"))
    spool = Spool(tmp_path / "spool")
    place = {"client": "claude", "session": "s1", "folder": str(tmp_path), "scope": {"project": "shop"}}
    spool.add({"do": "capture", "role": "user", "text": "We decided to keep the walruses in Lisbon.", **place})
    process_spool(spool, include_running=True)
    mem = open_mem(tmp_path / "memory.db", scope=Scope(project="shop"))
    (summary,) = mem.find(kind="summary")
    (source,) = mem.find(kind="decision")

    assert "walruses" in summary.content
    assert list(summary.metadata["derived_from"]) == [source.id]
    mem.by("person").purge(source.id)
    assert mem.find(kind="summary").memories == ()
    assert mem.find(contains="walruses", retention="any").memories == ()
