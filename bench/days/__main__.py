"""`python -m bench.days [--unseen] [--week NAME] [--json] [--write]`: what weeks of work inject, store and keep hot."""

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

from rich.console import Console
from rich.table import Table

from bench import report
from bench.days.counts import WAYS, summary
from bench.days.host import hold
from bench.report import Row

WEEKS = Path(__file__).parent / "weeks"
#: Weeks that nobody reads while rules are tuned.
UNSEEN = Path(__file__).parent / "unseen"
#: The lists of a week that quote it.
_QUOTES = ("unanswered", "old_value_first", "not_current", "not_kept", "not_silent", "rules_missed",
           "others_at_start", "tasks_not_closed")  # fmt: skip
#: Shares: numerator and denominator in a summary, the target, and whether more is better.
_SHARES: dict[str, tuple[str, str, float, bool]] = {
    "answered": ("answered", "answerable", 0.95, True),
    "precision": ("relevant_lines", "lines", 0.50, True),
    "precision_by_tokens": ("relevant_tokens", "line_tokens", 0.50, True),
    "old_first": ("old_first", "changed", 0.10, False),
    "silent": ("silent", "need_nothing", 0.80, True),
    "filler_stored": ("filler_stored", "filler", 0.10, False),
    **{f"first_by_{way}": (f"first_{way}", "corrected", 0.90, True) for way in WAYS},
    **{f"current_by_{way}": (f"current_{way}", "corrected", 0.90, True) for way in WAYS},
    **{f"kept_by_{way}": (f"kept_{way}", "beside", 0.90, True) for way in WAYS},
    "terminals": ("terminal_answered", "terminal_asked", 0.90, True),
    "rules_at_start": ("rules_shown", "rules_due", 0.95, True),
    "rules_elsewhere": ("rules_shown_elsewhere", "rules_elsewhere", 0.0, False),
    "others_at_start": ("other_lines_at_start", "lines_at_start", 0.10, False),
    "profile_at_start": ("profiles_shown", "profiles_due", 0.95, True),
    "tasks_closed": ("tasks_closed", "tasks_finished", 0.80, True),
    "tasks_wrongly_closed": ("tasks_wrongly_closed", "tasks_given", 0.0, False),
    "open_tasks_shown": ("tasks_shown", "tasks_open", 0.90, True),
    **{f"{kind}_answered": (f"{kind}_answered", f"{kind}_asked", 0.95, True)
       for kind in ("profile", "rules", "tasks", "time")},
}  # fmt: skip
#: Means: sum and number in a summary, and the target.
_MEANS = {
    "tokens_per_prompt": ("tokens", "prompts", 300),
    "tokens_at_start": ("start_tokens", "starts", 300),
}
_MOST_AT_START = 600


def main(words: Sequence[str] | None = None) -> int:
    """Hold the weeks, each in a process of its own, print the table, and write the results if asked to."""
    arguments = _parser().parse_args(words)
    folder = UNSEEN if arguments.unseen else WEEKS
    if arguments.week and arguments.json and not arguments.write:
        print(json.dumps(_held(_path(arguments.week, folder)), indent=2, ensure_ascii=False))
        return 0
    paths = [_path(arguments.week, folder)] if arguments.week else sorted(folder.glob("*.json"))
    weeks = {path.stem: _in_process(path) for path in paths}
    for found in weeks.values():
        for name in ("questions", *(_QUOTES if arguments.unseen else ())):
            found.pop(name, None)
    suite = "days_unseen" if arguments.unseen else "days"
    results = report.record(suite, rows(weeks.values()))
    results["weeks"] = weeks
    if arguments.json:
        print(json.dumps(results, indent=2, ensure_ascii=False))
    else:
        print_weeks(weeks)
    if arguments.write:
        print(f"written to {report.write(suite, results)}", file=sys.stderr)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.days", description="Hold weeks of work through the hooks.")
    parser.add_argument("--unseen", action="store_true", help="the weeks that are kept apart; only counts are shown")
    parser.add_argument("--week", metavar="NAME", help="one week: its name, or the path of a JSON file")
    parser.add_argument(
        "--json", action="store_true", help="print JSON; for one week also what was injected for each question"
    )
    parser.add_argument("--write", action="store_true", help="write bench/results/days.json or days_unseen.json")
    return parser


def _path(name: str, folder: Path) -> Path:
    return Path(name) if name.endswith(".json") else folder / f"{name}.json"


def _in_process(path: Path) -> dict[str, Any]:
    """Hold a week in a new process, because the clock, the working folder and the environment belong to a process."""
    command = [sys.executable, "-m", "bench.days", "--week", str(path), "--json"]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return found


def _held(path: Path) -> dict[str, Any]:
    week = json.loads(path.read_text("utf-8"))
    with tempfile.TemporaryDirectory(prefix="memotherm-days-", ignore_cleanup_errors=True) as home:
        return summary(week, hold(week, Path(home)))


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
        if total[whole]
    ]  # fmt: skip
    found += [
        Row(key=key, what=key.replace("_", " "), value=round(_ratio(total, part, whole), 1), unit="", target=target)
        for key, (part, whole, target) in _MEANS.items()
    ]
    most = max(week["most_start_tokens"] for week in weeks)
    return [*found, Row(key="most_at_start", what="most tokens at a start", value=most, unit="", target=_MOST_AT_START)]


def _ratio(counts: Mapping[str, Any], part: str, whole: str) -> float:
    """Return a share; 0 if there is nothing to count, as of rules in a week that names none."""
    return float(counts[part] / counts[whole]) if counts.get(whole) else 0.0


def print_weeks(weeks: Mapping[str, Mapping[str, Any]]) -> None:
    """Print one table of all weeks, what is hot at their ends, and the measures over all weeks."""
    table = Table(title="Weeks of work", title_justify="left")
    columns = ("week", "answered", "precision", "by tokens", "lines", "tokens", "old first", "silent", "filler stored",
               "memories", "at start", "most", "hot")  # fmt: skip
    for name in columns:
        table.add_column(name, justify="left" if name == "week" else "right")
    for name, week in weeks.items():
        table.add_row(name, *cells(week))
    console = Console(width=max(170, Console().width))
    console.print(table)
    console.print(_corrections(weeks))
    for name, week in weeks.items():
        most, after = week["hot_most"], ", ".join(map(str, week["hot_after_sessions"]))
        rules = "".join(f", {count} by {rule}" for rule, count in most["rules"].items())
        console.print(f"{name}: hot after each session: {after}; of the most, {most['filler']} filler{rules}")
    report.print_rows(f"All {len(weeks)} weeks", rows(weeks.values()))


def _corrections(weeks: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return a table of what became of corrections, rules and tasks in the weeks that have them."""
    table = Table(title="Corrections, rules and tasks", title_justify="left")
    pairs = {
        **{f"current, {way}": (f"current_{way}", "corrected") for way in WAYS},
        **{f"kept, {way}": (f"kept_{way}", "beside") for way in WAYS},
        "rules": ("rules_shown", "rules_due"),
        "others": ("other_lines_at_start", "lines_at_start"),
        "tasks closed": ("tasks_closed", "tasks_finished"),
        "wrongly": ("tasks_wrongly_closed", "tasks_given"),
        "open shown": ("tasks_shown", "tasks_open"),
    }
    for name in ("week", "corrections", *pairs):
        table.add_column(name, justify="left" if name == "week" else "right", no_wrap=name == "week")
    for name, week in weeks.items():
        if week["corrections"]:
            counted = (f"{week[part]}/{week[whole]}" for part, whole in pairs.values())
            table.add_row(name, str(week["corrections"]), *counted)
    return table


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
