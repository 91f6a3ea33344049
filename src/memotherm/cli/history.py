"""`memotherm backfill`: past sessions become memories; and `timeline`: what happened when."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import click

from memotherm import Memotherm
from memotherm.cli.options import StoreOptions, dry_run_option, opened, prints, show, yes_option
from memotherm.cli.output import Output, confirm, is_json, progress_bar
from memotherm.cli.verbs import plain
from memotherm.history.backfill import Backfill, Wanted
from memotherm.history.cleanup import KEEP_DAYS, cleanup
from memotherm.history.reading import Found
from memotherm.history.sources import SOURCES
from memotherm.hooks.hosts import HOSTS
from memotherm.hooks.jobs import start_command
from memotherm.model.clock import as_moment, system_clock
from memotherm.model.memory import HISTORY
from memotherm.model.reports import Activity
from memotherm.operations.codec import to_json
from memotherm.settings.paths import absolute_store, is_excluded
from memotherm.settings.sources import change_user_file, with_setting
from memotherm.text.content import pluralize
from memotherm.text.triggers import FIX

#: How many projects and unreadable files of a program are named.
_MOST_NAMED = 5
_KEPT = {FIX: "solved error"}


@click.command("backfill")
@click.option("--since", metavar="TIME", help="Only turns since then: an ISO date, or 90d (ago).")
@click.option("--project", "projects", metavar="PATTERN", multiple=True, help="Only projects or folders that match.")
@click.option(
    "--exclude", metavar="PATTERN", multiple=True,
    help="No projects, folders or sessions that match, now and later; it is added to the setting `capture_exclude`.",
)  # fmt: skip
@click.option(
    "--from", "path", type=click.Path(path_type=Path, exists=True),
    help="Read this folder, file or export instead; its memories have the trust of an import.",
)  # fmt: skip
@click.option("--store", "-s", metavar="URL", help="The store, a path or URL; default: the setting `store`.")
@click.option("--watch", is_flag=True, help="Go on until Ctrl-C, for programs without hooks.")
@click.option(
    "--every", type=click.FloatRange(min=0.1), default=300.0, show_default=True, help="Seconds between two looks."
)
@click.option(
    "--forget-excluded", is_flag=True,
    help="Also forget the memories of past sessions that are excluded by now, without a question.",
)  # fmt: skip
@dry_run_option
@yes_option
@prints
def backfill(
    since: str | None,
    projects: tuple[str, ...],
    exclude: tuple[str, ...],
    path: Path | None,
    store: str | None,
    watch: bool,
    every: float,
    forget_excluded: bool,
    dry_run: bool,
    yes: bool,
) -> Output:
    """Make memories of the sessions that coding agents and chat programs have kept on this machine.

    It shows what it found, and asks. The last weeks become warm, everything older cold, nothing hot. A second run
    stores only new turns. `undo --batch` takes a run back.

    \b
    memotherm backfill
    memotherm backfill --since 90d --exclude diary --yes
    memotherm backfill --from ~/Downloads/chatgpt-export.zip --dry-run
    memotherm backfill --watch --yes
    """
    after = None if since is None else as_moment(since, "since", system_clock())
    wanted = Wanted(after, projects, exclude, None if path is None else path.absolute())
    output = _run(store, wanted, forget_excluded=forget_excluded, dry_run=dry_run, yes=yes)
    while watch and not dry_run:
        if output.data is not None:
            show(output)
        time.sleep(every)
        output = _look_again(store, wanted)
    return output


def _look_again(store: str | None, wanted: Wanted) -> Output:
    """Store what is new, without a word if there is nothing."""
    with opened(StoreOptions(store)) as mem, Backfill(mem, SOURCES, wanted) as run:
        run.read()
        done = run.store()
    return Output(to_json(done), [str(done)]) if done.stored else Output(None)


def offer_past_sessions(store: str | None) -> Output:
    """Ask whether to read the past sessions that were not read yet, if there are any, and do what `backfill` does."""
    return _run(store, Wanted(), forget_excluded=False, dry_run=False, yes=False, offered=True)


def _run(
    store: str | None, wanted: Wanted, *, forget_excluded: bool, dry_run: bool, yes: bool, offered: bool = False
) -> Output:
    """Show what was found, ask, and store it; then offer to forget what is excluded by now."""
    exclude = wanted.exclude
    with opened(StoreOptions(store), creates=True) as mem, Backfill(mem, SOURCES, wanted) as run:
        if offered and not _accepted([each for each in run.found if each.unread and not each.deleted]):
            return Output(None)
        with progress_bar("bytes read", keeps=False) as progress:
            run.read(progress)
        excluded = run.excluded()
        data = {
            "found": [found.as_dict() for found in run.found],
            "excluded": len(excluded), "forgotten": 0, "result": None,
        }  # fmt: skip
        preview = [line for found in run.found for line in _found_lines(found)] or ["no past sessions were found"]
        notes = [*_cleanup_notes(), *_excluded_notes(mem, exclude)]
        to_store = f"store {pluralize(run.turns, 'turn')}" if run.turns else ""
        to_forget = f"forget {pluralize(len(excluded), 'memory')} of past sessions that are excluded now"
        if dry_run:
            changes = [to_store] * bool(to_store) + [to_forget] * (forget_excluded and bool(excluded))
            changed = " and ".join(changes) or "store nothing new"
            notes += _offer(to_forget) if excluded and not forget_excluded else []
            return Output(data, [*preview, f"this would {changed}"], notes).after_dry_run(dry_run)
        asks = not yes and not is_json()
        if asks and (to_store or excluded):
            show(Output(None, preview, notes))
            preview, notes = [], []
        if to_store:
            confirm(f"S{to_store[1:]}?", f"this is to {to_store},", yes=yes)
        # Who says yes to storing has not said that something is to be forgotten.
        if excluded and not forget_excluded and asks and sys.stdin.isatty():
            forget_excluded = click.confirm(f"F{to_forget[1:]}?", err=True)
        _exclude(mem, exclude)
        # What has nothing to keep is read as well.
        with progress_bar("turns") as progress:
            run.store_words(progress)
        with progress_bar("turns with their statements") as progress:
            done = run.store_statements(progress)
        if forget_excluded:
            run.forget(excluded)
            data["forgotten"] = len(excluded)
        elif excluded:
            notes += _offer(to_forget)
        data["result"] = to_json(done) if run.turns else None
        lines = [str(done)] if run.turns else ["nothing new to store"]
        lines += [f"{pluralize(len(excluded), 'memory')} forgotten"] * (forget_excluded and bool(excluded))
        if done.batch:
            notes.append(f"`memotherm undo --batch {done.batch}` takes it back")
        status = mem.status(include_narrower=True)
        pending = status.pending_vectors if done.batch and status.embedder != "none" else 0
        if pending:
            start_command(["store", "reembed", *(["--store", absolute_store(store, Path.cwd())] if store else [])])
            notes.append(f"found by words at once; vectors of {pluralize(pending, 'memory')} follow")
        return Output(data, [*preview, *lines], notes)


def _accepted(unread: list[Found]) -> bool:
    """Ask whether to read what was found; no if there is nothing."""
    sessions = pluralize(sum(found.unread for found in unread), "past session")
    names = " and ".join(title_of(found.source) for found in unread)
    return bool(unread) and click.confirm(f"Read {sessions} of {names} now?", err=True)


def _offer(to_forget: str) -> list[str]:
    return [f"to {to_forget}: `memotherm backfill --forget-excluded`"]


def _found_lines(found: Found) -> Iterator[str]:
    """Yield what was found of a program, in words."""
    title, roots = title_of(found.source), ", ".join(found.roots)
    if not found.unread:
        yield f"{title}: {pluralize(found.transcripts, 'file')} in {roots}, all read before"
        return
    days = f", {found.first:%Y-%m-%d} to {found.last:%Y-%m-%d}" if found.first and found.last else ""
    read = f"{pluralize(found.unread, 'new file')}, {found.bytes / 1e6:.1f} MB"
    yield f"{title}: {pluralize(len(found.sessions), 'session')}{days} ({read}) in {roots}"
    named = [f"{name} ({count})" for name, count in found.projects.most_common(_MOST_NAMED)]
    others = len(found.projects) - len(named)
    if named:
        yield f"  projects: {', '.join(named)}{f' and {others} more' if others else ''}"
    kept = [pluralize(count, _KEPT.get(kind, kind)) for kind, count in found.kept.most_common() if count]
    if kept:
        yield f"  to keep: {', '.join(kept)}; {pluralize(found.redacted, 'secret')} replaced"
    if found.left_out:
        reasons = ", ".join(f"{count} {why}" for why, count in found.left_out.items())
        yield f"  left out: {reasons} (turns)"
    if found.broken or found.unknown:
        unknown = ", ".join(f"{name} ({count})" for name, count in found.unknown.most_common(_MOST_NAMED))
        yield f"  not understood: {found.broken} broken entries" + (f"; unknown types: {unknown}" if unknown else "")
    for file, why in list(found.problems.items())[:_MOST_NAMED]:
        versions = f"; checked with version {found.verified}" if found.verified else ""
        yield f"  not read: {file}: {why}{versions}"
    if found.unreadable > _MOST_NAMED:
        yield f"  not read: {found.unreadable - _MOST_NAMED} more"


def title_of(source: str) -> str:
    """Return what people call a program."""
    titles = {"claude-code-prompts": "Claude Code, prompts of deleted sessions"}
    return titles.get(source) or (HOSTS[source].title if source in HOSTS else source)


def _cleanup_notes() -> list[str]:
    found = cleanup()
    if found is None or not found.soon:
        return []
    return [f"{found}; `memotherm agent keep-transcripts` makes it {KEEP_DAYS} days"]


def _exclude(mem: Memotherm, patterns: tuple[str, ...]) -> None:
    """Add patterns to the setting that names what is not captured."""
    known = mem.settings.capture_exclude
    new = [pattern for pattern in patterns if pattern not in known]
    if new:
        change_user_file(lambda text: with_setting(text, "capture_exclude", [*known, *new]))


def _excluded_notes(mem: Memotherm, patterns: tuple[str, ...]) -> Iterator[str]:
    """Yield how to remove what hooks and others have stored in projects that are excluded."""
    excluded = (*mem.settings.capture_exclude, *patterns)
    counts: Counter[str] = Counter()
    for count in mem.inspect.scopes():
        if count.scope.project and count.scope.agent != HISTORY and is_excluded(excluded, count.scope.project):
            counts[count.scope.project] += count.memories
    for project, memories in counts.items():
        if memories:
            command = f"memotherm erase --project {project}"
            yield f"{project} is excluded, and has {pluralize(memories, 'memory')} from before; to remove: `{command}`"


def _days(found: list[Activity]) -> Iterator[object]:
    """Yield the lines of a timeline: each day once, each project of a day once."""
    from rich.text import Text

    from memotherm.cli.formatting import row

    day = project = None
    for activity in found:
        if activity.day != day:
            day, project = activity.day, None
            yield f"{date.fromisoformat(day):%Y-%m-%d %A}"
        if activity.project != project:
            project = activity.project
            yield f"  {project or 'no project'}"
        span, _, told = str(activity).partition(" ")
        yield row(Text(f"    {span:<11}"), Text(told))


timeline = plain(
    "timeline", "memotherm timeline --since 2026-03-01 --until 2026-04-01\nmemotherm timeline --everywhere --since 7d",
    _days, help="Show what happened when, by day, project and session, newest day first, from all tiers.",
    notes=lambda found: ["nothing was stored then"] * (not found),
)  # fmt: skip
