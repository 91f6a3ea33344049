"""`python -m bench.days [--week NAME] [--json] [--write]`: what a week of work injects, stores and keeps hot."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench import report
from bench.days.host import Asked, Held, Week, hold
from bench.report import Row
from memotherm.text.tokens import count_tokens

WEEKS = Path(__file__).parent / "weeks"
#: Shares: numerator and denominator in a summary, the target, and whether more is better.
_SHARES = {
    "answered": ("answered", "answerable", 0.95, True),
    "precision": ("relevant_lines", "lines", 0.40, True),
    "precision_by_tokens": ("relevant_tokens", "line_tokens", 0.40, True),
    "old_first": ("old_first", "changed", 0.10, False),
    "silent": ("silent", "need_nothing", 0.80, True),
    "filler_stored": ("filler_stored", "filler", 0.10, False),
}
#: Means: sum and number in a summary, and the target.
_MEANS = {
    "tokens_per_prompt": ("tokens", "prompts", 300),
    "tokens_at_start": ("start_tokens", "starts", 300),
}


def main(words: Sequence[str] | None = None) -> int:
    """Hold the weeks, each in a process of its own, print the table, and write the results if asked to."""
    arguments = _parser().parse_args(words)
    if arguments.week and arguments.json and not arguments.write:
        print(json.dumps(_held(arguments.week), indent=2, ensure_ascii=False))
        return 0
    names = [arguments.week] if arguments.week else sorted(path.stem for path in WEEKS.glob("*.json"))
    weeks = {Path(name).stem: _in_process(name) for name in names}
    for found in weeks.values():
        del found["questions"]
    results = report.record("days", rows(weeks.values()))
    results["weeks"] = weeks
    if arguments.json:
        print(json.dumps(results, indent=2, ensure_ascii=False))
    else:
        print_weeks(weeks)
    if arguments.write:
        print(f"written to {report.write('days', results)}", file=sys.stderr)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.days", description="Hold weeks of work through the hooks.")
    parser.add_argument("--week", metavar="NAME", help="one week: its name, or the path of a JSON file")
    parser.add_argument(
        "--json", action="store_true", help="print JSON; for one week also what was injected for each question"
    )
    parser.add_argument("--write", action="store_true", help="write bench/results/days.json")
    return parser


def _in_process(name: str) -> dict[str, Any]:
    """Hold a week in a new process, because the clock, the working folder and the environment belong to a process."""
    command = [sys.executable, "-m", "bench.days", "--week", name, "--json"]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return found


def _held(name: str) -> dict[str, Any]:
    path = Path(name) if name.endswith(".json") else WEEKS / f"{name}.json"
    week = json.loads(path.read_text("utf-8"))
    with tempfile.TemporaryDirectory(prefix="memotherm-days-", ignore_cleanup_errors=True) as home:
        return summary(week, hold(week, Path(home)))


# Counting


def summary(week: Week, held: Held) -> dict[str, Any]:
    """Return the counts of a week, the prompts that went wrong, and each question with what was injected for it."""
    questions = [_judged(asked) for asked in held.asked]
    answerable = [each for each in questions if each["answered"] is not None]
    changed = [each for each in questions if each["old_first"] is not None]
    idle = [each for each in questions if each["needs_nothing"]]
    filler = [turn for session in week["sessions"] for turn in session["turns"] if turn.get("filler")]
    contents = [memory.content for memory in held.memories]
    start_tokens = [count_tokens(text) for text in held.starts]
    return {
        "language": week["language"],
        "about": week["about"],
        "prompts": len(questions),
        "answerable": len(answerable),
        "answered": sum(each["answered"] for each in answerable),
        "lines": sum(each["lines"] for each in questions),
        "relevant_lines": sum(each["relevant_lines"] for each in questions),
        "line_tokens": sum(each["line_tokens"] for each in questions),
        "relevant_tokens": sum(each["relevant_tokens"] for each in questions),
        "tokens": sum(each["tokens"] for each in questions),
        "changed": len(changed),
        "old_first": sum(each["old_first"] for each in changed),
        "need_nothing": len(idle),
        "silent": sum(not each["injected"] for each in idle),
        "turns": sum(len(session["turns"]) for session in week["sessions"]),
        "filler": len(filler),
        "filler_stored": sum(_is_stored(turn, contents) for turn in filler),
        "memories": len(held.memories),
        "starts": len(held.starts),
        "start_tokens": sum(start_tokens),
        "most_start_tokens": max(start_tokens),
        "last_start_tokens": count_tokens(held.asked[-1].start) if held.asked else start_tokens[-1],
        "hot_after_sessions": [len(hot) for hot in held.hot],
        "hot": _hot(held.hot[-1], filler),
        "hot_most": _hot(max(held.hot, key=len), filler),
        "unanswered": [each["prompt"] for each in answerable if not each["answered"]],
        "old_value_first": [each["prompt"] for each in changed if each["old_first"]],
        "not_silent": [each["prompt"] for each in idle if each["injected"]],
        "questions": questions,
    }


def _hot(hot: Sequence[tuple[str, str]], filler: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return how many memories are hot, how many of them are filler, and which rules made them hot."""
    stored = (any(_is_stored(turn, [content]) for turn in filler) for content, _ in hot)
    return {
        "memories": len(hot), "filler": sum(stored), "rules": dict(Counter(rule for _, rule in hot).most_common()),
    }  # fmt: skip


