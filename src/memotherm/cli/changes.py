"""Change memories: `update`, `move`, `pin`, ...; run the rules; decide what waits (`conflicts`, `tasks`).

And `memotherm session`: the working memory of a session.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from memotherm import Memotherm
from memotherm.cli.memories import narrower_notes, recalled
from memotherm.cli.options import memory_option
from memotherm.cli.output import Output
from memotherm.cli.parsing import MemoryId, SuggestingGroup, TextCommand
from memotherm.cli.verbs import ID, given, operation_options, plain
from memotherm.model import Memory
from memotherm.model.results import Compaction, Maintenance, Move, SessionStatus
from memotherm.operations.codec import to_json
from memotherm.text.content import pluralize

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


# Sessions


@click.group("session", cls=SuggestingGroup)
def session() -> None:
    """Manage the working memory of a session: a limited number of hot tokens, and spilled memories.

    \b
    memotherm session add s1 "The user wants the short answer" --type preference
    memotherm session spill s1 --count 2
    memotherm session recall s1 "what does the user want?"
    """


def _status_lines(found: SessionStatus) -> Iterator[str]:
    hot = f"hot {pluralize(found.hot.memories, 'memory')}, {found.hot.tokens} of {found.limit} tokens"
    yield f"{found.session} ({found.state}): {hot}; warm {found.warm.memories}, cold {found.cold.memories}"
    yield from (f"{each.type}: {each.reason}" for each in found.suggestions)


def _metrics(mem: Memotherm, values: Mapping[str, Any], _: SessionStatus) -> dict[str, Any]:
    from memotherm.tools.results import metrics_json

    return {"metrics": metrics_json(mem.scoped(session=values["session_id"]).metrics())}


def _added(mem: Memotherm, values: Mapping[str, Any], memory: Memory) -> dict[str, Any]:  # noqa: ARG001
    from memotherm.tools.results import added_warnings

    return {"rule": memory.tier_rule, "warnings": added_warnings(memory, memory.content, mem.settings)}


for command in (
    plain(
        "session_add", 'memotherm session add s1 "The user wants short answers" --type preference', left_out="tier",
        more=_added, help="Add a hot memory; older ones are spilled if needed.",
    ),
    plain(
        "session_hot", "memotherm session hot s1", iter, help="Show the hot memories, newest first.",
        notes=lambda memories: ["the session has no hot memories"] * (not memories),
    ),
    plain(
        "session_status", "memotherm session status s1", _status_lines, more=_metrics,
        help="Show how full hot is, and what is suggested.",
    ),
    plain(
        "session_spill", "memotherm session spill s1 --count 2 --dry-run",
        lambda spill: [*spill.moved, f"{spill.spilled_count} spilled"],
        help="Spill hot memories: the least relevant and oldest, or those given by id.",
    ),
    plain(
        "session_promote", "memotherm session promote s1 mem_01J8ZQ4X",
        lambda moved: ["it is hot now" if moved else "it was hot already"],
        help="Move a memory of the session to hot; older ones are spilled if needed.",
    ),
    plain("session_demote", "memotherm session demote s1 mem_01J8ZQ4X --tier cold"),
    plain("session_keep", "memotherm session keep s1 mem_01J8ZQ4X"),
    plain(
        "session_prune", "memotherm session prune s1 --keep 100",
        lambda pruned: [f"{pluralize(len(pruned), 'memory')} deleted"],
        help="Delete the least relevant cold memories of the session; `restore` undoes it within 7 days.",
    ),
    plain(
        "session_clear", "memotherm session clear s1", lambda cleared: [f"{pluralize(cleared, 'memory')} deleted"],
        help="Delete the memories of the session, except pinned ones; `restore` undoes it within 7 days.",
    ),
    plain(
        "session_end", 'memotherm session end s1 --summary "We chose SQLite"',
        lambda run: ["ended" if run is None else f"ended. {run}"],
        help="End the session, and run compaction if `compaction_on_session_end` is set.",
    ),
):  # fmt: skip
    session.add_command(command, str(command.name).removeprefix("session_"))


@session.command("recall", cls=TextCommand)
@operation_options("session_recall")
@memory_option(creates=True)
def recall(mem: Memotherm, session_id: str, **options: Any) -> Output:  # noqa: ANN401
    """Search the warm and cold memories of the session, and move the best hits to hot.

    \b
    memotherm session recall s1 "what does the user want?" --no-promote
    """
    return recalled(mem.session(session_id).recall(**given(options)), options["limit"])


@session.command("flush")
@click.argument("session_id", metavar="SESSION")
@click.option("--tokens", type=click.IntRange(min=0), required=True, help="The tokens of the session's context.")
@click.option("--window", type=click.IntRange(min=1), default=200_000, show_default=True, help="The most it can hold.")
@click.option("--root", "-r", type=click.Path(), help="The folder with MEMORY.md and memory/.")
@click.option("--compactions", type=click.IntRange(min=0), help="How often the host has compacted so far.")
@click.option("--heartbeat", is_flag=True, help="The host itself started this turn.")
@memory_option(creates=True)
def flush(mem: Memotherm, session_id: str, tokens: int, window: int, **options: Any) -> Output:  # noqa: ANN401
    """Print the prompt to run before the host compacts its context, if it is due; once per compaction.

    \b
    memotherm session flush s1 --tokens 177000 --root workspace
    """
    due = mem.session(session_id).flush_due(tokens, window, **options)
    data = {"sessionId": session_id, "due": due is not None, **({} if due is None else to_json(due))}
    return Output(data, [] if due is None else [due.prompt], ["no flush is due"] if due is None else [])
