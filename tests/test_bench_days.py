"""The scripted weeks of work: `python -m bench.days`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from bench.days.__main__ import UNSEEN, WEEKS, print_weeks
from bench.days.lines import Line, entries, has, hit_line, injected_lines, is_marked, standing

from tests.helpers import ROOT

ALL = sorted([*WEEKS.glob("*.json"), *UNSEEN.glob("*.json")])
#: The weeks with labelled corrections, rules and tasks.
CORRECTED = [path for path in ALL if '"corrects"' in path.read_text("utf-8")]
TINY: dict[str, Any] = {
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


@pytest.mark.slow
def test_a_week_is_held_through_the_hooks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two sessions and a question: what was said is stored and injected, counted and printed."""
    path = tmp_path / "tiny.json"
    path.write_text(json.dumps(TINY), "utf-8")
    found = _held(path)
    (asked,) = found["questions"]
    assert (found["turns"], found["filler"], found["starts"], found["prompts"]) == (4, 2, 2, 1)
    assert found["memories"] > 0
    assert len(found["hot_after_sessions"]) == 2
    assert found["answered"] == found["answerable"] == 1
    assert "5544" in asked["injected"]
    assert any("5544" in content for content in asked["recall"])
    assert asked["mcp"] == asked["recall"]
    assert 0 < found["relevant_lines"] <= found["lines"]
    print_weeks({"tiny": found})
    assert "tiny" in capsys.readouterr().out


