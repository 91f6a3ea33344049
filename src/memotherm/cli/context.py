"""`memotherm context`: print a context within a token budget."""

from __future__ import annotations

from datetime import datetime

import click

from memotherm.cli.options import StoreOptions, json_option, opened, store_option
from memotherm.cli.output import content_of, print_json, print_notes
from memotherm.cli.parsing import Moment, TextCommand
from memotherm.cli.terminal import printable
from memotherm.model.memory import FormatName

__all__ = ["command"]


@click.command("context", cls=TextCommand)
@click.argument("query", required=False)
@click.option("--budget", "-b", type=click.IntRange(min=0), default=2000, show_default=True, help="The most tokens.")
@click.option(
    "--format", type=click.Choice(["markdown", "xml", "messages", "index"]), default="markdown", show_default=True,
    help="The format of the text.",
)  # fmt: skip
@click.option("--include-cold/--no-cold", default=None, help="Whether to search cold memories; default: the setting.")
@click.option(
    "--receipt", is_flag=True, help="Print the receipt on standard error: what is included, what is not, and why."
)
@click.option("--no-track", is_flag=True, help="Do not count this as a use of the memories.")
@click.option("--as-of", type=Moment(), help="Assemble it from the store as it was at an earlier time (UTC).")
@store_option
@json_option
def command(
    query: str | None,
    budget: int,
    format: FormatName,
    include_cold: bool | None,
    receipt: bool,
    no_track: bool,
    as_of: datetime | None,
    store: StoreOptions,
    as_json: bool,
) -> None:
    """Print pinned, hot and recalled memories within a token budget.

    Pinned memories come first, then hot ones, then the hits of the query.

    \b
    memotherm context "deploy the shop" --budget 800
    memotherm context --receipt
    """
    text = None if query is None else content_of(query)
    with opened(store, existing=True) as mem:
        context = mem.context(text, budget, format, include_cold=include_cold, track=not no_track, as_of=as_of)
    if as_json:
        sizes = {"tokens": context.tokens, "budget": context.budget}
        print_json(
            {"text": context.text, **sizes, "recall_id": context.recall_id, "receipt": context.receipt.as_dict()}
        )
        return
    if context.text:
        click.echo(printable(context.text))
    if receipt:
        click.echo(str(context.receipt), err=True)
    else:
        found = [] if context.text else ["the context is empty"]
        print_notes([*found, *context.receipt.notes, *context.degraded])
