"""`memotherm maintain`: expiry, cooling and retention."""

from __future__ import annotations

import json

import click

from memotherm.cli.options import StoreOptions, dry_run_option, json_option, opened, store_option
from memotherm.cli.progress import progress_bar
from memotherm.tools.serializers import move_json

__all__ = ["command"]

_COUNTS = ("expired", "archived", "deleted", "purged", "ended", "embedded")


@click.command("maintain")
@dry_run_option
@store_option
@json_option
def command(dry_run: bool, store: StoreOptions, as_json: bool) -> None:
    """Run maintenance: expiry, cooling and retention.

    \b
    memotherm maintain --dry-run
    """
    with opened(store, dry_run=dry_run) as mem, progress_bar("changes", quiet=as_json, keeps=not dry_run) as progress:
        run = mem.maintain(progress)
    counts = {name: getattr(run, name) for name in _COUNTS}
    if as_json:
        moves = [move_json(move) for move in run.moves]
        click.echo(json.dumps({**counts, "dry_run": dry_run, "moves": moves, "degraded": list(run.degraded)}, indent=2))
        return
    for move in run.moves:
        click.echo(str(move))
    click.echo(", ".join([f"moved {len(run.moves)}", *(f"{name} {count}" for name, count in counts.items() if count)]))
    if dry_run:
        click.echo("note: dry run: nothing was changed", err=True)
    for reason in run.degraded:
        click.echo(f"note: {reason}", err=True)
