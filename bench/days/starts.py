"""What the starts of sessions show: rules in force, the profile, open tasks, and everything else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from bench.days.host import Held, Start, Week, end_of, folder_of
from bench.days.lines import entries, has, plain

__all__ = ["counts_at_starts"]

#: How the summary of a session begins.
_SUMMARY = "Session of"
_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class _Stated:
    """A rule or task: where and when it was given, and when it ended."""

    name: str
    texts: Sequence[str]
    #: The folder in which it holds; None for all.
    folder: str | None
    begins: datetime
    #: When it was ended or done; a task also when its deadline has passed.
    ends: datetime = _NEVER
    #: The words with which it ended, which are no open task.
    ending: str = ""
    finished: bool = False

    def holds(self, start: Start) -> bool:
        return self.is_of(start) and self.begins <= start.moment < self.ends

    def is_of(self, start: Start) -> bool:
        return self.folder in (None, start.folder)

    def shown(self, lines: Iterable[str]) -> bool:
        return any(self.is_in(line) for line in lines)

    def is_in(self, line: str) -> bool:
        """Return whether a line shows it: not a summary, nor what was said at its end."""
        is_ending = bool(self.ending) and plain(self.ending) in plain(line)
        return has(line, self.texts) and _SUMMARY not in line and not is_ending


def counts_at_starts(week: Week, held: Held) -> dict[str, Any]:
    """Return the counts of rules, tasks and other lines at the starts of a week that names its rules and tasks."""
    if "rules" not in week:
        return {}
    rules, tasks = _stated(week, "rule", "ends"), _stated(week, "task", "done")
    starts = _starts(week, held)
    due = [(rule, start) for start in starts for rule in rules if rule.holds(start)]
    missed = [(rule, start) for rule, start in due if not rule.shown(entries(start.text))]
    given = [(rule, start) for start in starts for rule in rules if rule.begins <= start.moment]
    elsewhere = [(rule, start) for rule, start in given if not rule.is_of(start)]
    open_tasks = [(task, start) for start in starts for task in tasks if task.holds(start)]
    others = [line for start in starts for line in entries(start.text) if _is_other(line, start, week, rules, tasks)]
    finished = [task for task in tasks if task.finished]
    known = min(end_of(week, session) for session in week["sessions"])
    later = [start for start in starts if start.moment >= known]
    return {
        "rules_due": len(due),
        "rules_shown": len(due) - len(missed),
        "rules_missed": sorted({rule.name for rule, _ in missed}),
        "rules_elsewhere": len(elsewhere),
        "rules_shown_elsewhere": sum(rule.shown(entries(start.text)) for rule, start in elsewhere),
        "profiles_due": len(later),
        "profiles_shown": sum(any(has(line, week["profile"]) for line in entries(start.text)) for start in later),
        "lines_at_start": sum(len(entries(start.text)) for start in starts),
        "other_lines_at_start": len(others),
        "others_at_start": others,
        "tasks_open": len(open_tasks),
        "tasks_shown": sum(task.shown(entries(start.text)) for task, start in open_tasks),
        "tasks_finished": len(finished),
        "tasks_closed": sum(_is_closed(task, starts) for task in finished),
        "tasks_given": len(tasks),
        "tasks_wrongly_closed": sum(_is_lost(task, starts) for task in tasks),
        "tasks_not_closed": [task.name for task in finished if not _is_closed(task, starts)],
    }


def _starts(week: Week, held: Held) -> list[Start]:
    """Return the starts that count: of sessions, of questions with a time, and the first of the others in a folder."""
    last: dict[str, Start] = {}
    dated = []
    for asked in held.asked:
        if "day" in asked.question:
            dated.append(asked.start)
        else:
            last.setdefault(folder_of(week, asked.question), asked.start)
    return sorted([*held.starts, *dated, *last.values()], key=lambda start: start.moment)


def _stated(week: Week, given: str, ended: str) -> list[_Stated]:
    """Return the rules or tasks of a week; they hold from the end of the session in which they were given."""
    declared: Mapping[str, Any] = week[f"{given}s"]
    turns = [(session, turn) for session in week["sessions"] for turn in session["turns"]]
    found = []
    for name, about in declared.items():
        session = next(session for session, turn in turns if turn.get(given) == name)
        ending = next(((session, turn) for session, turn in turns if turn.get(ended) == name), None)
        ends = _NEVER
        if "due" in about:
            ends = datetime.fromisoformat(about["due"]).replace(tzinfo=UTC) + timedelta(days=1)
        if ending is not None:
            ends = end_of(week, ending[0])
        found.append(
            _Stated(
                name=name,
                texts=about["has"],
                folder=None if about.get("everywhere") else folder_of(week, session),
                begins=end_of(week, session),
                ends=ends,
                ending=ending[1]["prompt"] if ending else "",
                finished=ending is not None,
            )
        )
    return found


def _is_other(line: str, start: Start, week: Week, rules: Sequence[_Stated], tasks: Sequence[_Stated]) -> bool:
    """Return whether a line is no rule in force, no open or overdue task, not of the profile, and no summary."""
    overdue = (task for task in tasks if not task.finished and task.is_of(start))
    wanted = [*(each for each in (*rules, *tasks) if each.holds(start)), *overdue]
    return _SUMMARY not in line and not has(line, week["profile"]) and not any(each.is_in(line) for each in wanted)


def _is_closed(task: _Stated, starts: Sequence[Start]) -> bool:
    """Return whether a finished task was shown before, and is not shown at the first start after."""
    before = any(task.holds(start) and task.shown(entries(start.text)) for start in starts)
    after = next((start for start in starts if task.is_of(start) and start.moment >= task.ends), None)
    return before and after is not None and not task.shown(entries(after.text))


def _is_lost(task: _Stated, starts: Sequence[Start]) -> bool:
    """Return whether an open task is missing at a start after one that showed it."""
    shown = [task.shown(entries(start.text)) for start in starts if task.holds(start)]
    return True in shown and False in shown[shown.index(True) :]
