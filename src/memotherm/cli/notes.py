"""`memotherm notes`: sync, search, get, append, curate and watch Markdown notes."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from memotherm import Memotherm
from memotherm.cli.options import memory_option, show
from memotherm.cli.output import Output, content_of, is_json, printable, progress_bar, timing
from memotherm.cli.parsing import SuggestingGroup, TextCommand
from memotherm.cli.verbs import given, operation_options
from memotherm.notes.notes import Notes
from memotherm.notes.values import NoteResults, Sync
from memotherm.operations.codec import to_json
from memotherm.remote.client import RemoteMemotherm
from memotherm.text.content import pluralize

_MOST_PATHS = 20
_root = click.option(
    "--root", "-r",
    help="The folder with MEMORY.md and memory/; default: this one, or that of the setting notes_root of a server.",
)  # fmt: skip
_extra = click.option("--extra", multiple=True, help="Another file or folder inside the root (repeatable).")


@click.group("notes", cls=SuggestingGroup)
def notes() -> None:
    """Index, search and read the Markdown notes of a folder.

    \b
    memotherm notes sync --root workspace
    memotherm notes search "which port?" --root workspace
    """


def _notes(mem: Memotherm, root: str | None, extra: tuple[str, ...] = ()) -> Notes:
    """Return the notes of a folder: this one unless it is given, that of the server for a store on a server."""
    opened: object = mem
    if isinstance(opened, RemoteMemotherm):
        return mem.notes(root, extra)
    folder = Path(root or ".").expanduser()
    return mem.notes(folder, extra or (".",) * _is_plain(folder))


def _is_plain(folder: Path) -> bool:
    """Return whether a folder has Markdown files and nothing that says which of them are notes."""
    names = [entry.name.casefold() for entry in folder.iterdir()] if folder.is_dir() else []
    return any(name.endswith(".md") for name in names) and not {"memory.md", "memory", ".git"} & {*names}


@notes.command("sync")
@_root
@_extra
@memory_option(creates=True)
def sync(mem: Memotherm, root: str | None, extra: tuple[str, ...]) -> Output:
    """Synchronise the index with the files.

    Notes are MEMORY.md and memory/**/*.md, or, in a folder that has neither, all Markdown files.

    \b
    memotherm notes sync --root workspace
    """
    started = time.monotonic()
    with progress_bar("notes") as progress:
        result = _notes(mem, root, extra).sync(progress)
    took = timing(time.monotonic() - started, mem.store.embedding_seconds)
    problems = [*map(str, result.skipped), *result.degraded]
    if not any((result.added, result.changed, result.removed, result.renamed, result.unchanged)):
        problems.append("no notes: there is no MEMORY.md and no memory/*.md; --extra . takes every Markdown file")
    return Output(to_json(result), _sync_lines(result), [*problems, took])


@notes.command("search", cls=TextCommand)
@operation_options("notes_search", left_out="chat decay diversity track")
@click.option(
    "--chat", type=click.Choice(["direct", "group", "channel"]), help="The kind of chat, which decides about citations."
)
@_root
@_extra
@memory_option(creates=True)
def search(mem: Memotherm, root: str | None, extra: tuple[str, ...], **options: Any) -> Output:  # noqa: ANN401
    """Search the notes; print the matching lines with their citations.

    \b
    memotherm notes search "which port?" --root workspace
    """
    results = _notes(mem, root, extra).search(**given(options))
    none = [] if len(results) else ["no note matches"]
    return Output(to_json(results), _hit_lines(results), [*results.degraded, *none])


@notes.command("get")
@operation_options("notes_get")
@_root
@_extra
@memory_option(creates=True)
def get(mem: Memotherm, root: str | None, extra: tuple[str, ...], **options: Any) -> Output:  # noqa: ANN401
    """Print lines of a note exactly; PATH may be a citation such as memory/2026-01-26.md#L10-L15.

    \b
    memotherm notes get memory/2026-01-26.md --from 10 --lines 6
    """
    note = _notes(mem, root, extra).get(**given(options))
    if note.text and not is_json():
        # Exact in a file or pipe; a terminal would interpret control characters.
        click.echo(printable(note.text) if sys.stdout.isatty() else note.text)
    return Output(to_json(note), notes=[note.hint] * bool(note.hint))


@notes.command("append", cls=TextCommand)
@click.argument("content")
@click.option("--date", help="The date, such as 2026-01-26; default: today.")
@_root
@memory_option(creates=True)
def append(mem: Memotherm, content: str, date: str | None, root: str | None) -> Output:
    """Append text to the note of a day; `-` reads it from standard input.

    \b
    memotherm notes append "The release is on Friday"
    """
    entry = _notes(mem, root).append(content_of(content), date)
    data = {"path": entry.path, "startLine": entry.start_line, "endLine": entry.end_line, "written": entry.written}
    return Output(data, [entry.citation if entry.written else f"{entry.citation} has this text already"])


@notes.command("curate")
@operation_options("notes_curate")
@_root
@memory_option(creates=True)
def curate(mem: Memotherm, root: str | None, dry_run: bool, **options: Any) -> Output:  # noqa: ANN401
    """Copy lines of a daily note to MEMORY.md, except those that it has; PATH may be a citation.

    \b
    memotherm notes curate memory/2026-01-26.md#L10-L15 --dry-run
    """
    curated = _notes(mem, root).curate(dry_run=dry_run, **given(options))
    copied = pluralize(sum(map(bool, curated.lines)), "line")
    note = f"{copied} of {curated.source} {'would be ' if dry_run else ''}copied to {curated.path}"
    return Output(to_json(curated), curated.lines, [note])


@notes.command("watch")
@_root
@_extra
@click.option("--syncs", type=click.IntRange(min=1), help="Exit after this many syncs; otherwise run until Ctrl-C.")
@memory_option(creates=True)
def watch(mem: Memotherm, root: str | None, extra: tuple[str, ...], syncs: int | None) -> None:
    """Synchronise the index whenever files change, until Ctrl-C.

    \b
    memotherm notes watch --root workspace
    """
    done = 0
    watched = _notes(mem, root, extra)
    with watched.watch() as watcher:
        click.echo(f"watching {watched.root}", err=True)
        while syncs is None or done < syncs:
            if not watcher.wait(done + 1, timeout=0.5):
                continue
            done = watcher.syncs
            if watcher.last is not None:
                show(Output(to_json(watcher.last), [str(watcher.last)]), indent=None)


def _sync_lines(result: Sync) -> Iterator[str]:
    for sign, paths in (("+", result.added), ("~", result.changed), ("-", result.removed)):
        yield from (f"{sign} {path}" for path in paths[:_MOST_PATHS])
        if len(paths) > _MOST_PATHS:
            yield f"{sign} … and {len(paths) - _MOST_PATHS} more"
    yield from (f"> {before} -> {after}" for before, after in result.renamed)
    yield str(result)


def _hit_lines(results: NoteResults) -> Iterator[object]:
    from rich.text import Text

    from memotherm.cli.formatting import row, tier_badge

    for hit in results:
        head = tier_badge(hit.tier).append(f"  {hit.score:4.2f}", style="bold")
        yield row(head, Text(hit.citation if results.citations else hit.heading, style="cyan"), Text(hit.snippet))
