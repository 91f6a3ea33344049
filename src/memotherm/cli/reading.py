"""`memotherm get`, `list`, `history`, `events`, `status`: commands that only read."""

from __future__ import annotations

from typing import Any, get_args

import click
from rich.table import Table
from rich.text import Text

from memotherm.cli.filters import contains_option, filter_options, inside_option
from memotherm.cli.formatting import TIER_STYLES, console, event_line, memory_line, receipt_lines, tier_bar
from memotherm.cli.options import StoreOptions, json_option, kind_option, opened, store_option
from memotherm.cli.output import print_json, print_notes
from memotherm.cli.scopes import whereabouts
from memotherm.cli.terminal import printable
from memotherm.model import Memory, Priority, Retention, Tier
from memotherm.model.memory import OrderName
from memotherm.model.reports import ReceiptAnswer
from memotherm.tools.serializers import event_json, memory_json, metrics_json, read_json, status_json

#: The length of a whole id; a shorter text is the beginning of one that the scope can see.
_ID_LENGTH = 30
#: Below this width a table does not fit.
_NARROW = 80

__all__ = ["events", "get", "history", "list_", "receipts", "status"]


@click.command("get")
@click.argument("memory_id", metavar="ID", required=False)
@click.option("--key", help="The key of the memory, instead of its id.")
@store_option
@json_option
def get(memory_id: str | None, key: str | None, store: StoreOptions, as_json: bool) -> None:
    """Show a memory with all its fields, by its id or its key.

    \b
    memotherm get mem_01J8ZQ4X0000000000000000
    memotherm get --key plans/release
    """
    with opened(store, existing=True) as mem:
        memory = mem.get(None if memory_id is None else mem.full_id(memory_id), key=key)
        values = read_json(memory, mem.heat(memory))
    if as_json:
        print_json(values)
        return
    fields = {name: _as_text(value) for name, value in values.items() if value not in (None, [], {})}
    out = console()
    if out.width < _NARROW:
        for name, text in fields.items():
            out.print(Text(f"{name}: ", style="cyan").append(Text(text, style="default")))
        return
    table = Table.grid(padding=(0, 2))
    for name, text in fields.items():
        table.add_row(Text(name, style="cyan"), Text(printable(text)))
    out.print(table)


@click.command("list")
@click.option("--tier", type=click.Choice([str(tier) for tier in Tier]), help="Only this tier.")
@click.option(
    "--priority", "-p", type=click.Choice([str(priority) for priority in Priority]), help="Only this priority."
)
@click.option(
    "--retention",
    type=click.Choice([*(str(retention) for retention in Retention if retention is not Retention.PURGED), "any"]),
    default="active", show_default=True, help="Only this retention.",
)  # fmt: skip
@kind_option(help="Only this kind.")
@click.option("--tag", "-t", "tags", multiple=True, help="Only memories with this tag (repeatable: any of them).")
@click.option("--limit", "-n", type=click.IntRange(0, 1000), default=50, show_default=True, help="How many per page.")
@click.option("--cursor", help="The cursor of the last page.")
@click.option("--ids", is_flag=True, help="Print only the ids, one per line.")
@click.option("--keys", is_flag=True, help="Print the keys of all visible memories in order, one per line.")
@click.option("--depth", type=click.IntRange(min=1), help="With --keys: cut keys behind that many slashes, once each.")
@click.option("--order", type=click.Choice(get_args(OrderName)), default="newest", show_default=True, help="The order.")
@click.option("--count", is_flag=True, help="Print only how many memories match.")
@contains_option
@filter_options
@inside_option
@store_option
@json_option
def list_(
    tags: tuple[str, ...],
    limit: int,
    cursor: str | None,
    ids: bool,
    keys: bool,
    prefix: str | None,
    depth: int | None,
    order: OrderName,
    count: bool,
    store: StoreOptions,
    as_json: bool,
    **filters: Any,  # noqa: ANN401
) -> None:
    """List memories, newest first unless another order is given, a page at a time.

    \b
    memotherm list --tier hot
    memotherm list --retention deleted --json
    memotherm list --since 7d --where status=open --inside
    memotherm list --tag sprint-12 --ids | xargs -n 1 memotherm archive
    memotherm list --keys --prefix plans/ --depth 1
    memotherm list --contains deploy --order largest
    """
    if keys:
        _list_keys(store, prefix or "", depth, limit, cursor, as_json=as_json)
        return
    if depth is not None:
        raise click.UsageError("--depth is an option of --keys: add it")
    if count:
        _print_count(store, as_json=as_json, tags=tags or None, prefix=prefix, **filters)
        return
    with opened(store, existing=True) as mem:
        page = mem.find(tags=tags or None, prefix=prefix, limit=limit, cursor=cursor, order=order, **filters)
        elsewhere = [] if page.memories else whereabouts(mem, store, page.hint)
    if as_json:
        hint = {"hint": page.hint} if page.hint else {}
        print_json({"memories": [memory_json(memory) for memory in page], "cursor": page.cursor, **hint})
        return
    if ids:
        click.echo("".join(f"{memory.id}\n" for memory in page), nl=False)
    elif page.memories:
        _print_memories(page.memories)
    if not page.memories:
        print_notes(["no memory matches", *elsewhere])
    if page.cursor:
        print_notes([f"more with --cursor {page.cursor}"])


