"""`memotherm check`, `checkpoint`, `restore-checkpoint`, `reembed`, `export`: commands for the whole store."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import click

import memotherm
from memotherm import Memotherm
from memotherm.cli import exit_codes
from memotherm.cli.options import StoreOptions, json_option, opened, store_option
from memotherm.cli.output import print_json, print_notes, problem_json
from memotherm.cli.progress import progress_bar
from memotherm.errors import InvalidInput
from memotherm.model import Retention
from memotherm.settings.private_files import write_text
from memotherm.text.quantity import pluralize
from memotherm.tools.serializers import memory_json

__all__ = ["check", "checkpoint", "export", "reembed", "restore_checkpoint"]

_PAGE = 1000


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


@click.command("export")
@click.argument("path", type=click.Path(), default="-")
@click.option("--all", "include_archived", is_flag=True, help="Include archived memories.")
@store_option
def export(path: str, include_archived: bool, store: StoreOptions) -> None:
    """Write memories as JSON lines, oldest first; `import jsonl` reads them.

    \b
    memotherm export memories.jsonl --project shop
    memotherm import jsonl memories.jsonl --store other.db
    """
    retentions = [Retention.ARCHIVED, Retention.ACTIVE] if include_archived else [Retention.ACTIVE]
    with opened(store, existing=True) as mem:
        with progress_bar("memories", keeps=False) as progress:
            lines = _lines(mem, retentions, progress)
        visible, inside = (mem.status(inside=narrower).retention[Retention.ACTIVE] for narrower in (False, True))
    if not visible and inside:
        print_notes([f"0 of {inside} memories: they are in narrower scopes, name one with --project, --user, ..."])
    if path == "-":
        for line in lines:
            click.echo(line)
        return
    try:
        write_text(Path(path).expanduser(), "".join(f"{line}\n" for line in lines))
    except OSError as exc:
        raise InvalidInput(f"cannot write {path}: {exc.strerror or exc}") from exc
    click.echo(f"{pluralize(len(lines), 'memory')} written to {path}", err=True)


def _lines(mem: Memotherm, retentions: Sequence[Retention], progress: Callable[[int, int], None]) -> list[str]:
    """Return the memories of each retention as JSON, oldest first."""
    counts = mem.status().retention
    total = sum(counts[retention] for retention in retentions)
    lines: list[str] = []
    for retention in retentions:
        own: list[str] = []
        cursor: str | None = None
        while True:
            page = mem.find(retention=retention, limit=_PAGE, cursor=cursor)
            own += [json.dumps(memory_json(memory), ensure_ascii=False) for memory in page]
            progress(len(lines) + len(own), total)
            cursor = page.cursor
            if cursor is None:
                break
        lines += reversed(own)
    return lines
