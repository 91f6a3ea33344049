"""Change memories: `update`, `move`, `pin`, ...; run the rules; and decide what waits (`conflicts`, `tasks`)."""

from __future__ import annotations

from collections.abc import Iterator

import click

from memotherm import Memotherm
from memotherm.cli.memories import narrower_notes
from memotherm.cli.options import memory_option
from memotherm.cli.output import Output
from memotherm.cli.parsing import MemoryId
from memotherm.cli.verbs import ID, operation_options, plain
from memotherm.model.results import Compaction, Maintenance, Move
from memotherm.operations.codec import to_json

#: How many conflicts and tasks of narrower scopes are counted.
_COUNTED = 1000
_COUNTS = ("expired", "archived", "deleted", "purged", "ended", "embedded")


def _compaction_lines(run: Compaction) -> Iterator[Move | str]:
    yield from run.moves
    yield f"{run}{' (dry run: nothing was moved)' if run.dry_run else ''}"


def _maintenance_lines(run: Maintenance) -> list[Move | str]:
    counts = [f"{name} {count}" for name in _COUNTS if (count := getattr(run, name))]
    return [*run.moves, ", ".join([f"moved {len(run.moves)}", *counts])]


update = plain(
    "update", f'memotherm update {ID} --content "Deploys are frozen until Monday"',
    help="Change the content, kind, tags, metadata, expiry or key of a memory.\n\nTags that are given replace all.",
)  # fmt: skip
amend = plain("amend", f'memotherm amend {ID} "Ana works at Anthropic now" --part "works at Google"')
alias = plain("alias", 'memotherm alias "Zhang Wei" 张伟')
move = plain("move", f'memotherm move {ID} cold --why "the sprint is over"')
prioritize = plain("prioritize", f"memotherm prioritize {ID} critical")
pin = plain("pin", f'memotherm pin {ID} --why "ask first"')
unpin = plain("unpin", f"memotherm unpin {ID}")
rescope = plain("rescope", f"memotherm rescope {ID} project=shop")
verify = plain("verify", f"memotherm verify {ID}")
archive = plain("archive", f"memotherm archive {ID}")
compact = plain(
    "compact", "memotherm compact --dry-run", _compaction_lines, notes=lambda run: run.degraded,
    help="Run the tier rules once over all visible memories, and print the moves.",
)  # fmt: skip
maintain = plain(
    "maintain", "memotherm maintain --dry-run", _maintenance_lines, notes=lambda run: run.degraded, progress="changes",
    whole_store=True, help="Run maintenance: expiry, cooling and retention.",
)  # fmt: skip


@click.command("conflicts")
@operation_options("conflicts", left_out="ids", defaults={"limit": 20})
@click.option(
    "--keep", metavar="ID", type=MemoryId(), help="Keep this memory, and archive those that it conflicts with."
)
@click.option("--why", default="", help="The reason, for the ledger.")
@memory_option(dry_run=True)
def conflicts(mem: Memotherm, limit: int, include_narrower: bool, keep: str | None, why: str) -> Output:
    """List memories that disagree, newest first, or decide which holds.

    What is archived can be brought back with `undo`. If both hold, `verify` both.

    \b
    memotherm conflicts
    memotherm conflicts --keep mem_01J8ZQ4X0000000000000000
    """
    if keep is not None:
        archived = mem.decide(keep, why=why)
        return Output({"memories": to_json(archived)}, archived)
    found = mem.conflicts(min(limit + 1, _COUNTED), include_narrower)

    def count(narrower: bool) -> int:
        return len(mem.conflicts(_COUNTED, narrower))

    none_here = not found and not include_narrower
    notes = narrower_notes(mem, len(found), "no memories disagree here", count if none_here else None, _COUNTED)
    notes += ["there are more: --limit shows them"] * (len(found) > limit)
    return Output({"conflicts": to_json(found[:limit])}, found[:limit], notes)


@click.command("tasks")
@operation_options("tasks")
@click.option("--done", metavar="ID", type=MemoryId(), help="Close a task that is done.")
@click.option("--cancelled", metavar="ID", type=MemoryId(), help="Close a task that is cancelled.")
@click.option("--why", default="", help="The reason, for the ledger.")
@memory_option(dry_run=True)
def tasks(
    mem: Memotherm, limit: int, include_narrower: bool, done: str | None, cancelled: str | None, why: str
) -> Output:
    """List open tasks, newest first, or close one; `undo` opens it again.

    \b
    memotherm tasks
    memotherm tasks --done mem_01J8ZQ4X0000000000000000
    """
    if done is not None or cancelled is not None:
        memory = mem.finish(done or cancelled or "", "cancelled" if done is None else "done", why)
        return Output(to_json(memory), [memory])
    found = mem.tasks(limit, include_narrower)

    def count(narrower: bool) -> int:
        return len(mem.tasks(_COUNTED, narrower))

    notes = narrower_notes(mem, len(found), "no task is open here", None if include_narrower else count, _COUNTED)
    return Output({"memories": to_json(found)}, found, notes)
