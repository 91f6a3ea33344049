"""`memotherm search`: search memories in the given tiers."""

from __future__ import annotations

import click

from memotherm.cli.formatting import console, hit_line
from memotherm.cli.options import StoreOptions, json_option, opened, store_option
from memotherm.cli.output import print_json, print_notes, search_json, searched_tiers
from memotherm.cli.parsing import TextCommand
from memotherm.model import Tier
from memotherm.model.memory import TierName

__all__ = ["command"]


@click.command("search", cls=TextCommand)
@click.argument("query")
@click.option(
    "--tier",
    "tiers",
    multiple=True,
    type=click.Choice([str(tier) for tier in Tier]),
    help="The tiers to search (repeatable); default: hot and warm.",
)
@click.option("--include-cold", is_flag=True, help="Search cold memories as well.")
@click.option("--limit", "-n", type=click.IntRange(min=0), default=10, show_default=True, help="How many hits.")
@store_option
@json_option
def command(
    query: str, tiers: tuple[TierName, ...], include_cold: bool, limit: int, store: StoreOptions, as_json: bool
) -> None:
    """Search memories in the given tiers; `recall` has more filters.

    \b
    memotherm search "staging database" --tier cold
    """
    with opened(store, existing=True) as mem:
        recall = mem.recall(query, limit, searched_tiers(tiers, include_cold=include_cold))
    if as_json:
        print_json(search_json(recall, limit))
        return
    out = console()
    for hit in recall:
        out.print(hit_line(hit))
    print_notes([*([] if len(recall) else ["no memory matches"]), *recall.degraded])
