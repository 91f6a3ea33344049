"""`memotherm session`: the working memory of a session."""

from __future__ import annotations

import click

from memotherm import Memotherm, tools
from memotherm.cli.formatting import console, hit_line, memory_line
from memotherm.cli.options import StoreOptions, json_option, kind_option, opened, store_option
from memotherm.cli.output import content_of, print_changed, print_json, print_notes, search_json
from memotherm.cli.parsing import SuggestingGroup, TextCommand
from memotherm.model.memory import TierName
from memotherm.text.content import pluralize
from memotherm.tools.serializers import (
    added_json,
    flush_json,
    memory_json,
    metrics_json,
    move_json,
    session_status_json,
)

__all__ = ["command"]

_session = click.argument("name", metavar="SESSION")


@click.group("session", cls=SuggestingGroup)
def command() -> None:
    """Manage the working memory of a session: a limited number of hot tokens, and spilled memories.

    \b
    memotherm session add s1 "The user wants the short answer" --type preference
    memotherm session spill s1 --count 2
    memotherm session recall s1 "what does the user want?"
    """


@command.command("add", cls=TextCommand)
@_session
@click.argument("content")
@kind_option(default="message", show_default=True, help="The kind of the memory.")
@store_option
@json_option
def add(name: str, content: str, kind: str, store: StoreOptions, as_json: bool) -> None:
    """Add a hot memory; older ones are spilled if needed."""
    with opened(store) as mem:
        memory = mem.session(name).add(content_of(content), kind)
        added = added_json(memory, mem.settings.hot_token_limit, mem.secrets_in(memory.content))
    if as_json:
        print_json(added)
        return
    print_changed(memory, as_json=False)
    print_notes(added["warnings"])


@command.command("hot")
@_session
@store_option
@json_option
def hot(name: str, store: StoreOptions, as_json: bool) -> None:
    """Show the hot memories, newest first."""
    with opened(store) as mem:
        memories = mem.session(name).hot()
    if as_json:
        print_json({"sessionId": name, "memories": [memory_json(memory) for memory in memories]})
        return
    out = console()
    for memory in memories:
        out.print(memory_line(memory))
    if not memories:
        print_notes(["the session has no hot memories"])


def _full_id(mem: Memotherm, session: str, prefix: str) -> str:
    """Return the id of a memory that a session can see."""
    return mem.scoped(session=session).full_id(prefix)


@command.command("spill")
@_session
@click.option("--count", "-n", type=click.IntRange(min=0), default=4, show_default=True, help="How many.")
@click.option("--id", "ids", multiple=True, help="The id of a memory to spill (repeatable).")
@click.option("--dry-run", is_flag=True, help="Print what would move, without moving it.")
@store_option
@json_option
def spill(name: str, count: int, ids: tuple[str, ...], dry_run: bool, store: StoreOptions, as_json: bool) -> None:
    """Spill hot memories: the least relevant and oldest, or those given by id."""
    with opened(store, dry_run=dry_run) as mem:
        result = mem.session(name).spill(count, [_full_id(mem, name, memory_id) for memory_id in ids] or None)
    if as_json:
        spilled = {"spilledCount": result.spilled_count, "spilledIds": list(result.spilled_ids)}
        moved = [move_json(move) for move in result.moved]
        print_json({**spilled, "targetTier": result.target_tier, "moved": moved, "dry_run": dry_run})
        return
    for move in result.moved:
        click.echo(str(move))
    click.echo(f"{result.spilled_count} spilled{' (dry run: nothing was moved)' if dry_run else ''}")


@command.command("promote")
@_session
@click.argument("memory_id", metavar="ID")
@store_option
@json_option
def promote(name: str, memory_id: str, store: StoreOptions, as_json: bool) -> None:
    """Move a memory of the session to hot; older ones are spilled if needed."""
    with opened(store) as mem:
        memory_id = _full_id(mem, name, memory_id)
        moved = mem.session(name).promote(memory_id)
    if as_json:
        print_json({"id": memory_id, "promoted": moved})
    else:
        click.echo(f"{memory_id} {'is hot now' if moved else 'was hot already'}")


@command.command("demote")
@_session
@click.argument("memory_id", metavar="ID")
@click.option("--tier", type=click.Choice(["warm", "cold"]), default="warm", show_default=True, help="Where to.")
@store_option
@json_option
def demote(name: str, memory_id: str, tier: TierName, store: StoreOptions, as_json: bool) -> None:
    """Move a memory of the session to warm or cold."""
    with opened(store) as mem:
        memory = mem.session(name).demote(_full_id(mem, name, memory_id), tier)
    print_changed(memory, as_json=as_json)


@command.command("keep")
@_session
@click.argument("memory_id", metavar="ID")
@store_option
@json_option
def keep(name: str, memory_id: str, store: StoreOptions, as_json: bool) -> None:
    """Move a memory to the scope around the session, so that it remains after it."""
    with opened(store) as mem:
        memory = mem.session(name).keep(_full_id(mem, name, memory_id))
    print_changed(memory, as_json=as_json)


