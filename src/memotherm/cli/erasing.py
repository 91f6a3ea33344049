"""`memotherm erase`: erase everything at and below a scope."""

from __future__ import annotations

import sys

import click

from memotherm import Memotherm
from memotherm.cli.options import StoreOptions, dry_run_option, json_option, opened, store_option
from memotherm.cli.output import print_json, print_notes
from memotherm.errors import InvalidInput
from memotherm.text.content import pluralize
from memotherm.tools.serializers import erased_json

__all__ = ["command"]


@click.command("erase")
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
@dry_run_option
@store_option
@json_option
def command(yes: bool, dry_run: bool, store: StoreOptions, as_json: bool) -> None:
    """Erase everything at and below a scope permanently, such as all memories of a user.

    Memories of any retention, vectors, words, former contents, recall log, receipts, sessions and the jobs of hooks
    are erased. Checkpoints, exports and files of notes are not.

    \b
    memotherm erase --user ana --dry-run
    memotherm erase --user ana --yes
    """
    if not store.scope.items():
        raise click.UsageError("name the scope to erase, such as --user ana")
    with opened(store, dry_run=dry_run, existing=True) as mem:
        if not dry_run and not yes:
            _confirm(mem)
        erased = mem.erase(jobs=not dry_run)
    if as_json:
        print_json({**erased_json(erased), "dry_run": dry_run})
        return
    counts = {name: value for name, value in erased_json(erased).items() if isinstance(value, int)}
    click.echo(f"{store.scope}: {', '.join(f'{name} {count}' for name, count in counts.items())}")
    print_notes(f"the notes in {folder} are files: delete them yourself" for folder in erased.folders)
    if dry_run:
        print_notes(["dry run: nothing was changed"])


def _confirm(mem: Memotherm) -> None:
    """Let the user type the scope."""
    if not sys.stdin.isatty():
        raise click.UsageError("erase is permanent and standard input is not a terminal: pass --yes")
    for count in mem.scopes():
        click.echo(f"{count.scope}: {pluralize(count.memories, 'memory')}", err=True)
    if click.prompt(f"Type {str(mem.scope)!r} to erase all of it", err=True) != str(mem.scope):
        raise InvalidInput("that is not the scope: nothing was erased")
