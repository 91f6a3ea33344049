"""`memotherm notes`: Markdown memory in the terminal: sync, search, get, append, watch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from memotherm.cli.formatting import console, tier_badge
from memotherm.cli.options import StoreOptions, json_option, opened, store_option
from memotherm.cli.progress import counting
from memotherm.model import Tier
from memotherm.notes import NoteHit, NoteResults, Notes, NoteText, Sync

__all__ = ["command"]

_root = click.option("--root", "-r", default=".", show_default=True, help="The folder with MEMORY.md and memory/.")
_extra = click.option("--extra", multiple=True, help="Another file or folder inside it (repeatable).")


@click.group("notes")
def command() -> None:
    """Markdown memory: index, search and read the notes of a folder."""


@command.command("sync")
@_root
@_extra
@store_option
@json_option
def sync(root: str, extra: tuple[str, ...], store: StoreOptions, as_json: bool) -> None:
    """Bring the index in line with the files."""
    with _notes(store, root, extra) as notes, counting("notes", quiet=as_json) as progress:
        done = notes.sync(progress)
    if as_json:
        click.echo(json.dumps(_sync_json(done), ensure_ascii=False, indent=2))
    else:
        _tell(done)


@command.command("search")
@click.argument("query")
@click.option("--max-results", "-n", type=click.IntRange(min=0), default=6, show_default=True, help="At most so many.")
@click.option("--min-score", type=click.FloatRange(0, 1), default=0.35, show_default=True, help="The least relevance.")
@click.option("--tier", "tiers", multiple=True, type=click.Choice([str(tier) for tier in Tier]), help="Where; all.")
@click.option("--chat", type=click.Choice(["direct", "group", "channel"]), help="Who reads it: citations follow.")
@_root
@_extra
@store_option
@json_option
def search(
    query: str,
    max_results: int,
    min_score: float,
    tiers: tuple[str, ...],
    chat: str | None,
    root: str,
    extra: tuple[str, ...],
    store: StoreOptions,
    as_json: bool,
) -> None:
    """Find lines that answer a query, with their citations."""
    with _notes(store, root, extra) as notes:
        found = notes.search(query, max_results, min_score, tiers=tiers or tuple(Tier), chat=chat)
    if as_json:
        click.echo(json.dumps(_results_json(found), ensure_ascii=False, indent=2))
        return
    out = console()
    for hit in found:
        line = tier_badge(hit.tier)
        line.append(f"  {hit.score:.2f}  ", style="bold")
        line.append(hit.citation if found.citations else hit.heading, style="cyan")
        out.print(line)
        click.echo("\n".join(f"    {each}" for each in hit.snippet.split("\n")))
    for reason in found.degraded:
        click.echo(f"note: {reason}", err=True)


@command.command("get")
@click.argument("path")
@click.option("--from", "from_line", type=click.IntRange(min=1), default=1, show_default=True, help="The first line.")
@click.option("--lines", "-n", type=click.IntRange(min=1), help="How many lines; all that fit.")
@_root
@_extra
@store_option
@json_option
def get(
    path: str,
    from_line: int,
    lines: int | None,
    root: str,
    extra: tuple[str, ...],
    store: StoreOptions,
    as_json: bool,
) -> None:
    """Print lines of a note exactly; PATH may be a citation such as memory/2026-01-26.md#L10-L15."""
    with _notes(store, root, extra) as notes:
        found = notes.get(path, from_line, lines)
    if as_json:
        click.echo(json.dumps(_text_json(found), ensure_ascii=False, indent=2))
        return
    if found.text:
        click.echo(found.text)
    if found.hint:
        click.echo(f"note: {found.hint}", err=True)


@command.command("append")
@click.argument("content")
@click.option("--date", help="The day, such as 2026-01-26; today.")
@_root
@store_option
@json_option
def append(content: str, date: str | None, root: str, store: StoreOptions, as_json: bool) -> None:
    """Add text at the end of a day's note."""
    with _notes(store, root, ()) as notes:
        done = notes.append(content, date)
    if as_json:
        told = {"path": done.path, "startLine": done.start_line, "endLine": done.end_line, "written": done.written}
        click.echo(json.dumps(told, ensure_ascii=False, indent=2))
    else:
        click.echo(done.citation if done.written else f"{done.citation} says it already")


@command.command("watch")
@_root
@_extra
@click.option("--syncs", type=click.IntRange(min=1), help="End after so many syncs; otherwise run until Ctrl-C.")
@store_option
@json_option
def watch(root: str, extra: tuple[str, ...], syncs: int | None, store: StoreOptions, as_json: bool) -> None:
    """Keep the index in line with the files until you stop it."""
    done = 0
    with _notes(store, root, extra) as notes, notes.watch() as watcher:
        click.echo(f"watching {notes.root}", err=True)
        while syncs is None or done < syncs:
            if not watcher.wait(done + 1, timeout=0.5):
                continue
            done = watcher.syncs
            if watcher.last is not None:
                told = json.dumps(_sync_json(watcher.last), ensure_ascii=False) if as_json else str(watcher.last)
                click.echo(told)


@contextmanager
def _notes(store: StoreOptions, root: str, extra: tuple[str, ...]) -> Iterator[Notes]:
    with opened(store) as mem:
        yield mem.notes(root, extra)


def _tell(done: Sync) -> None:
    for sign, paths in (("+", done.added), ("~", done.changed), ("-", done.removed)):
        for path in paths[:20]:
            click.echo(f"{sign} {path}")
        if len(paths) > 20:
            click.echo(f"{sign} … and {len(paths) - 20} more")
    for before, after in done.renamed:
        click.echo(f"> {before} -> {after}")
    for line in (*map(str, done.skipped), *map(str, done.conflicts), *done.degraded):
        click.echo(f"note: {line}", err=True)
    click.echo(str(done))


def _sync_json(done: Sync) -> dict[str, Any]:
    return {
        "added": list(done.added),
        "changed": list(done.changed),
        "removed": list(done.removed),
        "renamed": [list(each) for each in done.renamed],
        "unchanged": done.unchanged,
        "chunksNew": done.chunks_new,
        "chunksKept": done.chunks_kept,
        "moves": [str(each) for each in done.moves],
        "skipped": [{"path": each.path, "why": each.why} for each in done.skipped],
        "conflicts": [str(each) for each in done.conflicts],
        "degraded": list(done.degraded),
    }


def _results_json(found: NoteResults) -> dict[str, Any]:
    return {
        "query": found.query,
        "results": [_hit_json(hit) for hit in found],
        "citations": found.citations,
        "stale": found.stale,
        "degraded": list(found.degraded),
    }


def _hit_json(hit: NoteHit) -> dict[str, Any]:
    return {
        "path": hit.path,
        "startLine": hit.start_line,
        "endLine": hit.end_line,
        "score": round(hit.score, 4),
        "snippet": hit.snippet,
        "source": hit.source,
        "citation": hit.citation,
        "tier": str(hit.tier),
        "id": hit.memory_id,
    }


def _text_json(found: NoteText) -> dict[str, Any]:
    return {
        "path": found.path,
        "text": found.text,
        "startLine": found.start_line,
        "endLine": found.end_line,
        "totalLines": found.total_lines,
        "nextLine": found.next_line,
        "hint": found.hint,
    }
