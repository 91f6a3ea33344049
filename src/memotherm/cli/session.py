"""`memotherm session`: the working memory of a session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from memotherm import Memotherm
from memotherm.cli.memories import recalled
from memotherm.cli.options import memory_option
from memotherm.cli.output import Output
from memotherm.cli.parsing import SuggestingGroup, TextCommand
from memotherm.cli.verbs import given, operation_options, plain
from memotherm.model import Memory
from memotherm.model.results import SessionStatus
from memotherm.operations.codec import to_json
from memotherm.text.content import pluralize


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
