"""`memotherm import`: remember what another program keeps."""

from __future__ import annotations

import json

import click

from memotherm.cli.options import StoreOptions, dry_run_option, json_option, opened, store_option
from memotherm.notes import KINDS

__all__ = ["command"]


@click.command("import")
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("path", type=click.Path())
@dry_run_option
@store_option
@json_option
def command(kind: str, path: str, dry_run: bool, store: StoreOptions, as_json: bool) -> None:
    """Remember what another program keeps in PATH; importing it twice brings nothing twice.

    \b
    memotherm import claude-code ~/.claude --dry-run
    memotherm import jsonl memories.jsonl
    """
    with opened(store, dry_run=dry_run) as mem:
        done = mem.import_(kind, path)
    if as_json:
        told = {
            "kind": done.kind,
            "dry_run": dry_run,
            "files": done.files,
            "stored": done.stored,
            "duplicates": done.duplicates,
            "purged": done.purged,
            "skipped": [{"path": each.path, "why": each.why} for each in done.skipped],
        }
        click.echo(json.dumps(told, ensure_ascii=False, indent=2))
        return
    for each in done.skipped:
        click.echo(f"note: {each}", err=True)
    click.echo(f"{done}{' (dry run: nothing was stored)' if dry_run else ''}")