@command.command("prune")
@_session
@click.option("--keep", "most", type=click.IntRange(min=0), help="How many cold memories stay; default: the setting.")
@click.option("--dry-run", is_flag=True, help="Print what would be deleted, without deleting it.")
@store_option
@json_option
def prune(name: str, most: int | None, dry_run: bool, store: StoreOptions, as_json: bool) -> None:
    """Delete the least relevant cold memories of the session; `restore` undoes it within `grace_days`."""
    with opened(store, dry_run=dry_run) as mem:
        pruned = tools.memory_prune(mem, name, most)["pruned"]
    if as_json:
        print_json({"sessionId": name, "pruned": pruned, "dry_run": dry_run})
    else:
        click.echo(f"{pluralize(len(pruned), 'memory')} deleted{' (dry run: nothing was deleted)' if dry_run else ''}")


@command.command("clear")
@_session
@click.option("--dry-run", is_flag=True, help="Print how many would be deleted, without deleting them.")
@store_option
@json_option
def clear(name: str, dry_run: bool, store: StoreOptions, as_json: bool) -> None:
    """Delete the memories of the session, except pinned ones; `restore` undoes it within `grace_days`."""
    with opened(store, dry_run=dry_run) as mem:
        cleared = tools.memory_clear(mem, name)["cleared"]
    if as_json:
        print_json({"sessionId": name, "cleared": cleared, "dry_run": dry_run})
    else:
        click.echo(f"{pluralize(cleared, 'memory')} deleted{' (dry run: nothing was deleted)' if dry_run else ''}")


@command.command("recall", cls=TextCommand)
@_session
@click.argument("query")
@click.option("--limit", "-n", type=click.IntRange(min=0), default=3, show_default=True, help="How many hits.")
@click.option("--promote/--no-promote", default=None, help="Whether the best hits move to hot; default: the setting.")
@kind_option("types", multiple=True, help="Only this kind (repeatable).")
@store_option
@json_option
def recall(
    name: str, query: str, limit: int, promote: bool | None, types: tuple[str, ...], store: StoreOptions, as_json: bool
) -> None:
    """Search the memories of the session in all tiers, and move the best hits to hot."""
    with opened(store) as mem:
        result = mem.session(name).recall(content_of(query), limit, promote, types or None)
    if as_json:
        print_json(search_json(result, limit))
        return
    out = console()
    for hit in result:
        out.print(hit_line(hit))
    found = [] if len(result) else ["no memory matches"]
    print_notes([*found, *result.degraded, *(f"{memory_id} moved to hot" for memory_id in result.promoted)])


@command.command("status")
@_session
@store_option
@json_option
def show_status(name: str, store: StoreOptions, as_json: bool) -> None:
    """Show how full hot is, and what is suggested."""
    with opened(store) as mem:
        status = mem.session_status(name)
        metrics = mem.scoped(session=name).metrics()
    if as_json:
        print_json({**session_status_json(status), "metrics": metrics_json(metrics)})
        return
    hot = f"hot {pluralize(status.hot.memories, 'memory')}, {status.hot.tokens} of {status.limit} tokens"
    click.echo(f"{status.session} ({status.state}): {hot}; warm {status.warm.memories}, cold {status.cold.memories}")
    for suggestion in status.suggestions:
        click.echo(f"{suggestion.type}: {suggestion.reason}")


@command.command("flush")
@_session
@click.option("--tokens", type=click.IntRange(min=0), required=True, help="The tokens of the session's context.")
@click.option("--window", type=click.IntRange(min=1), default=200_000, show_default=True, help="The most it can hold.")
@click.option("--root", "-r", type=click.Path(), help="The folder with MEMORY.md and memory/.")
@click.option("--compactions", type=click.IntRange(min=0), help="How often the host has compacted so far.")
@click.option("--heartbeat", is_flag=True, help="The host itself started this turn.")
@store_option
@json_option
def flush(
    name: str,
    tokens: int,
    window: int,
    root: str | None,
    compactions: int | None,
    heartbeat: bool,
    store: StoreOptions,
    as_json: bool,
) -> None:
    """Print the prompt to run before the host compacts its context, if it is due; once per compaction.

    \b
    memotherm session flush s1 --tokens 177000 --root workspace
    """
    with opened(store) as mem:
        due = mem.session(name).flush_due(tokens, window, root=root, compactions=compactions, heartbeat=heartbeat)
    if as_json:
        print_json({"sessionId": name, "due": due is not None, **({} if due is None else flush_json(due))})
    elif due is None:
        print_notes(["no flush is due"])
    else:
        click.echo(due.prompt)


@command.command("end")
@_session
@click.option("--summary", help="A summary to store; `-` reads standard input.")
@store_option
@json_option
def end(name: str, summary: str | None, store: StoreOptions, as_json: bool) -> None:
    """End the session, and run compaction if `compaction_on_session_end` is set."""
    with opened(store) as mem:
        compaction = mem.session(name).session_end(None if summary is None else content_of(summary))
    if as_json:
        print_json(
            {"sessionId": name, "moves": [] if compaction is None else [move_json(move) for move in compaction.moves]}
        )
    else:
        click.echo("ended" if compaction is None else f"ended. {compaction}")
