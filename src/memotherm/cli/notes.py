"""`memotherm notes`: sync, search, get, append and watch Markdown notes."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from memotherm import Memotherm
from memotherm.cli.formatting import console, tier_badge
from memotherm.cli.options import StoreOptions, json_option, opened, store_option
from memotherm.cli.output import content_of, print_notes
from memotherm.cli.parsing import SuggestingGroup, TextCommand
from memotherm.cli.progress import progress_bar, timing
from memotherm.cli.terminal import printable
from memotherm.model import Tier
from memotherm.model.memory import TierName
from memotherm.notes import NoteHit, NoteResults, Notes, Sync
from memotherm.remote.client import RemoteMemotherm
from memotherm.text.content import pluralize
from memotherm.tools.serializers import curated_json, note_hit_json, note_text_json

__all__ = ["command"]

_root = click.option(
    "--root",
    "-r",
    help="The folder with MEMORY.md and memory/; default: this one, or that of the setting notes_root of a server.",
)
_extra = click.option("--extra", multiple=True, help="Another file or folder inside the root (repeatable).")


@click.group("notes", cls=SuggestingGroup)
def command() -> None:
    """Index, search and read the Markdown notes of a folder.

    \b
    memotherm notes sync --root workspace
    memotherm notes search "which port?" --root workspace
    """


@command.command("sync")
@_root
@_extra
@store_option
@json_option
def sync(root: str | None, extra: tuple[str, ...], store: StoreOptions, as_json: bool) -> None:
    """Synchronise the index with the files."""
    started = time.monotonic()
    with opened(store) as mem, progress_bar("notes", quiet=as_json) as progress:
        result = mem.notes(_folder(mem, root), extra).sync(progress)
        took = timing(time.monotonic() - started, mem.embedding_seconds)
    if as_json:
        click.echo(json.dumps(_sync_json(result), ensure_ascii=False, indent=2))
    else:
        _print_sync(result)
        print_notes([took])


@command.command("search", cls=TextCommand)
@click.argument("query")
@click.option("--max-results", "-n", type=click.IntRange(min=0), default=6, show_default=True, help="The most results.")
@click.option(
    "--min-score", type=click.FloatRange(0, 1), default=0.35, show_default=True, help="The least relevance of a result."
)
@click.option(
    "--tier",
    "tiers",
    multiple=True,
    type=click.Choice([str(tier) for tier in Tier]),
    help="The tiers to search (repeatable); default: all.",
)
@click.option(
    "--chat", type=click.Choice(["direct", "group", "channel"]), help="The kind of chat, which decides about citations."
)
@_root
@_extra
@store_option
@json_option
def search(
    query: str,
    max_results: int,
    min_score: float,
    tiers: tuple[TierName, ...],
    chat: str | None,
    root: str | None,
    extra: tuple[str, ...],
    store: StoreOptions,
    as_json: bool,
) -> None:
    """Search the notes; print the matching lines with their citations."""
    with _notes(store, root, extra) as notes:
        results = notes.search(query, max_results, min_score, tiers=tiers or tuple(Tier), chat=chat)
    if as_json:
        click.echo(json.dumps(_results_json(results), ensure_ascii=False, indent=2))
        return
    out = console()
    for hit in results:
        line = tier_badge(hit.tier)
        line.append(f"  {hit.score:.2f}  ", style="bold")
        line.append(hit.citation if results.citations else hit.heading, style="cyan")
        out.print(line)
        click.echo("\n".join(f"    {line}" for line in printable(hit.snippet).split("\n")))
    print_notes([*results.degraded, *([] if len(results) else ["no note matches"])])


@command.command("get")
@click.argument("path")
@click.option("--from", "from_line", type=click.IntRange(min=1), default=1, show_default=True, help="The first line.")
@click.option("--lines", "-n", type=click.IntRange(min=1), help="How many lines; default: all that fit.")
@_root
@_extra
@store_option
@json_option
def get(
    path: str,
    from_line: int,
    lines: int | None,
    root: str | None,
    extra: tuple[str, ...],
    store: StoreOptions,
    as_json: bool,
) -> None:
    """Print lines of a note exactly; PATH may be a citation such as memory/2026-01-26.md#L10-L15."""
    with _notes(store, root, extra) as notes:
        note = notes.get(path, from_line, lines)
    if as_json:
        click.echo(json.dumps(note_text_json(note), ensure_ascii=False, indent=2))
        return
    if note.text:
        # Exact in a file or pipe; a terminal would interpret control characters.
        click.echo(printable(note.text) if sys.stdout.isatty() else note.text)
    if note.hint:
        click.echo(f"note: {note.hint}", err=True)


