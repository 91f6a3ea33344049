"""`thermocline maintain`: expiry, cooling by disuse, retention windows."""

from __future__ import annotations

import json

import click

from thermocline.cli.opened import json_option, opened, store_option
from thermocline.tools import move_json

__all__ = ["command"]

_COUNTS = ("expired", "archived", "deleted", "purged", "embedded")


@click.command("maintain")
@store_option
@json_option
def command(store: str | None, as_json: bool) -> None:
    """Let expiry, cooling and retention windows do their work, and print what they did."""
    with opened(store) as mem:
        run = mem.maintain()
    counts = {name: getattr(run, name) for name in _COUNTS}
    if as_json:
        moves = [move_json(move) for move in run.moves]
        click.echo(json.dumps({**counts, "moves": moves, "degraded": list(run.degraded)}, indent=2))
        return
    for move in run.moves:
        click.echo(str(move))
    click.echo(", ".join([f"moved {len(run.moves)}", *(f"{name} {count}" for name, count in counts.items() if count)]))
    for reason in run.degraded:
        click.echo(f"note: {reason}", err=True)