def _print_count(store: StoreOptions, *, as_json: bool, **filters: Any) -> None:  # noqa: ANN401
    with opened(store, existing=True) as mem:
        found = mem.count(**filters)
    if as_json:
        print_json({"count": found})
    else:
        click.echo(found)


def _list_keys(
    store: StoreOptions, prefix: str, depth: int | None, limit: int, after: str | None, *, as_json: bool
) -> None:
    with opened(store, existing=True) as mem:
        found = mem.keys(prefix, depth, limit, after)
    # A full page may be the last one.
    cursor = found[-1] if found and len(found) == limit else None
    if as_json:
        print_json({"keys": found, "cursor": cursor})
        return
    click.echo("".join(f"{printable(key)}\n" for key in found), nl=False)
    if not found:
        print_notes(["no key matches"])
    if cursor:
        print_notes([f"more with --cursor {cursor}"])


@click.command("history")
@click.argument("memory_id", metavar="ID")
@store_option
@json_option
def history(memory_id: str, store: StoreOptions, as_json: bool) -> None:
    """Show the events of a memory: time, actor, rule and reason.

    \b
    memotherm history mem_01J8ZQ4X0000000000000000
    """
    with opened(store, existing=True) as mem:
        memory_id = mem.full_id(memory_id)
        ledger = mem.history(memory_id)
    if as_json:
        print_json({"id": memory_id, "events": [event_json(event) for event in ledger]})
        return
    out = console()
    for event in ledger:
        out.print(event_line(event))


@click.command("events")
@click.option("--oldest-first", is_flag=True, help="Start with the oldest event.")
@click.option("--limit", "-n", type=click.IntRange(0, 1000), default=50, show_default=True, help="How many per page.")
@click.option("--cursor", help="The cursor of the last page; `after-N` and `before-N` start at event N.")
@inside_option
@store_option
@json_option
def events(
    oldest_first: bool, limit: int, cursor: str | None, inside: bool, store: StoreOptions, as_json: bool
) -> None:
    """Show the events of all memories, newest first, a page at a time.

    \b
    memotherm events --limit 20
    memotherm events --cursor after-1200 --json
    """
    with opened(store, existing=True) as mem:
        page = mem.events(limit, cursor, oldest_first, inside)
    if as_json:
        print_json({"events": [event_json(event) for event in page], "cursor": page.cursor})
        return
    out = console()
    for event in page:
        line = event_line(event)
        line.append(f"  {event.memory_id}", style="dim")
        out.print(line)
    if not page.events:
        print_notes(["there are no events"])
    if page.cursor:
        print_notes([f"more with --cursor {page.cursor}"])


