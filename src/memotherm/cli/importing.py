"""`memotherm import`: import memories of another program, or an export."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from memotherm.cli.options import StoreOptions, dry_run_option, json_option, opened, store_option
from memotherm.cli.output import content_of
from memotherm.cli.progress import progress_bar, timing
from memotherm.notes import KINDS
from memotherm.settings.paths import write_text

__all__ = ["command"]


@click.command("import")
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("path", type=click.Path())
@dry_run_option
@store_option
@json_option
def command(kind: str, path: str, dry_run: bool, store: StoreOptions, as_json: bool) -> None:
    """Import the memories of another program, or of an export, from PATH; a second import stores nothing twice.

    PATH may be `-` for standard input.

    \b
    memotherm import claude-code ~/.claude --dry-run
    memotherm import jsonl memories.jsonl
    """
    started = time.monotonic()
    with (
        opened(store, dry_run=dry_run) as mem,
        _file(path) as source,
        progress_bar("entries", quiet=as_json, keeps=not dry_run) as progress,
    ):
        imported = mem.import_(kind, source, progress)
        took = timing(time.monotonic() - started, mem.embedding_seconds)
    if as_json:
        summary = {
            "kind": imported.kind,
            "dry_run": dry_run,
            "files": imported.files,
            "stored": imported.stored,
            "duplicates": imported.duplicates,
            "purged": imported.purged,
            "redacted": imported.redacted,
            "skipped": [{"path": skipped.path, "why": skipped.why} for skipped in imported.skipped],
        }
        click.echo(json.dumps(summary, ensure_ascii=False, indent=2))
        return
    for skipped in imported.skipped:
        click.echo(f"note: {skipped}", err=True)
    click.echo(f"{imported}{' (dry run: nothing was stored)' if dry_run else ''}")
    click.echo(f"note: {took}", err=True)


@contextmanager
def _file(path: str) -> Iterator[Path]:
    """Return the path of what is imported; for `-`, a file with the whole standard input."""
    if path != "-":
        yield Path(path)
        return
    with tempfile.TemporaryDirectory(prefix="memotherm-import-") as folder:
        file = Path(folder) / "stdin"
        write_text(file, content_of(path))
        yield file
