"""`memotherm scopes`: the scopes of a store, and where its memories are if none can be seen."""

from __future__ import annotations

import click
from rich.table import Table

import memotherm
from memotherm import Memotherm, Scope
from memotherm.cli.formatting import console
from memotherm.cli.options import StoreOptions, json_option, opened, store_option
from memotherm.cli.output import print_json, print_notes
from memotherm.cli.terminal import printable
from memotherm.model import Tier
from memotherm.text.content import pluralize
from memotherm.tools.serializers import scope_count_json

__all__ = ["command", "whereabouts"]

_MOST_NAMED = 5


@click.command("scopes")
@store_option
@json_option
def command(store: StoreOptions, as_json: bool) -> None:
    """List the scopes at and below the given one that hold memories, with counts and sizes.

    \b
    memotherm scopes
    memotherm scopes --project shop --json
    """
    with opened(store, existing=True) as mem:
        counts = mem.scopes()
    if as_json:
        print_json({"scopes": [scope_count_json(count) for count in counts]})
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("scope", ratio=1)
    for name in ("memories", *Tier, "tokens", "hidden"):
        table.add_column(str(name), justify="right", no_wrap=True)
    for count in counts:
        tiers = [f"{count.tiers[tier].memories:,}" for tier in Tier]
        numbers = (f"{count.memories:,}", *tiers, f"{count.tokens:,}", f"{count.hidden:,}")
        table.add_row(printable(str(count.scope)), *numbers)
    if counts:
        console().print(table)
    else:
        print_notes(["no scope holds memories"])


def whereabouts(mem: Memotherm, store: StoreOptions, hint: str) -> list[str]:
    """Return notes about where the memories are, if the scope of a command can see none.

    Args:
        mem: The memory in the scope of the command.
        store: The store of the command.
        hint: What the memory itself says, which looks at narrower scopes only.
    """
    if hint:
        return [f"{hint}; --inside includes them"]
    if not store.scope.items() or any(count.memories for count in mem.status().tiers.values()):
        return []
    with memotherm.open(store.url, scope=Scope(tenant=store.scope.tenant)) as outer:
        counts = sorted((count for count in outer.scopes() if count.memories), key=lambda count: -count.memories)
    if not counts:
        return []
    total = pluralize(sum(count.memories for count in counts), "memory")
    named = ", ".join(f"{count.scope} ({count.memories})" for count in counts[:_MOST_NAMED])
    return [f"{total} of this store in other scopes: {named}; `memotherm scopes` lists all"]
