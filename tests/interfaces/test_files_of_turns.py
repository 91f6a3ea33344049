"""Memories of a turn are about the files that it names, of those that the agent read or edited in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import memotherm
from memotherm import Scope
from memotherm.hooks.capture import process_spool
from memotherm.hooks.entry import _jobs
from memotherm.hooks.events import Options, parse_event
from memotherm.hooks.files import files_of_turn
from memotherm.hooks.spool import Spool
from memotherm.workspace.anchors import anchors_for
from memotherm.workspace.checks import Workspace
from tests.repositories import SmallRepository

_CHARGE = """import { Money } from "../money";

export const RETRY_LIMIT = 3;

export function chargeCard(amount: Money) {
  const rounded = halfEven(amount);

  return bank.charge(rounded);
}

export class LedgerClient {
  post() {}
}
"""
_JOBS = """def fetch_rates(day):
    # PostgreSQL keeps them
    return rates[day]


def close_day(day):
    fetch_rates(day)
"""
_FILES = {"src/payments/charge.ts": _CHARGE, "tools/jobs.py": _JOBS, "README.md": "# Shop\n"}


@pytest.fixture
def shop(tmp_path: Path) -> SmallRepository:
    """A repository with three files."""
    made = SmallRepository(tmp_path / "shop")
    made.write(_FILES)
    made.commit("main", _FILES)
    return made


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("charge.ts rounds half even, because the bank rejects anything else.", ["src/payments/charge.ts"]),
        ("Never edit src/payments/charge.ts by hand.", ["src/payments/charge.ts"]),
        ("chargeCard rounds half even.", ["src/payments/charge.ts:5-9"]),
        ("In charge.ts, RETRY_LIMIT is 3 on purpose.", ["src/payments/charge.ts:3-3"]),
        ("`LedgerClient` is not thread safe", ["src/payments/charge.ts:11-13"]),
        ("LedgerClient muss geschlossen werden.", ["src/payments/charge.ts:11-13"]),
        ("close_day must run before midnight", ["tools/jobs.py:6-7"]),
        ("fetch_rates は夜に失敗する", ["tools/jobs.py:1-3"]),
        ("We moved to PostgreSQL last week.", []),
        ("I prefer short answers without emojis.", []),
        ("Rounding is half even, because the bank rejects anything else.", []),
        ("other/charge.ts is generated", []),
        ("retry_limits are per host", []),
        ("", []),
    ],
)
def test_a_text_is_about_what_it_names(text: str, places: list[str], shop: SmallRepository) -> None:
    """The lines of the code that it names, else the file; nothing for what only happened in the same turn."""
    files = [shop.root / name for name in _FILES]
    made = anchors_for(text, files, Workspace(shop.root))
    written = [each["path"] + "".join(f":{a}-{b}" for a, b in [each.get("lines", ())] if a) if "lines" in each
               else each["path"] for each in made]  # fmt: skip
    assert written == places
    assert anchors_for(text, [], Workspace(shop.root)) == []


def test_code_that_several_files_have_tells_nothing(shop: SmallRepository, tmp_path: Path) -> None:
    """A file outside of the project neither; and without a repository there is nothing to compare."""
    shop.write({"tools/copy.py": _JOBS})
    files = [shop.root / "tools/jobs.py", shop.root / "tools/copy.py", tmp_path / "jobs.py"]
    (tmp_path / "jobs.py").write_text(_JOBS)
    assert anchors_for("close_day must run before midnight", files, Workspace(shop.root)) == []
    assert len(anchors_for("close_day in copy.py must run before midnight", files, Workspace(shop.root))) == 1
    assert anchors_for("jobs.py runs at night", files[2:], Workspace(shop.root)) == []
    assert anchors_for("jobs.py runs at night", files[2:], Workspace(tmp_path)) == []


def _claude(prompt: str, path: str, reply: str) -> list[dict[str, Any]]:
    use = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": path}}
    done = {"type": "tool_result", "tool_use_id": "t1", "content": "…"}
    return [
        {"type": "user", "message": {"role": "user", "content": prompt}},
        {"type": "assistant", "message": {"role": "assistant", "content": [use]}},
        {"type": "user", "message": {"role": "user", "content": [done]}},
        {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": reply}]}},
    ]


def _codex(prompt: str, path: str, reply: str) -> list[dict[str, Any]]:
    patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n-a\n+b\n*** End Patch"
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": prompt}]},
        {"type": "custom_tool_call", "name": "apply_patch", "input": patch},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": reply}]},
    ]
    return [{"type": "response_item", "payload": item} for item in items]


@pytest.mark.parametrize(("client", "lines"), [("claude", _claude), ("codex", _codex)])
def test_a_captured_turn_is_about_the_file_that_was_read_or_edited(
    client: str, lines: Any, shop: SmallRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is shown when another session reads the file, not in its own, and says when the lines have changed."""
    monkeypatch.setenv("MEMOTHERM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MEMOTHERM_EMBEDDER", "none")
    said = "chargeCard rounds half even, because the bank rejects anything else."
    path = tmp_path / "t.jsonl"
    later = lines("And the README?", "README.md", "Done.")
    made = [*lines(said, "src/payments/charge.ts", "Understood, I left it as it is."), *later]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in made), "utf-8")
    assert files_of_turn(path, said, str(shop.root)) == [shop.root / "src/payments/charge.ts"]
    assert files_of_turn(path, "And the README?", str(shop.root)) == [shop.root / "README.md"]
    assert files_of_turn(path, "Something else", str(shop.root)) == []
    base = {"session_id": "s1", "cwd": str(shop.root), "transcript_path": str(path)}
    spool = Spool(tmp_path / "home" / "spool")
    for event in (
        {"hook_event_name": "UserPromptSubmit", "prompt": said},
        {"hook_event_name": "Stop", "last_assistant_message": "Understood, I left it as it is."},
    ):
        parsed = parse_event({**base, **event}, client=client)
        assert parsed is not None
        for job in _jobs(parsed, Options(["--client", client, "--project", "p"])):
            spool.add({**job, "scope": {"project": "p"}})
    assert process_spool(spool).failed == ()
    with memotherm.open(scope=Scope(project="p")) as opened:
        mem = opened.in_folder(shop.root)
        (memory,) = [each for each in mem.find() if each.content.startswith("chargeCard")]
        assert memory.metadata["anchors"][0]["lines"] == [5, 9]
        assert said in mem.session("s2").before_tool("Read", ["src/payments/charge.ts"]).text
        assert not mem.session("s1").before_tool("Read", ["src/payments/charge.ts"]).text
        shop.write({"src/payments/charge.ts": _CHARGE.replace("RETRY_LIMIT = 3", "RETRY_LIMIT = 4")})
        assert mem.recall("chargeCard rounds").hits[0].files == "fresh"
        shop.write({"src/payments/charge.ts": _CHARGE.replace("halfEven", "halfUp")})
        assert mem.recall("chargeCard rounds").hits[0].files == "changed"
        assert [each.id for each in mem.stale()] == [memory.id]
        mem.verify(memory.id)
        assert mem.recall("chargeCard rounds").hits[0].files == "fresh"


def test_a_file_as_a_whole_does_not_change(shop: SmallRepository, tmp_path: Path) -> None:
    """It is gone or moved, however often it is edited."""
    with memotherm.open(tmp_path / "m.db", embedder="none") as opened:
        mem = opened.in_folder(shop.root)
        (anchor,) = anchors_for("README.md is for customers", [shop.root / "README.md"], Workspace(shop.root))
        memory = mem.remember("README.md is for customers", metadata={"anchors": [anchor]})
        shop.write({"README.md": "# Another\n"})
        assert mem.recall("README for customers").hits[0].files == "fresh"
        mem.verify(memory.id)
        shop.write({"README.md": None})
        assert mem.recall("README for customers").hits[0].files == "gone"
        assert mem.verify(memory.id).metadata["anchors"][0]["digest"] == ""
