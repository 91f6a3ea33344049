"""`python -m bench.sentences [--unseen | --counts] [--set NAME]`: how many labelled turns are understood.

Each is captured into a project of its own.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import memotherm
from memotherm import Memotherm

_FOLDER = Path(__file__).parent
#: The sets of turns; each has a half for development and one that is kept apart.
_SETS = ("", "daily", "tasks", "people", "rules")
_HALVES = ("development", "unseen")


def main(words: Sequence[str] | None = None) -> int:
    """Print how many turns of each kind are understood, and those of the development half that are not."""
    parser = argparse.ArgumentParser(prog="python -m bench.sentences", description="Capture labelled turns.")
    halves = parser.add_mutually_exclusive_group()
    halves.add_argument("--unseen", action="store_true", help="the half that is kept apart; only counts are shown")
    halves.add_argument("--counts", action="store_true", help="the counts of both halves, and no turns")
    parser.add_argument("--set", choices=_SETS, help="one set; without a name, the first")
    arguments = parser.parse_args(words)
    wanted = _HALVES if arguments.counts else ("unseen",) if arguments.unseen else ("development",)
    sets = _SETS if arguments.set is None else (arguments.set,)
    counts, missed = defaultdict[str, Counter[str]](Counter), defaultdict[str, list[str]](list)
    for half in wanted:
        for what, understood, turn in _judged(_turns(sets, half)):
            counts[what][half] += 1
            counts[what][f"{half}, right"] += understood
            missed[what] += [] if understood else [f"{turn['language']}: {turn['text']}"]
    for what in sorted(counts):
        shares = (f"{counts[what][f'{half}, right']}/{counts[what][half]}" for half in wanted)
        print(f"{what}: {' and '.join(shares)}")
        for text in missed[what] if wanted == ("development",) else ():
            print(f"    {text}")
    return 0


def _turns(sets: Sequence[str], half: str) -> Iterator[Mapping[str, Any]]:
    for name in sets:
        path = _FOLDER / f"{name}{'_' * bool(name)}{half}.jsonl"
        yield from map(json.loads, path.read_text("utf-8").splitlines())


def _judged(turns: Iterator[Mapping[str, Any]]) -> Iterator[tuple[str, bool, Mapping[str, Any]]]:
    """Capture each turn into a new project; yield what it shows, whether that was understood, and the turn."""
    with tempfile.TemporaryDirectory() as folder, memotherm.open(f"{folder}/turns.db") as mem:
        for number, turn in enumerate(turns):
            user = mem.scoped(user=f"u{number}").by("person")
            yield from ((what, understood, turn) for what, understood in _captured(user, turn))


def _captured(user: Memotherm, turn: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """Capture a turn after what was said before; yield what it shows, and whether it was understood."""
    mem = user.scoped(project="here")
    opened = [turn["open"]] if isinstance(turn.get("open"), str) else turn.get("open", [])
    for task in opened:
        mem.remember(task, kind="task")
    old = mem.capture(turn["said"]).memory if turn.get("said") else None
    by_agent = turn.get("by") == "agent"
    said = mem.by("agent") if by_agent else mem
    found = said.capture(turn["text"], metadata={"role": "assistant"} if by_agent else None).memory
    kind = "" if found is None else found.kind
    if opened:
        ends = (opened[0] if turn["done"] else None) if "done" in turn else turn["ends"]
        left = {task.content for task in mem.tasks()}
        closed = [task for task in opened if task not in left]
        who = " by the agent" * by_agent
        if ends:
            yield f"tasks closed{who}", ends in closed
        # Beside the task that a turn ends, it may close another one.
        yield f"no other task closed{who}", not set(closed) - {ends}
    elif "rule" in turn:
        is_rule = kind in ("rule", "preference")
        yield "rules", is_rule
        if is_rule and turn["rule"] and found is not None:
            yield "scopes of rules", (found.scope.project is None) == (turn["rule"] == "everywhere")
    elif "task" in turn:
        yield "tasks", kind == "task"
    elif "profile" in turn or turn.get("trap") == "no profile":
        elsewhere = user.scoped(project="elsewhere").session("new").session_start().text
        shown = turn["text"] in elsewhere
        yield ("profile", shown) if "profile" in turn else ("not taken for a profile or a rule", not shown)
        if "trap" in turn:
            yield "not taken for a profile or a rule", kind != "rule"
    elif str(turn.get("trap")).startswith("no "):
        what = turn["trap"].removeprefix("no ")
        yield f"not taken for a {what}", kind != what
    else:
        changed = old is not None and (now := mem.get(old.id)) != old and now.metadata != old.metadata
        yield ("corrections", changed) if "corrects" in turn else ("not taken for a correction", not changed)


if __name__ == "__main__":
    sys.exit(main())
