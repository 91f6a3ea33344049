"""Tasks, their ends and rules in the words of daily life, counted over labelled turns."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memotherm.statements.endings import ended
from memotherm.statements.kinds import classified

Turn = dict[str, Any]
_FILE = Path(__file__).parents[1] / "bench" / "sentences" / "daily_development.jsonl"
TURNS: list[Turn] = [json.loads(line) for line in _FILE.read_text("utf-8").splitlines()]


def _is_task(turn: Turn) -> bool:
    return classified(turn["text"]).name == "task"


def _is_rule(turn: Turn) -> bool:
    # What a person always does or prefers is a preference.
    return classified(turn["text"]).name in (("rule", "preference") if "rule" in turn else ("rule",))


def _closes(turn: Turn) -> bool:
    return [turn["open"][each.place] for each in ended(turn["text"], lambda: turn["open"])] == [turn["ends"]]


@pytest.mark.parametrize(
    ("name", "holds", "least"),
    [("task", _is_task, 0.9), ("rule", _is_rule, 0.9), ("ends", _closes, 0.8)],
)
def test_most_turns_of_daily_life_are_understood(name: str, holds: Callable[[Turn], bool], least: float) -> None:
    """The share that is understood does not fall."""
    turns = [turn for turn in TURNS if turn.get(name)]
    assert sum(map(holds, turns)) >= least * len(turns)


@pytest.mark.parametrize(("trap", "holds"), [("no task", _is_task), ("no rule", _is_rule)])
def test_other_turns_are_no_tasks_and_no_rules(trap: str, holds: Callable[[Turn], bool]) -> None:
    """Such as "I have to say, that looks great" and "it never works"; one in fifty may be taken for one."""
    turns = [turn for turn in TURNS if turn.get("trap") == trap]
    assert sum(map(holds, turns)) <= len(turns) / 50


def test_no_task_is_closed_by_what_reports_no_end() -> None:
    """By no other turn, and by one in fifty of those about tasks that are not done."""
    tasks = [task for turn in TURNS for task in turn.get("open", ())]
    opened = list(dict.fromkeys((*tasks, *(turn["text"] for turn in TURNS if turn.get("task")))))
    others = [turn["text"] for turn in TURNS if "open" not in turn]
    assert [text for text in others if list(ended(text, lambda: opened))] == []
    undone = [turn for turn in TURNS if "open" in turn and turn["ends"] is None]
    closing = [turn["text"] for turn in undone if list(ended(turn["text"], lambda: turn["open"]))]  # noqa: B023
    assert len(closing) <= len(undone) / 50, closing
