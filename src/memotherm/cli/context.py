"""`memotherm context`: what an agent should read before it works, within a budget."""

from __future__ import annotations

import click

from memotherm.cli.options import StoreOptions, json_option, opened, store_option
from memotherm.cli.output import content_of, print_json, print_notes

__all__ = ["command"]


@click.command("context")
@click.argument("query", required=False)
@click.option("--budget", "-b", type=click.IntRange(min=0), default=2000, show_default=True, help="The most tokens.")
@click.option(
    "--format", type=click.Choice(["markdown", "xml", "messages", "index"]), default="markdown", show_default=True,
    help="How the text is written.",
)  # fmt: skip
@click.option("--include-cold/--no-cold", default=None, help="Whether to search cold as well; the setting.")
@click.option("--receipt", is_flag=True, help="Also tell on standard error what is in it, what is not, and why.")
@click.option("--no-track", is_flag=True, help="Do not count this as a use.")
@store_option
@json_option
def command(
    query: str | None,
    budget: int,
    format: str,
    include_cold: bool | None,
    receipt: bool,
    no_track: bool,
    store: StoreOptions,
    as_json: bool,
) -> None:
    """Print what an agent should read before it works, in at most so many tokens.

    Pinned memories come first, then the hot ones, then what the query finds.

    \b
    memotherm context "deploy the shop" --budget 800
    memotherm context --receipt
    """
    asked = None if query is None else content_of(query)
    with opened(store) as mem:
        context = mem.context(asked, budget, format, include_cold=include_cold, track=not no_track)
    if as_json:
        told = {"text": context.text, "tokens": context.tokens, "budget": context.budget}
        print_json({**told, "receipt": context.receipt.as_dict()})
        return
    if context.text:
        click.echo(context.text)
    if receipt:
        click.echo(str(context.receipt), err=True)
    else:
        print_notes([*context.receipt.notes, *context.degraded])
