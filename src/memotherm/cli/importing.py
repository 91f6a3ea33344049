"""`memotherm import`: import memories of another program, or an export."""

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
    """Import the memories of another program, or of an export, from PATH; a second import stores nothing twice.

    \b
    memotherm import claude-code ~/.claude --dry-run
    memotherm import jsonl memories.jsonl
    """
    with opened(store, dry_run=dry_run) as mem:
        imported = mem.import_(kind, path)
    if as_json:
        summary = {
            "kind": imported.kind,
            "dry_run": dry_run,
            "files": imported.files,
            "stored": imported.stored,
            "duplicates": imported.duplicates,
            "purged": imported.purged,
            "skipped": [{"path": skipped.path, "why": skipped.why} for skipped in imported.skipped],
        }
        click.echo(json.dumps(summary, ensure_ascii=False, indent=2))
        return
    for skipped in imported.skipped:
        click.echo(f"note: {skipped}", err=True)
    click.echo(f"{imported}{' (dry run: nothing was stored)' if dry_run else ''}")
