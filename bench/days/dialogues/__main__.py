"""`python -m bench.days.dialogues [--unseen] [--language LANGUAGE]`: what becomes of statements that are corrected.

The dialogues of each language are held as one week in one project, in a process of their own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.days.counts import WAYS, summary
from bench.days.host import Week, hold
from memotherm.model.marks import doubtful_parts, outdated_sentences

_FOLDER = Path(__file__).parent
#: Languages with few dialogues share a project.
_LEAST = 8
#: How many dialogues one session of work has.
_IN_SESSION = 5
Dialogue = Mapping[str, Any]


def main(words: Sequence[str] | None = None) -> int:
    """Hold the dialogues and print the counts; those of one language in this process, as JSON."""
    arguments = _parser().parse_args(words)
    name = "unseen" if arguments.unseen else "development"
    dialogues = [json.loads(line) for line in (_FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()]
    groups = _groups(dialogues)
    if arguments.language:
        found = _held(groups[arguments.language])
        for each in () if arguments.unseen else found["failed"]:
            print(each, file=sys.stderr)
        print(json.dumps(found["counts"], indent=2))
        return 0
    total = Counter[str]()
    for language in groups:
        counts = _in_process(language, unseen=arguments.unseen)
        total.update(counts)
        print(f"{language}: {_line(counts)}", flush=True)
    print(f"all: {_line(total)}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.days.dialogues", description="Hold dialogues with a change.")
    parser.add_argument("--unseen", action="store_true", help="the half that is kept apart; only counts are shown")
    parser.add_argument("--language", help="only one language, or `others` for those with few dialogues")
    return parser


def dialogue_weeks(dialogues: Iterable[Dialogue]) -> list[Week]:
    """Return dialogues as weeks; the turn that corrects a statement is labelled with its question."""
    return [_week(each) for each in _groups(dialogues).values()]


def _groups(dialogues: Iterable[Dialogue]) -> dict[str, list[Dialogue]]:
    found: dict[str, list[Dialogue]] = {}
    for dialogue in dialogues:
        found.setdefault(dialogue["language"], []).append(dialogue)
    few = [language for language, each in found.items() if len(each) < _LEAST // 2]
    others = [dialogue for language in few for dialogue in found.pop(language)]
    return {**found, "others": others} if others else found


def _in_process(language: str, *, unseen: bool) -> Counter[str]:
    """Hold the dialogues of a language in a new process, because the clock belongs to a process."""
    options = ["--unseen"] if unseen else []
    command = [sys.executable, "-m", "bench.days.dialogues", "--language", language, *options]
    return Counter(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))


def _week(dialogues: Sequence[Dialogue]) -> Week:
    """Return a week in which all statements come first, then what corrects them, and the questions at the end."""
    sessions = [
        {"day": day, "hour": 9 + number, "folder": "project", "turns": turns}
        for day, part in ((1, "said"), (3, "then"), (5, "later"))
        for number, turns in enumerate(_turns(dialogues, part))
    ]
    questions = [
        {"prompt": each["question"], "answer": each["answer"], "topic": each["question"],
         **{name: each[name] for name in ("old", "wrong") if name in each}}
        for each in dialogues
    ]  # fmt: skip
    return {"language": "mixed", "about": "dialogues", "begins": "2026-03-02", "sessions": sessions,
            "questions": questions}  # fmt: skip


def _turns(dialogues: Sequence[Dialogue], part: str) -> Iterable[list[dict[str, str]]]:
    """Yield the turns of each session."""
    said = [each for each in dialogues if part in each]
    for first in range(0, len(said), _IN_SESSION):
        turns: list[dict[str, str]] = []
        for each in said[first : first + _IN_SESSION]:
            turns += ({"prompt": prompt, "reply": reply} for prompt, reply in each[part])
            if part != "said" and "trap" not in each:
                turns[-1]["corrects"] = each["question"]
        yield turns


def _held(dialogues: Sequence[Dialogue]) -> dict[str, Any]:
    week = _week(dialogues)
    with tempfile.TemporaryDirectory(prefix="memotherm-dialogues-", ignore_cleanup_errors=True) as home:
        held = hold(week, Path(home))
    questions = summary(week, held)["questions"]
    counts, failed = Counter[str](), list[str]()
    for dialogue, question in zip(dialogues, questions, strict=True):
        stated = {prompt for prompt, _ in dialogue["said"]}
        marked = any(
            memory.valid_until or outdated_sentences(memory) or doubtful_parts(memory)
            for memory in held.memories
            if memory.content.partition("\n")[0] in stated
        )
        trap = "trap" in dialogue
        counts.update({"beside": trap, "corrected": not trap, "marked": marked and not trap, "wrong": marked and trap})
        names = [f"{'kept' if trap else 'current'}_{way}" for way in WAYS]
        counts.update({name: bool(question[name]) for name in names})
        if not all(question[name] for name in names) or marked is trap:
            shown = {key: question[key] for key in (*names, "injected", "recall")}
            failed.append(json.dumps({**dialogue, "marked": marked, **shown}, ensure_ascii=False))
    return {"counts": dict(counts), "failed": failed}


def _line(counts: Mapping[str, int]) -> str:
    current = ", ".join(f"{way} {counts.get(f'current_{way}', 0)}" for way in WAYS)
    kept = ", ".join(f"{way} {counts.get(f'kept_{way}', 0)}" for way in WAYS)
    return (
        f"of {counts['corrected']} corrected, {counts['marked']} marked, current by {current};"
        f" of {counts['beside']} others, {counts['wrong']} marked, kept by {kept}"
    )


if __name__ == "__main__":
    sys.exit(main())
