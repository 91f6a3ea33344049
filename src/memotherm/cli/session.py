"""`memotherm session`: the working memory of one session: add, hot, spill, promote, recall, status, end."""

from __future__ import annotations

import click

from memotherm.cli.formatting import console, hit_line, memory_line
from memotherm.cli.options import StoreOptions, json_option, opened, store_option
from memotherm.cli.output import content_of, print_changed, print_json, print_notes
from memotherm.text.quantity import pluralize
from memotherm.tools.serializers import hit_json, memory_json, move_json, session_status_json

__all__ = ["command"]

_session = click.argument("name", metavar="SESSION")


@click.group("session")
def command() -> None:
    """Working memory of one session: few hot tokens in front, the rest within reach.

    \b
    memotherm session add s1 "The user wants the short answer" --type preference
    memotherm session spill s1 --count 2
    memotherm session recall s1 "what does the user want?"
    """


@command.command("add")
@_session
@click.argument("content")
@click.option("--type", "kind", default="message", show_default=True, help="What sort of thing it is.")
@store_option
@json_option
def add(name: str, content: str, kind: str, store: StoreOptions, as_json: bool) -> None:
    """Add a hot memory; others make room for it."""
    with opened(store) as mem:
        memory = mem.session(name).add(content_of(content), kind)
    print_changed(memory, as_json=as_json)


@command.command("hot")
@_session
@store_option
@json_option
def hot(name: str, store: StoreOptions, as_json: bool) -> None:
    """Show the hot memories, newest first."""
    with opened(store) as mem:
        memories = mem.session(name).hot()
    if as_json:
        print_json({"sessionId": name, "memories": [memory_json(each) for each in memories]})
        return
    out = console()
    for memory in memories:
        out.print(memory_line(memory))


@command.command("spill")
@_session
@click.option("--count", "-n", type=click.IntRange(min=0), default=4, show_default=True, help="How many.")
@click.option("--id", "ids", multiple=True, help="Exactly this one (repeatable).")
@click.option("--dry-run", is_flag=True, help="Tell what would move, and move nothing.")
@store_option
@json_option
def spill(name: str, count: int, ids: tuple[str, ...], dry_run: bool, store: StoreOptions, as_json: bool) -> None:
    """Move hot memories out: the least relevant and oldest, or those you name."""
    with opened(store, dry_run=dry_run) as mem:
        done = mem.session(name).spill(count, ids or None)
    if as_json:
        told = {"spilledCount": done.spilled_count, "spilledIds": list(done.spilled_ids)}
        moved = [move_json(move) for move in done.moved]
        print_json({**told, "targetTier": done.target_tier, "moved": moved, "dry_run": dry_run})
        return
    for move in done.moved:
        click.echo(str(move))
    click.echo(f"{done.spilled_count} spilled{' (dry run: nothing was moved)' if dry_run else ''}")


@command.command("promote")
@_session
@click.argument("memory_id", metavar="ID")
@store_option
@json_option
def promote(name: str, memory_id: str, store: StoreOptions, as_json: bool) -> None:
    """Bring a memory of the session to hot, making room first."""
    with opened(store) as mem:
        moved = mem.session(name).promote(memory_id)
    if as_json:
        print_json({"id": memory_id, "promoted": moved})
    else:
        click.echo(f"{memory_id} {'is hot now' if moved else 'was hot already'}")


@command.command("recall")
@_session
@click.argument("query")
@click.option("--limit", "-n", type=click.IntRange(min=0), default=3, show_default=True, help="How many hits.")
@click.option("--promote/--no-promote", default=None, help="Whether the best come back to hot; the setting.")
@click.option("--type", "types", multiple=True, help="Only of this kind (repeatable).")
@store_option
@json_option
def recall(
    name: str, query: str, limit: int, promote: bool | None, types: tuple[str, ...], store: StoreOptions, as_json: bool
) -> None:
    """Find what the session has spilled, and bring the best back to hot."""
    with opened(store) as mem:
        found = mem.session(name).recall(content_of(query), limit, promote, types or None)
    if as_json:
        hits = [hit_json(hit) for hit in found]
        print_json({"query": query, "hits": hits, "promoted": list(found.promoted), "degraded": list(found.degraded)})
        return
    out = console()
    for hit in found:
        out.print(hit_line(hit))
    print_notes([*found.degraded, *(f"{each} moved to hot" for each in found.promoted)])


@command.command("status")
@_session
@store_option
@json_option
def show_status(name: str, store: StoreOptions, as_json: bool) -> None:
    """Show how full hot is, and what is suggested."""
    with opened(store) as mem:
        status = mem.session_status(name)
    if as_json:
        print_json(session_status_json(status))
        return
    hot = f"hot {pluralize(status.hot.memories, 'memory')}, {status.hot.tokens} of {status.limit} tokens"
    click.echo(f"{status.session} ({status.state}): {hot}; warm {status.warm.memories}, cold {status.cold.memories}")
    for suggestion in status.suggestions:
        click.echo(f"{suggestion.type}: {suggestion.reason}")


@command.command("end")
@_session
@click.option("--summary", help="What to remember of it; `-` reads standard input.")
@store_option
@json_option
def end(name: str, summary: str | None, store: StoreOptions, as_json: bool) -> None:
    """End the session; the tier rules run if the settings say so."""
    with opened(store) as mem:
        run = mem.session(name).session_end(None if summary is None else content_of(summary))
    if as_json:
        print_json({"sessionId": name, "moves": [] if run is None else [move_json(move) for move in run.moves]})
    else:
        click.echo("ended" if run is None else f"ended. {run}")