def _judged(asked: Asked) -> dict[str, Any]:
    """Return what a question got; an answer counts wherever it was injected, lines and tokens only with the prompt."""
    question = asked.question
    answer, old = question.get("answer", []), question.get("old", [])
    shown, lines = entries(asked.start), entries(asked.prompt)
    relevant = [line for line in lines if has(line, [*answer, *question.get("relevant", [])])]
    first_answer = _first([*shown, *lines], answer)
    first_old = _first([*shown, *lines], old)
    return {
        "prompt": question["prompt"],
        "needs_nothing": bool(question.get("needs_nothing")),
        "answered": first_answer is not None if answer else None,
        "old_first": (first_old is not None and (first_answer is None or first_old < first_answer)) if old else None,
        "lines": len(lines),
        "relevant_lines": len(relevant),
        "line_tokens": sum(map(count_tokens, lines)),
        "relevant_tokens": sum(map(count_tokens, relevant)),
        "tokens": count_tokens(asked.prompt) if asked.prompt else 0,
        "start": asked.start,
        "injected": asked.prompt,
    }


def entries(block: str) -> list[str]:
    """Return the entries of an injected block: the lines that begin with "- ", with the indented ones that follow."""
    found: list[str] = []
    for line in block.splitlines():
        if line.startswith("- "):
            found.append(line)
        elif found and line.startswith("  "):
            found[-1] += f"\n{line}"
    return found


def _first(lines: Sequence[str], texts: Iterable[str]) -> int | None:
    texts = list(texts)
    return next((number for number, line in enumerate(lines) if has(line, texts)), None)


def has(line: str, texts: Iterable[str]) -> bool:
    """Return whether a line has one of the texts, from the start of a word; a number is not part of a longer one."""
    plain = _plain(line)
    return any(re.search(rf"(?<![0-9a-z]){each}(?!\d)", plain) for each in map(re.escape, map(_plain, texts)))


def _is_stored(turn: Mapping[str, Any], contents: Iterable[str]) -> bool:
    """Return whether one of the contents has the prompt or the reply of a turn, as whole sentences."""
    texts = [_sentences(turn["prompt"]), _sentences(turn["reply"])]
    return any(text in content for content in map(_sentences, contents) for text in texts)


def _sentences(text: str) -> str:
    """Return the sentences of a text between bars, so that those of another text are found only whole."""
    parts = (_plain(part) for part in re.split(r"[\n.!?¡¿。！？…:;\"“”|→]+|\s[-–—]\s", text))
    return f"|{'|'.join(filter(None, parts))}|"


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


# Results


def rows(weeks: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Return the measures over all weeks, with their targets."""
    total: Counter[str] = Counter()
    weeks = list(weeks)
    for week in weeks:
        total.update({key: value for key, value in week.items() if isinstance(value, int)})
    found = [
        Row(key=key, what=key.replace("_", " "), value=round(_ratio(total, part, whole), 4), unit="",
            target=target, rising=rising, notes={part: total[part], whole: total[whole]})
        for key, (part, whole, target, rising) in _SHARES.items()
    ]  # fmt: skip
    found += [
        Row(key=key, what=key.replace("_", " "), value=round(_ratio(total, part, whole), 1), unit="", target=target)
        for key, (part, whole, target) in _MEANS.items()
    ]
    most = max(week["most_start_tokens"] for week in weeks)
    return [*found, Row(key="most_at_start", what="most tokens at a start", value=most, unit="", target=300)]


def _ratio(counts: Mapping[str, Any], part: str, whole: str) -> float:
    return counts[part] / counts[whole] if counts[whole] else 0.0


def print_weeks(weeks: Mapping[str, Mapping[str, Any]]) -> None:
    """Print one table of all weeks, what is hot at their ends, and the measures over all weeks."""
    table = Table(title="Weeks of work", title_justify="left")
    columns = ("week", "answered", "precision", "by tokens", "lines", "tokens", "old first", "silent", "filler stored",
               "memories", "at start", "most", "hot")  # fmt: skip
    for name in columns:
        table.add_column(name, justify="left" if name == "week" else "right")
    for name, week in weeks.items():
        table.add_row(name, *cells(week))
    console = Console(width=max(150, Console().width))
    console.print(table)
    for name, week in weeks.items():
        most, after = week["hot_most"], ", ".join(map(str, week["hot_after_sessions"]))
        rules = "".join(f", {count} by {rule}" for rule, count in most["rules"].items())
        console.print(f"{name}: hot after each session: {after}; of the most, {most['filler']} filler{rules}")
    report.print_rows(f"All {len(weeks)} weeks", rows(weeks.values()))


def cells(week: Mapping[str, Any]) -> list[str]:
    """Return the cells of a week in the table, without its name."""
    shares = {key: _ratio(week, part, whole) for key, (part, whole, _, _) in _SHARES.items()}
    means = {key: _ratio(week, part, whole) for key, (part, whole, _) in _MEANS.items()}
    return [
        f"{week['answered']}/{week['answerable']}",
        f"{shares['precision']:.2f}",
        f"{shares['precision_by_tokens']:.2f}",
        f"{_ratio(week, 'lines', 'prompts'):.1f}",
        f"{means['tokens_per_prompt']:.0f}",
        f"{week['old_first']}/{week['changed']}",
        f"{week['silent']}/{week['need_nothing']}",
        f"{week['filler_stored']}/{week['filler']}",
        str(week["memories"]),
        f"{means['tokens_at_start']:.0f}",
        str(week["most_start_tokens"]),
        f"{week['hot_most']['memories']} → {week['hot']['memories']}",
    ]


if __name__ == "__main__":
    sys.exit(main())
