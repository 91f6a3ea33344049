"""`memotherm get`, `list`, `history`, `events`, `status`: look at what is stored, and change nothing."""

from __future__ import annotations

import click
from rich.table import Table
from rich.text import Text

from memotherm.cli.formatting import TIER_STYLES, console, event_line, tier_bar
from memotherm.cli.options import StoreOptions, json_option, opened, store_option
from memotherm.cli.output import print_json, print_notes
from memotherm.model import Memory, Priority, Retention, Tier
from memotherm.tools.definitions import call
from memotherm.tools.serializers import event_json, memory_json

__all__ = ["events", "get", "history", "list_", "status"]


@click.command("get")
@click.argument("memory_id", metavar="ID")
@store_option
@json_option
def get(memory_id: str, store: StoreOptions, as_json: bool) -> None:
    """Show one memory, with all it says about itself.

    \b
    memotherm get mem_01J8ZQ4X0000000000000000
    """
    with opened(store) as mem:
        memory = mem.get(memory_id)
    if as_json:
        print_json(memory_json(memory))
        return
    table = Table.grid(padding=(0, 2))
    for name, value in memory_json(memory).items():
        if value not in (None, [], {}):
            table.add_row(Text(name, style="cyan"), Text(_said(value)))
    console().print(table)


@click.command("list")
@click.option("--tier", type=click.Choice([str(each) for each in Tier]), help="Only of this tier.")
@click.option("--priority", "-p", type=click.Choice([str(each) for each in Priority]), help="Only of this priority.")
@click.option(
    "--retention", type=click.Choice([str(each) for each in Retention if each is not Retention.PURGED]),
    default="active", show_default=True, help="Only with this retention.",
)  # fmt: skip
@click.option("--kind", "-k", help="Only of this kind.")
@click.option("--tag", "-t", "tags", multiple=True, help="Only with one of these tags (repeatable).")
@click.option("--limit", "-n", type=click.IntRange(0, 1000), default=50, show_default=True, help="How many at once.")
@click.option("--cursor", help="Where the last page ended.")
@click.option("--ids", is_flag=True, help="Print nothing but the ids, one in a line.")
@store_option
@json_option
def list_(
    tier: str | None,
    priority: str | None,
    retention: str,
    kind: str | None,
    tags: tuple[str, ...],
    limit: int,
    cursor: str | None,
    ids: bool,
    store: StoreOptions,
    as_json: bool,
) -> None:
    """List memories, newest first, a page at a time.

    \b
    memotherm list --tier hot
    memotherm list --retention deleted --json
    memotherm list --tag sprint-12 --ids | xargs -n 1 memotherm archive
    """
    with opened(store) as mem:
        page = mem.find(
            tier=tier, priority=priority, retention=retention, kind=kind, tags=tags or None, limit=limit, cursor=cursor
        )
    if as_json:
        print_json({"memories": [memory_json(memory) for memory in page], "cursor": page.cursor})
        return
    if ids:
        click.echo("".join(f"{memory.id}\n" for memory in page), nl=False)
    elif page.memories:
        console().print(_table(page.memories))
    if page.cursor:
        print_notes([f"there are more: --cursor {page.cursor}"])


@click.command("history")
@click.argument("memory_id", metavar="ID")
@store_option
@json_option
def history(memory_id: str, store: StoreOptions, as_json: bool) -> None:
    """Tell everything that happened to a memory: when, by whom, by which rule and why.

    \b
    memotherm history mem_01J8ZQ4X0000000000000000
    """
    with opened(store) as mem:
        found = mem.history(memory_id)
    if as_json:
        print_json({"id": memory_id, "events": [event_json(event) for event in found]})
        return
    out = console()
    for event in found:
        out.print(event_line(event))


@click.command("events")
@click.option("--oldest-first", is_flag=True, help="Begin with the first event.")
@click.option("--limit", "-n", type=click.IntRange(0, 1000), default=50, show_default=True, help="How many at once.")
@click.option("--cursor", help="Where the last page ended; `after-N` and `before-N` begin behind event N.")
@store_option
@json_option
def events(oldest_first: bool, limit: int, cursor: str | None, store: StoreOptions, as_json: bool) -> None:
    """Tell what happened to all memories, newest first, a page at a time.

    \b
    memotherm events --limit 20
    memotherm events --cursor after-1200 --json
    """
    with opened(store) as mem:
        page = mem.events(limit, cursor, oldest_first)
    if as_json:
        print_json({"events": [event_json(event) for event in page], "cursor": page.cursor})
        return
    out = console()
    for event in page:
        line = event_line(event)
        line.append(f"  {event.memory_id}", style="dim")
        out.print(line)
    if page.cursor:
        print_notes([f"there are more: --cursor {page.cursor}"])


@click.command("status")
@store_option
@json_option
def status(store: StoreOptions, as_json: bool) -> None:
    """Tell how much each tier holds, and how it can be searched."""
    with opened(store) as mem:
        found = mem.status()
        told = call(mem, "memory_status", {})
        metrics = mem.metrics().as_dict()
    if as_json:
        print_json({**told, "bytes": found.bytes, "seq": found.seq, "schema": found.schema, "metrics": metrics})
        return
    out = console()
    out.print(Text(f"{found.store}  ({found.scope})", style="bold"))
    for tier in Tier:
        out.print(tier_bar(found, tier))
    hidden = {name: count for name, count in found.retention.items() if name is not Retention.ACTIVE and count}
    facts = [f"{found.bytes / 1e6:.1f} MB", f"embedder {found.embedder}"]
    out.print(Text(" · ".join([*facts, *(f"{count} {name}" for name, count in hidden.items())]), style="dim"))
    print_notes(found.degraded)


def _table(memories: tuple[Memory, ...]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("tier", "priority", "kind"):
        table.add_column(name, no_wrap=True)
    table.add_column("memory", ratio=1)
    table.add_column("id", no_wrap=True, style="dim")
    for memory in memories:
        content = Text(" ".join(memory.content.split()))
        content.truncate(160, overflow="ellipsis")
        for tag in memory.tags:
            content.append(f" #{tag}", style="green")
        tier = Text(str(memory.tier), style=TIER_STYLES[memory.tier])
        table.add_row(tier, str(memory.priority), memory.kind, content, memory.id)
    return table


def _said(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(str(each) for each in value)
    if isinstance(value, dict):
        return ", ".join(f"{name}={each}" for name, each in value.items())
    return str(value)