def _held(path: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.days", "--week", str(path), "--json"]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.PIPE).stdout)
    return found


def test_an_entry_has_the_lines_that_continue_it() -> None:
    """The frame of a block is no entry; a memory of several lines is one."""
    block = "<memotherm-memory>\nMemories:\n- one\n  more\n- two\n[20/2,000 tokens]\n</memotherm-memory>"
    assert entries(block) == ["- one\n  more", "- two"]


@pytest.mark.parametrize("path", ALL, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_weeks_are_complete(path: Path) -> None:
    """A week has sessions on several days; its questions say what they need, in words that were said."""
    week: dict[str, Any] = json.loads(path.read_text("utf-8"))
    turns = [turn for session in week["sessions"] for turn in session["turns"]]
    kinds = Counter(
        next((kind for kind in ("needs_nothing", "unanswerable", "answer") if question.get(kind)), "none")
        for question in week["questions"]
    )
    said = " ".join(text for turn in turns for text in (turn["prompt"], turn["reply"]))
    assert len({session["day"] for session in week["sessions"]}) >= 4
    assert 20 <= len(turns) <= 65
    assert 0.1 <= sum(turn.get("filler", False) for turn in turns) / len(turns) <= 0.6
    assert kinds["needs_nothing"] >= 2
    assert not kinds["none"]
    assert not is_marked(said)
    for question in week["questions"]:
        texts = [text for name in ("answer", "relevant", "old", "wrong") for text in question.get(name, [])]
        assert [text for text in texts if not has(said, [text])] == []


@pytest.mark.parametrize("path", CORRECTED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_corrected_topic_has_a_question_and_a_rule_and_a_task_are_said(path: Path) -> None:
    """A label of a turn has its counterpart: a question with old values, a rule or a task with its words."""
    week: dict[str, Any] = json.loads(path.read_text("utf-8"))
    turns = [turn for session in week["sessions"] for turn in session["turns"]]
    asked = {question["topic"] for question in week["questions"] if question.get("old")}
    beside = {question["topic"] for question in week["questions"] if question.get("wrong")}
    assert {turn["corrects"] for turn in turns if "corrects" in turn} == asked
    assert {turn["trap"] for turn in turns if "trap" in turn} == beside
    for label, declared in (("rule", week["rules"]), ("task", week["tasks"])):
        given = {turn[label]: f"{turn['prompt']} {turn['reply']}" for turn in turns if label in turn}
        assert given.keys() == declared.keys()
        assert [name for name, said in given.items() if not has(said, declared[name]["has"])] == []
    assert {turn["done"] for turn in turns if "done" in turn} < week["tasks"].keys()
    assert {turn["ends"] for turn in turns if "ends" in turn} < week["rules"].keys()


def test_the_weeks_have_120_corrections_in_six_languages() -> None:
    """About half of them are English, and both halves have every language."""
    found: Counter[tuple[str, str]] = Counter()
    for path in CORRECTED:
        week = json.loads(path.read_text("utf-8"))
        turns = [turn for session in week["sessions"] for turn in session["turns"]]
        found[path.parent.name, week["language"]] += sum("corrects" in turn for turn in turns)
    english = sum(count for (_, language), count in found.items() if language == "en")
    languages = {"en", "de", "es", "fr", "zh", "pt"}
    assert found.keys() == {(half.name, language) for half in (WEEKS, UNSEEN) for language in languages}
    assert found.total() >= 120
    assert 0.4 <= english / found.total() <= 0.6


@pytest.mark.parametrize("name", ["development", "unseen"])
def test_sentences_are_labelled(name: str) -> None:
    """Each of the 100 turns of a half has one label, and a correction has the old value and the new one."""
    lines = (ROOT / "bench" / "sentences" / f"{name}.jsonl").read_text("utf-8").splitlines()
    turns = [json.loads(line) for line in lines]
    assert len(turns) == 100
    for turn in turns:
        assert turn["text"]
        assert len({"corrects", "trap", "rule", "done"} & turn.keys()) == 1
        if "corrects" in turn:
            assert has(turn["said"], [turn["corrects"]])
            assert has(turn["text"], [turn["now"]])


def test_the_current_value_counts_if_the_old_one_is_absent_or_marked() -> None:
    """An old value before the current one, or after it without a mark, does not."""
    new, old = Line(text="port 5434", marked=False), Line(text="port 5433", marked=False)
    marked = Line(text="port 5433", marked=True)
    both = Line(text="moved from port 5433 to port 5434", marked=False)
    found = {
        name: standing(lines, ["5434"], ["5433"])
        for name, lines in {
            "absent": [new], "marked": [new, marked], "change": [both], "unmarked": [new, old], "before": [old, new],
            "marked before": [marked, new], "missing": [marked],
        }.items()
    }  # fmt: skip
    assert {name for name, each in found.items() if each.first} == {"absent", "marked", "change", "unmarked"}
    assert {name for name, each in found.items() if each.current} == {"absent", "marked", "change"}


def test_a_mark_is_read_from_an_injected_line_and_from_the_fields_of_a_hit() -> None:
    """The words "until Friday" alone are no mark, and neither is a time of validity that has not passed."""
    block = "- 2026-04-14, user: due until Friday\n- user: said 5433 until 13 November\n- 5432 (perhaps outdated)\n"
    block += "- hook: Session of 2026-04-14\n  Said: the report is due until Friday"
    assert [line.marked for line in injected_lines(block)] == [False, True, True, False]
    assert not has(injected_lines(block)[0].text, ["14"])
    now = datetime(2026, 4, 14, tzinfo=UTC)
    hits = [
        {"content": "due until Friday", "valid_until": None},
        {"content": "port 5433", "valid_until": "2026-04-13T00:00:00+00:00"},
        {"content": "port 5433", "valid_until": "2026-04-15T00:00:00+00:00"},
        {"content": "port 5433", "note": "perhaps outdated"},
    ]
    assert [hit_line(hit, now).marked for hit in hits] == [False, True, False, True]


@pytest.mark.slow
def test_sessions_that_overlap_take_turns(tmp_path: Path) -> None:
    """A question in the middle of a session is asked then; rules, tasks and other lines of the starts are counted."""
    rule = {"prompt": "never deploy on a Friday", "reply": "Understood.", "rule": "friday"}
    task = {"prompt": "I have to send the VAT report by Monday", "reply": "Noted.", "task": "vat"}
    first, second = TINY["sessions"]
    week = {
        **TINY,
        "profile": ["Ada"],
        "rules": {"friday": {"has": ["deploy on a Friday"]}},
        "tasks": {"vat": {"has": ["VAT report"]}},
        "sessions": [{**first, "turns": [rule, task, *first["turns"]]}, {**second, "day": 1, "hour": 9.1}],
        "questions": [{"prompt": "What port is the staging database on?", "answer": ["5544"], "old": ["5433"],
                       "day": 1, "hour": 9.2, "topic": "port", "terminal": True}],
    }  # fmt: skip
    path = tmp_path / "overlapping.json"
    path.write_text(json.dumps(week), "utf-8")
    found = _held(path)
    assert (found["starts"], found["terminal_asked"], found["corrected"]) == (2, 1, 1)
    assert (found["rules_due"], found["tasks_open"], found["tasks_given"]) == (0, 0, 1)
    assert found["questions"][0]["recall"] == found["questions"][0]["mcp"]
