"""`python -m bench.sentences [--unseen]`: how many labelled turns are understood, each captured into a new project."""

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


def main(words: Sequence[str] | None = None) -> int:
    """Print how many turns of each kind are understood, and those of the development half that are not."""
    parser = argparse.ArgumentParser(prog="python -m bench.sentences", description="Capture labelled turns.")
    parser.add_argument("--unseen", action="store_true", help="the half that is kept apart; only counts are shown")
    unseen = parser.parse_args(words).unseen
    right, missed = Counter[str](), defaultdict[str, list[str]](list)
    with tempfile.TemporaryDirectory() as folder, memotherm.open(f"{folder}/turns.db") as mem:
        for number, turn in enumerate(_turns(unseen=unseen)):
            what, understood = _captured(mem.scoped(project=f"p{number}").by("person"), turn)
            right[what] += understood
            missed[what] += [] if understood else [f"{turn['language']}: {turn['text']}"]
    for what in sorted(missed):
        print(f"{what}: {right[what]}/{right[what] + len(missed[what])}")
        for text in () if unseen else missed[what]:
            print(f"    {text}")
    return 0


def _turns(*, unseen: bool) -> Iterator[Mapping[str, Any]]:
    for path in sorted(_FOLDER.glob("*unseen.jsonl" if unseen else "*development.jsonl")):
        yield from map(json.loads, path.read_text("utf-8").splitlines())


def _captured(mem: Memotherm, turn: Mapping[str, Any]) -> tuple[str, bool]:
    """Capture a turn after what was said before; return what it shows, and whether it was understood."""
    opened = [turn["open"]] if isinstance(turn.get("open"), str) else turn.get("open", [])
    for task in opened:
        mem.remember(task, kind="task")
    old = mem.capture(turn["said"]).memory if turn.get("said") else None
    found = mem.capture(turn["text"]).memory
    kind = "" if found is None else found.kind
    if opened:
        ends = (opened[0] if turn["done"] else None) if "done" in turn else turn["ends"]
        left = {task.content for task in mem.tasks()}
        closed = [task for task in opened if task not in left]
        return ("tasks closed", ends in closed) if ends else ("tasks left open", not closed)
    if "rule" in turn:
        return "rules", kind in ("rule", "preference")
    if "task" in turn:
        return "tasks", kind == "task"
    if str(turn.get("trap")).startswith("no "):
        what = turn["trap"].removeprefix("no ")
        return f"not taken for a {what}", kind != what
    changed = old is not None and (now := mem.get(old.id)) != old and now.metadata != old.metadata
    return ("corrections", changed) if "corrects" in turn else ("not taken for a correction", not changed)


if __name__ == "__main__":
    sys.exit(main())
