"""`memotherm migrate` and `partition`: when a store outgrows its place."""

from __future__ import annotations

import click

import memotherm
from memotherm.cli.options import json_option
from memotherm.cli.output import print_json
from memotherm.cli.progress import counting

__all__ = ["command", "partition"]


@click.command("migrate")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@json_option
def command(source: str, target: str, as_json: bool) -> None:
    """Copy a whole store into a new one, on another database or the same: every number, every event.

    FROM and TO are paths or URLs. What was interrupted goes on when the command is given again; at the end
    both stores are compared, row by row.

    \b
    memotherm migrate agent.db postgresql://memotherm@db.example/memotherm
    memotherm migrate postgresql://memotherm@db.example/memotherm copy.db --json
    """
    with counting("rows", quiet=as_json) as progress:
        done = memotherm.migrate(source, target, progress=progress)
    if as_json:
        print_json({"source": done.source, "target": done.target, "rows": dict(done.rows), "digest": done.digest})
    else:
        click.echo(str(done))


@click.command("partition")
@click.argument("store", metavar="URL")
@click.option("--parts", type=click.IntRange(2, 256), default=16, show_default=True, help="How many parts.")
@json_option
def partition(store: str, parts: int, as_json: bool) -> None:
    """Cut the tables of a PostgreSQL store into parts by tenant, in one transaction.

    Others wait meanwhile, so choose a quiet hour, or do it while the store is still small.

    \b
    memotherm partition postgresql://memotherm@db.example/memotherm --parts 32
    """
    tables = memotherm.partition(store, parts)
    if as_json:
        print_json({"parts": parts, "tables": tables})
    else:
        click.echo(f"{len(tables)} tables have {parts} parts each")
