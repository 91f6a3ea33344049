"""`memotherm migrate`, `partition` and `distribute`: move a store, or divide its tables by tenant."""

from __future__ import annotations

import click

import memotherm
from memotherm.cli.options import json_option
from memotherm.cli.output import print_json
from memotherm.cli.progress import progress_bar

__all__ = ["command", "distribute", "partition"]


@click.command("migrate")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@json_option
def command(source: str, target: str, as_json: bool) -> None:
    """Copy a whole store with all its events to another file or database.

    FROM and TO are paths or URLs. An interrupted copy continues when the command is repeated. At the end both
    stores are compared row by row.

    \b
    memotherm migrate agent.db postgresql://memotherm@db.example/memotherm
    memotherm migrate postgresql://memotherm@db.example/memotherm copy.db --json
    """
    with progress_bar("rows", quiet=as_json) as progress:
        migration = memotherm.migrate(source, target, progress=progress)
    if as_json:
        print_json(
            {
                "source": migration.source,
                "target": migration.target,
                "rows": dict(migration.rows),
                "digest": migration.digest,
            }
        )
    else:
        click.echo(str(migration))


@click.command("partition")
@click.argument("store", metavar="URL")
@click.option("--parts", type=click.IntRange(2, 256), default=16, show_default=True, help="The number of partitions.")
@json_option
def partition(store: str, parts: int, as_json: bool) -> None:
    """Partition the tables of a PostgreSQL store by tenant, in one transaction.

    The store is locked meanwhile.

    \b
    memotherm partition postgresql://memotherm@db.example/memotherm --parts 32
    """
    tables = memotherm.partition(store, parts)
    if as_json:
        print_json({"parts": parts, "tables": tables})
    else:
        click.echo(f"{len(tables)} tables have {parts} partitions each")


@click.command("distribute")
@click.argument("store", metavar="URL")
@click.option("--shards", type=click.IntRange(1, 1024), default=32, show_default=True, help="The number of shards.")
@json_option
def distribute(store: str, shards: int, as_json: bool) -> None:
    """Distribute the tables of a store over the nodes of a Citus cluster by tenant, and verify every row.

    URL is the store's on the coordinator. The store cannot be used until the end. If the command is interrupted, run
    it again: it resumes where it stopped.

    \b
    memotherm distribute postgresql://memotherm@coordinator.example/memotherm --shards 64
    """
    distribution = memotherm.distribute(store, shards)
    if as_json:
        print_json(
            {
                "store": distribution.store,
                "nodes": list(distribution.nodes),
                "shards": distribution.shards,
                "rows": dict(distribution.rows),
                "digest": distribution.digest,
            }
        )
    else:
        click.echo(str(distribution))