@click.command("receipts")
@click.option("--limit", "-n", type=click.IntRange(0, 1000), default=20, show_default=True, help="How many per page.")
@click.option("--cursor", help="The cursor of the last page.")
@click.option("--memory", "memory_id", metavar="ID", help="Say for each context why this memory was in it or not.")
@store_option
@json_option
def receipts(limit: int, cursor: str | None, memory_id: str | None, store: StoreOptions, as_json: bool) -> None:
    """Show what contexts have injected into sessions, and why, newest first.

    Contexts of the scope and of all narrower ones are shown.

    \b
    memotherm receipts --session s1
    memotherm receipts --limit 1 --json
    memotherm receipts --limit 1 --memory mem_01J8ZQ4X0000000000000000
    """
    with opened(store, existing=True) as mem:
        page = mem.receipts(limit=limit, cursor=cursor)
        if memory_id is not None:
            whole = memory_id if len(memory_id) == _ID_LENGTH else mem.full_id(memory_id)
            _print_answers([mem.explain_receipt(receipt.number, whole) for receipt in page], as_json=as_json)
            return
    if as_json:
        print_json({"receipts": [receipt.as_dict() for receipt in page], "cursor": page.cursor})
        return
    out = console()
    for receipt in page:
        out.print(receipt_lines(receipt))
    if not page.receipts:
        print_notes(["no receipt is kept"])
    if page.cursor:
        print_notes([f"more with --cursor {page.cursor}"])


def _print_answers(answers: list[ReceiptAnswer], *, as_json: bool) -> None:
    """Print for each receipt whether a memory was in its context, and why."""
    if as_json:
        print_json({"answers": [answer.as_dict() for answer in answers]})
        return
    for answer in answers:
        click.echo(f"#{answer.receipt:<3} {answer.state.replace('_', ' ')}: {answer.reason}")
    if not answers:
        print_notes(["no receipt is kept"])


@click.command("status")
@inside_option
@store_option
@json_option
def status(inside: bool, store: StoreOptions, as_json: bool) -> None:
    """Show how much each tier holds, and how it can be searched.

    \b
    memotherm status --project shop
    memotherm status --inside
    """
    with opened(store, existing=True) as mem:
        current = mem.status(inside=inside)
        elsewhere = whereabouts(mem, store, current.hint)
        metrics = metrics_json(mem.metrics())
    if as_json:
        sizes = {"bytes": current.bytes, "seq": current.seq, "schema": current.schema}
        print_json({**status_json(current), **sizes, "metrics": metrics})
        return
    out = console()
    out.print(Text(f"{current.store}  ({current.scope})", style="bold"))
    for tier in Tier:
        out.print(tier_bar(current, tier, out.width))
    hidden = {name: count for name, count in current.retention.items() if name is not Retention.ACTIVE and count}
    totals = [f"{current.bytes / 1e6:.1f} MB", f"embedder {current.embedder}", f"policy {current.policy or 'builtin'}"]
    out.print(Text(" · ".join([*totals, *(f"{count} {name}" for name, count in hidden.items())]), style="dim"))
    print_notes([*current.degraded, *elsewhere])


def _print_memories(memories: tuple[Memory, ...]) -> None:
    """Print a table of memories; in a narrow terminal, each as a line and its content below it."""
    out = console()
    if out.width >= _NARROW:
        out.print(_table(memories))
        return
    for memory in memories:
        out.print(Text(memory.id, style="dim"))
        line = memory_line(memory)
        line.truncate(_NARROW * 2, overflow="ellipsis")
        out.print(line)


def _table(memories: tuple[Memory, ...]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("tier", "priority", "kind"):
        table.add_column(name, no_wrap=True)
    table.add_column("memory", ratio=1)
    table.add_column("id", no_wrap=True, style="dim")
    for memory in memories:
        content = Text(printable(" ".join(memory.content.split())))
        content.truncate(160, overflow="ellipsis")
        for tag in memory.tags:
            content.append(f" #{tag}", style="green")
        tier = Text(str(memory.tier), style=TIER_STYLES[memory.tier])
        table.add_row(tier, str(memory.priority), memory.kind, content, memory.id)
    return table


def _as_text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{name}={item}" for name, item in value.items())
    return str(value)
