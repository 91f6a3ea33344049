"""`memotherm recall`: search memories, with all filters."""

from __future__ import annotations

from typing import Any

import click

from memotherm.cli.filters import filter_options, inside_option
from memotherm.cli.formatting import console, hit_line
from memotherm.cli.options import StoreOptions, json_option, kind_option, opened, store_option
from memotherm.cli.output import content_of, print_json, print_notes, search_json, searched_tiers
from memotherm.cli.parsing import Moment, TextCommand
from memotherm.cli.scopes import whereabouts
from memotherm.model import Tier
from memotherm.model.memory import TierName

__all__ = ["command"]


@click.command("recall", cls=TextCommand)
@click.argument("query")
@click.option("--limit", "-n", type=click.IntRange(min=0), default=10, show_default=True, help="How many hits.")
@click.option(
    "--tier", "tiers", multiple=True, type=click.Choice([str(tier) for tier in Tier]),
    help="The tiers to search (repeatable); default: hot and warm.",
)  # fmt: skip
@kind_option("kinds", multiple=True, help="Only this kind (repeatable).")
@click.option("--include-cold", is_flag=True, help="Search cold memories as well.")
@click.option("--tag", "-t", "tags", multiple=True, help="Only memories with this tag (repeatable).")
@click.option("--min-score", type=click.FloatRange(0, 1), help="The least relevance; default: the setting.")
@click.option("--promote", is_flag=True, help="Promote the best hits to hot.")
@click.option("--no-track", is_flag=True, help="Do not count this as a use of the hits.")
@click.option(
    "--retention", type=click.Choice(["active", "archived", "deleted", "any"]), default="active", show_default=True,
    help="Search archived or deleted memories.",
)  # fmt: skip
@click.option("--as-of", type=Moment(), help="Search the store as it was at an earlier time (UTC).")
@filter_options
@inside_option
@store_option
@json_option
def command(
    query: str,
    limit: int,
    tiers: tuple[TierName, ...],
    store: StoreOptions,
    as_json: bool,
    no_track: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Search memories by meaning and words, best first, with reasons.

    \b
    memotherm recall "can I ship today?"
    memotherm recall "which database?" --tier cold --kind decision --json
    memotherm recall "open questions" --since 30d --where status=open --inside
    """
    with opened(store, existing=True) as mem:
        recall = mem.recall(
            content_of(query),
            limit,
            searched_tiers(tiers, include_cold=options["include_cold"]),
            kinds=options["kinds"] or None,
            tags=options["tags"] or None,
            min_score=options["min_score"],
            promote=options["promote"],
            track=not no_track,
            as_of=options["as_of"],
            since=options["since"],
            until=options["until"],
            where=options["where"],
            prefix=options["prefix"],
            retention=options["retention"],
            inside=options["inside"],
        )
        elsewhere = [] if recall.hits else whereabouts(mem, store, recall.hint)
    if as_json:
        print_json(search_json(recall, limit))
        return
    out = console()
    for hit in recall:
        line = hit_line(hit)
        line.append(f"  {hit.memory.id}", style="dim")
        out.print(line)
    found = [] if len(recall) else ["no memory matches", *elsewhere]
    print_notes([*found, *recall.degraded, *(f"{memory_id} moved to hot" for memory_id in recall.promoted)])
