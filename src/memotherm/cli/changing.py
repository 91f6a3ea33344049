"""`memotherm move`, `pin`, `forget` and the other verbs that change one memory; each can be rehearsed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from memotherm import Memotherm
from memotherm.cli.options import StoreOptions, dry_run_option, json_option, opened, store_option
from memotherm.cli.output import content_of, print_changed, print_json, print_notes
from memotherm.model import Memory, Priority, Tier

__all__ = [
    "archive", "forget", "move", "pin", "prioritize", "purge", "restore", "undo", "unpin", "update",
]  # fmt: skip

_id = click.argument("memory_id", metavar="ID")
_why = click.option("--why", default="", help="The reason, for the ledger.")


def _options(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take what all of these take."""
    return _why(dry_run_option(store_option(json_option(command))))


def _do(store: StoreOptions, change: Callable[[Memotherm], Memory], *, dry_run: bool, as_json: bool) -> None:
    with opened(store, dry_run=dry_run) as mem:
        memory = change(mem)
    print_changed(memory, as_json=as_json, dry_run=dry_run)


@click.command("move")
@_id
@click.argument("tier", type=click.Choice([str(tier) for tier in Tier]))
@_options
def move(memory_id: str, tier: str, why: str, dry_run: bool, store: StoreOptions, as_json: bool) -> None:
    """Keep a memory in another tier: hot, warm or cold.

    \b
    memotherm move mem_01J8ZQ4X0000000000000000 cold --why "the sprint is over"
    """
    _do(store, lambda mem: mem.move(memory_id, tier, why), dry_run=dry_run, as_json=as_json)


@click.command("prioritize")
@_id
@click.argument("priority", type=click.Choice([str(each) for each in Priority]))
@_options
def prioritize(memory_id: str, priority: str, why: str, dry_run: bool, store: StoreOptions, as_json: bool) -> None:
    """Let a memory insist more, or less: pinned, critical, important, normal, low."""
    _do(store, lambda mem: mem.prioritize(memory_id, priority, why), dry_run=dry_run, as_json=as_json)


def _plain(verb: Callable[[Memotherm, str, str], Memory], told: str) -> click.Command:
    """Return the command of a verb that takes an id and a reason."""

    @click.command(verb.__name__, help=told)
    @_id
    @_options
    def command(memory_id: str, why: str, dry_run: bool, store: StoreOptions, as_json: bool) -> None:
        _do(store, lambda mem: verb(mem, memory_id, why), dry_run=dry_run, as_json=as_json)

    return command


pin = _plain(Memotherm.pin, "Include a memory always, whatever is asked.")
unpin = _plain(Memotherm.unpin, "Give a pinned memory normal priority again.")
archive = _plain(Memotherm.archive, "Hide a memory from every search; `restore` brings it back at any time.")
forget = _plain(Memotherm.forget, "Delete a memory; `restore` takes it back within the grace days.")
restore = _plain(Memotherm.restore, "Bring an archived or forgotten memory back.")


@click.command("update")
@_id
@click.option("--content", help="What it says now; `-` reads standard input.")
@click.option("--kind", "-k", help="Another kind.")
@click.option("--tag", "-t", "tags", multiple=True, help="Other tags, all of them (repeatable).")
@click.option("--ttl", help="How long it lives from now, such as 7d.")
@_options
def update(
    memory_id: str,
    content: str | None,
    tags: tuple[str, ...],
    why: str,
    dry_run: bool,
    store: StoreOptions,
    as_json: bool,
    **others: Any,  # noqa: ANN401
) -> None:
    """Change what a memory says; what you leave out stays as it is."""
    text = None if content is None else content_of(content)
    _do(
        store,
        lambda mem: mem.update(memory_id, content=text, tags=tags or None, why=why, **others),
        dry_run=dry_run,
        as_json=as_json,
    )


@click.command("undo")
@click.argument("seq", type=click.IntRange(min=1))
@dry_run_option
@store_option
@json_option
def undo(seq: int, dry_run: bool, store: StoreOptions, as_json: bool) -> None:
    """Take back one event of the ledger, by the number that `history` shows.

    \b
    memotherm history mem_01J8ZQ4X0000000000000000
    memotherm undo 42
    """
    _do(store, lambda mem: mem.undo(seq), dry_run=dry_run, as_json=as_json)


@click.command("purge")
@_id
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@_options
def purge(memory_id: str, yes: bool, why: str, dry_run: bool, store: StoreOptions, as_json: bool) -> None:
    """Erase a memory for good; only its events stay, and nothing brings it back.

    \b
    memotherm purge mem_01J8ZQ4X0000000000000000 --yes
    """
    with opened(store, dry_run=dry_run) as mem:
        memory = mem.get(memory_id)
        if not dry_run and not yes:
            _confirm(memory)
        mem.purge(memory_id, why)
    if as_json:
        print_json({"id": memory_id, "retention": "purged", "dry_run": dry_run})
        return
    click.echo(f"{memory_id} is erased")
    if dry_run:
        print_notes(["dry run: nothing was changed"])


def _confirm(memory: Memory) -> None:
    if not sys.stdin.isatty():
        raise click.UsageError("purge erases for good and nobody can be asked: pass --yes")
    click.confirm(f"Erase {memory.content[:200]!r} for good?", abort=True, err=True)
