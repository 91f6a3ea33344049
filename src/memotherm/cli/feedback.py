"""`memotherm feedback`: say which memories of a recall were of use."""

from __future__ import annotations

import click

from memotherm.cli.options import StoreOptions, json_option, opened, store_option
from memotherm.cli.output import content_of, print_json

__all__ = ["command"]


@click.command("feedback")
@click.argument("recall_id", required=False)
@click.option("--used", multiple=True, metavar="ID", help="A memory that was used (repeatable).")
@click.option("--answer", default="", help="What the agent answered; `-` reads it from standard input.")
@click.option("--at", help="When that was, if not now, such as 5m (ago).")
@store_option
@json_option
def command(
    recall_id: str | None, used: tuple[str, ...], answer: str, at: str | None, store: StoreOptions, as_json: bool
) -> None:
    """Say which memories of a recall were of use, so that tiers follow what helps.

    RECALL_ID is in the JSON of a recall or context; without it, the last recalls of the scope are meant.

    \b
    memotherm feedback --used mem_01J8ZQ4X0000000000000000
    memotherm feedback rec_01J8ZQ4X0000000000000000 --answer "The port is 5433."
    """
    with opened(store, existing=True) as mem:
        found = mem.feedback(recall_id, [mem.full_id(memory_id) for memory_id in used], content_of(answer), at)
    if as_json:
        from memotherm.tools.serializers import feedback_json

        print_json(feedback_json(found))
        return
    for strength, ids in (("confirmed", found.confirmed), ("reflected", found.reflected)):
        for memory_id in ids:
            click.echo(f"{memory_id} {strength}")
    if not found.confirmed and not found.reflected:
        click.echo("nothing new")
