"""`memotherm forget`, `restore`, `purge`: one memory by its id, or many by a filter."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from memotherm import Memory, Memotherm
from memotherm.cli.filters import contains_option, filter_options
from memotherm.cli.options import StoreOptions, dry_run_option, json_option, opened, store_option
from memotherm.cli.output import print_changed, print_json, print_notes
from memotherm.text.content import pluralize

__all__ = ["forget", "purge", "restore"]


def _options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the arguments and options that all these commands have."""
    for option in (
        json_option,
        store_option,
        dry_run_option,
        click.option("--why", default="", help="The reason, for the ledger."),
        click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation."),
        filter_options,
        contains_option,
        click.option("--tag", "-t", "tags", multiple=True, help="Only memories with this tag (repeatable: any)."),
        click.option("--kind", "-k", help="Only this kind."),
        click.argument("memory_id", metavar="[ID]", required=False),
    ):
        command = option(command)
    return command


@click.command("forget")
@_options
def forget(memory_id: str | None, yes: bool, **options: Any) -> None:  # noqa: ANN401
    """Delete a memory, or all that a filter selects; `restore` undoes it within `grace_days`.

    \b
    memotherm forget mem_01J8ZQ4X0000000000000000
    memotherm forget --where sprint=12 --why "the sprint is over"
    """
    if memory_id is None:
        _change_many(Memotherm.forget_many, "Forget", "forgotten", yes=yes, **options)
    else:
        _change_one(Memotherm.forget, memory_id, **options)


@click.command("restore")
@_options
def restore(memory_id: str | None, yes: bool, **options: Any) -> None:  # noqa: ANN401
    """Restore an archived or deleted memory, or all deleted ones that a filter selects.

    \b
    memotherm restore mem_01J8ZQ4X0000000000000000
    memotherm restore --where sprint=12
    """
    if memory_id is None:
        _change_many(Memotherm.restore_many, "Restore", "restored", yes=yes, **options)
    else:
        _change_one(Memotherm.restore, memory_id, **options)


@click.command("purge")
@_options
def purge(memory_id: str | None, yes: bool, **options: Any) -> None:  # noqa: ANN401
    """Erase a memory permanently, or all that a filter selects; only the events remain.

    \b
    memotherm purge mem_01J8ZQ4X0000000000000000 --yes
    memotherm purge --where customer=4711
    """
    if memory_id is None:
        _change_many(Memotherm.purge_many, "Erase", "erased", yes=yes, **options)
    else:
        _purge_one(memory_id, yes=yes, **options)


def _change_one(
    verb: Callable[[Memotherm, str, str], Memory],
    memory_id: str,
    *,
    store: StoreOptions,
    why: str,
    dry_run: bool,
    as_json: bool,
    **filters: Any,  # noqa: ANN401
) -> None:
    _require_no_filter(filters)
    with opened(store, dry_run=dry_run) as mem:
        memory = verb(mem, mem.full_id(memory_id), why)
    print_changed(memory, as_json=as_json, dry_run=dry_run)


def _purge_one(
    memory_id: str,
    *,
    yes: bool,
    store: StoreOptions,
    why: str,
    dry_run: bool,
    as_json: bool,
    **filters: Any,  # noqa: ANN401
) -> None:
    _require_no_filter(filters)
    with opened(store, dry_run=dry_run) as mem:
        memory_id = mem.full_id(memory_id)
        memory = mem.get(memory_id)
        if not dry_run and not yes:
            _confirm(f"Erase {memory.content[:200]!r} permanently?", "purge erases permanently")
        mem.purge(memory_id, why)
    if as_json:
        print_json({"id": memory_id, "retention": "purged", "dry_run": dry_run})
        return
    click.echo(f"{memory_id} was erased")
    if dry_run:
        print_notes(["dry run: nothing was changed"])


def _change_many(
    verb: Callable[..., list[Memory]],
    question: str,
    done: str,
    *,
    yes: bool,
    store: StoreOptions,
    why: str,
    dry_run: bool,
    as_json: bool,
    tags: tuple[str, ...],
    **filters: Any,  # noqa: ANN401
) -> None:
    """Change the memories that a filter selects, after a question that names their number."""
    filters["tags"] = tags or None
    if not any(filters.values()):
        raise click.UsageError(
            "name a memory by its id, or several with --where, --since, --until, --prefix, --kind or --tag"
        )
    with opened(store, existing=True) as mem:
        count = len(verb(mem, dry_run=True, **filters))
        if count and not dry_run:
            if not yes:
                permanently = " permanently" if verb is Memotherm.purge_many else ""
                _confirm(
                    f"{question} {pluralize(count, 'memory')}{permanently}?", f"{pluralize(count, 'memory')} match"
                )
            verb(mem, why, count=count, **filters)
    if as_json:
        print_json({"count": count, "dry_run": dry_run})
        return
    click.echo(f"{pluralize(count, 'memory')} {'would be ' if dry_run else ''}{done}")


def _require_no_filter(filters: dict[str, Any]) -> None:
    if any(filters.values()):
        raise click.UsageError("give either the id of a memory or filters, not both")


def _confirm(question: str, why: str) -> None:
    if not sys.stdin.isatty():
        raise click.UsageError(f"{why} and standard input is not a terminal: pass --yes")
    click.confirm(question, abort=True, err=True)
