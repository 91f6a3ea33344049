"""`memotherm check`, `checkpoint`, `restore-checkpoint`, `reembed`: commands for the whole store."""

from __future__ import annotations

from pathlib import Path

import click

import memotherm
from memotherm.cli import exit_codes
from memotherm.cli.options import StoreOptions, json_option, opened, store_option
from memotherm.cli.output import print_json, problem_json
from memotherm.cli.progress import progress_bar
from memotherm.text.content import pluralize

__all__ = ["check", "checkpoint", "reembed", "restore_checkpoint"]


@click.command("check")
@store_option
@json_option
def check(store: StoreOptions, as_json: bool) -> int:
    """Verify the whole store; exit with 1 and print the problems if there are any."""
    with opened(store, existing=True) as mem:
        problems = mem.check()
    if as_json:
        print_json({"ok": not problems, "problems": [problem_json(problem) for problem in problems]})
    else:
        for problem in problems:
            click.echo(str(problem))
        if not problems:
            click.echo("no problems")
    return exit_codes.FAILURE if problems else exit_codes.OK


@click.command("checkpoint")
@click.argument("path", type=click.Path())
@store_option
@json_option
def checkpoint(path: str, store: StoreOptions, as_json: bool) -> None:
    """Write a consistent copy of the whole store to a new file; the store stays in use.

    \b
    memotherm checkpoint backup.db
    memotherm restore-checkpoint backup.db agent.db
    """
    with opened(store, existing=True) as mem:
        target = mem.checkpoint(path)
    _print_file(target, as_json=as_json)


@click.command("restore-checkpoint")
@click.argument("path", type=click.Path())
@click.argument("into", type=click.Path())
@click.option("--purged-in", type=click.Path(), help="The store whose purges are repeated; default: the original.")
@click.option("--with-purged", is_flag=True, help="Restore what was purged since, too.")
@json_option
def restore_checkpoint(path: str, into: str, purged_in: str | None, with_purged: bool, as_json: bool) -> None:
    """Create a store from a checkpoint, without what was purged since it was made.

    \b
    memotherm restore-checkpoint backup.db agent.db
    memotherm restore-checkpoint backup.db new.db --purged-in agent.db
    """
    _print_file(memotherm.restore(path, into, purged_in, repeat_purges=not with_purged), as_json=as_json)


def _print_file(target: Path, *, as_json: bool) -> None:
    size = target.stat().st_size
    if as_json:
        print_json({"path": str(target), "bytes": size})
    else:
        click.echo(f"{target} ({size / 1e6:.1f} MB)")


@click.command("reembed")
@store_option
@json_option
def reembed(store: StoreOptions, as_json: bool) -> None:
    """Create missing vectors; after a change of embedder, all of them.

    An interrupted run continues where it stopped. The old vectors are used until all new ones exist.
    """
    with opened(store, existing=True) as mem, progress_bar("vectors", quiet=as_json) as progress:
        embedded = mem.reembed(progress)
    if as_json:
        print_json({"embedded": embedded})
    else:
        click.echo(f"vectors created for {pluralize(embedded, 'memory')}")