@command.command("append", cls=TextCommand)
@click.argument("content")
@click.option("--date", help="The date, such as 2026-01-26; default: today.")
@_root
@store_option
@json_option
def append(content: str, date: str | None, root: str | None, store: StoreOptions, as_json: bool) -> None:
    """Append text to the note of a day; `-` reads it from standard input."""
    with _notes(store, root, ()) as notes:
        entry = notes.append(content_of(content), date)
    if as_json:
        location = {"path": entry.path, "startLine": entry.start_line, "endLine": entry.end_line}
        click.echo(json.dumps({**location, "written": entry.written}, ensure_ascii=False, indent=2))
    else:
        click.echo(entry.citation if entry.written else f"{entry.citation} has this text already")


@command.command("curate")
@click.argument("path")
@click.option("--from", "from_line", type=click.IntRange(min=1), default=1, show_default=True, help="The first line.")
@click.option("--lines", "-n", type=click.IntRange(min=1), help="How many lines; default: all.")
@click.option("--dry-run", is_flag=True, help="Print what would be copied, without writing it.")
@_root
@store_option
@json_option
def curate(
    path: str, from_line: int, lines: int | None, dry_run: bool, root: str | None, store: StoreOptions, as_json: bool
) -> None:
    """Copy lines of a daily note to MEMORY.md, except those that it has; PATH may be a citation.

    \b
    memotherm notes curate memory/2026-01-26.md#L10-L15 --dry-run
    """
    with _notes(store, root, ()) as notes:
        curated = notes.curate(path, from_line, lines, dry_run)
    if as_json:
        click.echo(json.dumps(curated_json(curated), ensure_ascii=False, indent=2))
        return
    for line in curated.lines:
        click.echo(printable(line))
    copied = pluralize(sum(map(bool, curated.lines)), "line")
    print_notes([f"{copied} of {curated.source} {'would be ' if dry_run else ''}copied to {curated.path}"])


@command.command("watch")
@_root
@_extra
@click.option("--syncs", type=click.IntRange(min=1), help="Exit after this many syncs; otherwise run until Ctrl-C.")
@store_option
@json_option
def watch(root: str | None, extra: tuple[str, ...], syncs: int | None, store: StoreOptions, as_json: bool) -> None:
    """Synchronise the index whenever files change, until Ctrl-C."""
    done = 0
    with _notes(store, root, extra) as notes, notes.watch() as watcher:
        click.echo(f"watching {notes.root}", err=True)
        while syncs is None or done < syncs:
            if not watcher.wait(done + 1, timeout=0.5):
                continue
            done = watcher.syncs
            if watcher.last is not None:
                result = watcher.last
                click.echo(json.dumps(_sync_json(result), ensure_ascii=False) if as_json else str(result))


@contextmanager
def _notes(store: StoreOptions, root: str | None, extra: tuple[str, ...]) -> Iterator[Notes]:
    with opened(store) as mem:
        yield mem.notes(_folder(mem, root), extra)


def _folder(mem: Memotherm, root: str | None) -> str | None:
    """Return the folder of the notes, or None for that of a server."""
    return "." if root is None and not isinstance(mem, RemoteMemotherm) else root


def _print_sync(result: Sync) -> None:
    for sign, paths in (("+", result.added), ("~", result.changed), ("-", result.removed)):
        for path in paths[:20]:
            click.echo(f"{sign} {path}")
        if len(paths) > 20:
            click.echo(f"{sign} … and {len(paths) - 20} more")
    for before, after in result.renamed:
        click.echo(f"> {before} -> {after}")
    for line in (*map(str, result.skipped), *map(str, result.conflicts), *result.degraded):
        click.echo(f"note: {line}", err=True)
    click.echo(str(result))


def _sync_json(result: Sync) -> dict[str, Any]:
    return {
        "added": list(result.added),
        "changed": list(result.changed),
        "removed": list(result.removed),
        "renamed": [list(paths) for paths in result.renamed],
        "unchanged": result.unchanged,
        "chunksNew": result.chunks_new,
        "chunksKept": result.chunks_kept,
        "moves": [str(move) for move in result.moves],
        "skipped": [{"path": skipped.path, "why": skipped.why} for skipped in result.skipped],
        "conflicts": [str(conflict) for conflict in result.conflicts],
        "degraded": list(result.degraded),
    }


def _results_json(results: NoteResults) -> dict[str, Any]:
    return {
        "query": results.query,
        "results": [_hit_json(hit) for hit in results],
        "citations": results.citations,
        "stale": results.stale,
        "degraded": list(results.degraded),
    }


def _hit_json(hit: NoteHit) -> dict[str, Any]:
    return {**note_hit_json(hit), "tier": str(hit.tier), "id": hit.memory_id}
