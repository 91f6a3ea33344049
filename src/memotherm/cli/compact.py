"""`memotherm compact`: run the tier rules once."""

from __future__ import annotations

import json

import click

from memotherm.cli.options import StoreOptions, json_option, opened, store_option
from memotherm.tools.serializers import move_json

__all__ = ["command"]


@click.command("compact")
@click.option("--dry-run", is_flag=True, help="Print what would move, without moving it.")
@store_option
@json_option
def command(dry_run: bool, store: StoreOptions, as_json: bool) -> None:
    """Run the tier rules once, and print the moves.

    \b
    memotherm compact --dry-run
    """
    with opened(store) as mem:
        run = mem.compact(dry_run=dry_run)
    if as_json:
        counts = {"hot": run.hot, "warm": run.warm, "cold": run.cold, "dry_run": run.dry_run}
        moves = [move_json(move) for move in run.moves]
        click.echo(json.dumps({**counts, "moves": moves, "degraded": list(run.degraded)}, indent=2))
        return
    for move in run.moves:
        click.echo(str(move))
    click.echo(f"{run}{' (dry run: nothing was moved)' if dry_run else ''}")
    for reason in run.degraded:
        click.echo(f"note: {reason}", err=True)
