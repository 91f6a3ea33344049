"""`memotherm move`, `pin`, `update` and other commands that change a memory; each has `--dry-run`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from memotherm import Memotherm
from memotherm.cli.options import (
    StoreOptions,
    dry_run_option,
    expires_option,
    json_option,
    kind_option,
    opened,
    store_option,
)
from memotherm.cli.output import content_of, print_changed
from memotherm.model import Memory, Priority, Tier
from memotherm.model.memory import PriorityName, TierName

__all__ = [
    "archive", "move", "pin", "prioritize", "undo", "unpin", "update",
]  # fmt: skip

_id = click.argument("memory_id", metavar="ID")
_why = click.option("--why", default="", help="The reason, for the ledger.")


def _options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that all these commands have."""
    return _why(dry_run_option(store_option(json_option(command))))


def _change(store: StoreOptions, change: Callable[[Memotherm], Memory], *, dry_run: bool, as_json: bool) -> None:
    with opened(store, dry_run=dry_run) as mem:
        memory = change(mem)
    print_changed(memory, as_json=as_json, dry_run=dry_run)


@click.command("move")
@_id
@click.argument("tier", type=click.Choice([str(tier) for tier in Tier]))
@_options
def move(memory_id: str, tier: TierName, why: str, dry_run: bool, store: StoreOptions, as_json: bool) -> None:
    """Move a memory to another tier: hot, warm or cold.

    \b
    memotherm move mem_01J8ZQ4X0000000000000000 cold --why "the sprint is over"
    """
    _change(store, lambda mem: mem.move(mem.full_id(memory_id), tier, why), dry_run=dry_run, as_json=as_json)


@click.command("prioritize")
@_id
@click.argument("priority", type=click.Choice([str(priority) for priority in Priority]))
@_options
def prioritize(
    memory_id: str, priority: PriorityName, why: str, dry_run: bool, store: StoreOptions, as_json: bool
) -> None:
    """Set the priority of a memory: pinned, critical, important, normal or low.

    \b
    memotherm prioritize mem_01J8ZQ4X0000000000000000 critical
    """
    _change(store, lambda mem: mem.prioritize(mem.full_id(memory_id), priority, why), dry_run=dry_run, as_json=as_json)


def _command(verb: Callable[[Memotherm, str, str], Memory], help: str) -> click.Command:
    """Return the command of a verb whose arguments are an id and a reason."""
    example = f"\b\nmemotherm {verb.__name__} mem_01J8ZQ4X0000000000000000"

    @click.command(verb.__name__, help=f"{help}\n\n{example}")
    @_id
    @_options
    def command(memory_id: str, why: str, dry_run: bool, store: StoreOptions, as_json: bool) -> None:
        _change(store, lambda mem: verb(mem, mem.full_id(memory_id), why), dry_run=dry_run, as_json=as_json)

    return command


pin = _command(Memotherm.pin, "Pin a memory: every context includes it.")
unpin = _command(Memotherm.unpin, "Give a pinned memory normal priority.")
verify = _command(Memotherm.verify, "Record that a memory still holds.")
archive = _command(Memotherm.archive, "Archive a memory: no search finds it until it is restored.")


@click.command("update")
@_id
@click.option("--content", help="The new content; `-` reads standard input.")
@kind_option(help="The new kind.")
@click.option("--tag", "-t", "tags", multiple=True, help="The new tags, all of them (repeatable).")
@click.option("--ttl", help="The time to live from now, such as 7d.")
@expires_option
@click.option("--key", help="The new key.")
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
    """Change the content, kind, tags, expiry or key of a memory.

    \b
    memotherm update mem_01J8ZQ4X0000000000000000 --content "Deploys are frozen until Monday"
    """
    text = None if content is None else content_of(content)
    _change(
        store,
        lambda mem: mem.update(mem.full_id(memory_id), content=text, tags=tags or None, why=why, **others),
        dry_run=dry_run,
        as_json=as_json,
    )


@click.command("undo")
@click.argument("seq", type=click.IntRange(min=1))
@dry_run_option
@store_option
@json_option
def undo(seq: int, dry_run: bool, store: StoreOptions, as_json: bool) -> None:
    """Undo an event of the ledger, by its number in `history`.

    \b
    memotherm history mem_01J8ZQ4X0000000000000000
    memotherm undo 42
    """
    _change(store, lambda mem: mem.undo(seq), dry_run=dry_run, as_json=as_json)
