"""The scripted weeks of work: `python -m bench.days`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from bench.days.__main__ import WEEKS, entries, has

from tests.helpers import ROOT

TINY = {
    "about": "coding",
    "language": "en",
    "begins": "2026-03-02",
    "sessions": [
        {
            "day": 1,
            "hour": 9,
            "folder": "harbor",
            "turns": [
                {"prompt": "Which port does staging use?", "reply": "The staging database listens on port 5433."},
                {"prompt": "run the tests", "reply": "All 212 tests pass.", "filler": True},
                {"prompt": "OK", "reply": "Right.", "filler": True},
            ],
        },
        {
            "day": 3,
            "hour": 9,
            "folder": "harbor",
            "turns": [
                {
                    "prompt": "The staging database has moved, please change our config to port 5544.",
                    "reply": "OK, I updated the port of the staging database to 5544.",
                }
            ],
        },
    ],
    "questions": [{"prompt": "What port is the staging database on?", "answer": ["5544"], "old": ["5433"]}],
}


def test_a_week_is_held_through_the_hooks(tmp_path: Path) -> None:
    """Two sessions and a question: what was said is stored and injected, and counted."""
    path = tmp_path / "tiny.json"
    path.write_text(json.dumps(TINY), "utf-8")
    command = [sys.executable, "-m", "bench.days", "--week", str(path), "--json"]
    found = json.loads(subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.PIPE).stdout)
    (asked,) = found["questions"]
    assert (found["turns"], found["filler"], found["starts"], found["prompts"]) == (4, 2, 2, 1)
    assert found["memories"] > 0
    assert len(found["hot_after_sessions"]) == 2
    assert found["answered"] == found["answerable"] == 1
    assert "5544" in asked["injected"]
    assert 0 < found["relevant_lines"] <= found["lines"]


def test_an_entry_has_the_lines_that_continue_it() -> None:
    """The frame of a block is no entry; a memory of several lines is one."""
    block = "<memotherm-memory>\nMemories:\n- one\n  more\n- two\n[20/2,000 tokens]\n</memotherm-memory>"
    assert entries(block) == ["- one\n  more", "- two"]


@pytest.mark.parametrize("path", sorted(WEEKS.glob("*.json")), ids=lambda path: path.stem)
def test_weeks_are_complete(path: Path) -> None:
    """A week has sessions on several days, and 20 prompts of which 5 need nothing and the others say what they need."""
    week: dict[str, Any] = json.loads(path.read_text("utf-8"))
    turns = [turn for session in week["sessions"] for turn in session["turns"]]
    kinds = Counter(
        next((kind for kind in ("needs_nothing", "unanswerable", "answer") if question.get(kind)), "none")
        for question in week["questions"]
    )
    said = " ".join(text for turn in turns for text in (turn["prompt"], turn["reply"]))
    assert len({session["day"] for session in week["sessions"]}) >= 4
    assert 35 <= len(turns) <= 50
    assert 0.4 <= sum(turn.get("filler", False) for turn in turns) / len(turns) <= 0.6
    assert kinds.total() == 20
    assert kinds["needs_nothing"] == 5
    assert not kinds["none"]
    for question in week["questions"]:
        texts = [*question.get("answer", []), *question.get("relevant", []), *question.get("old", [])]
        assert [text for text in texts if not has(said, [text])] == []
