"""Commands from the table of operations, which declares names, types, limits, defaults and help."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from datetime import datetime
from typing import Any, TypeVar

import click

from memotherm import Memotherm
from memotherm.cli.options import memory_option
from memotherm.cli.output import Output, content_of, progress_bar
from memotherm.cli.parsing import MemoryId, TextCommand, duration, json_object, moment, scope_fields, since
from memotherm.errors import InvalidInput
from memotherm.operations.parameters import Parameter
from memotherm.operations.table import OPERATIONS

Command = TypeVar("Command", bound=Callable[..., Any])

#: An example id in the help of commands.
ID = "mem_01J8ZQ4X0000000000000000"
_KIND = ("--kind", "-k", "--type", "--category")
#: Options whose name differs from that of their parameter, or that also have a short name.
_NAMES: Mapping[str, tuple[str, ...]] = {
    "auto_promote": ("--promote/--no-promote",),
    "budget": ("--budget", "-b"),
    "context_window": ("--window",),
    "count": ("--count", "-n"),
    "from_line": ("--from",),
    "ids": ("--id",),
    "kind": _KIND,
    "kinds": _KIND,
    "limit": ("--limit", "-n"),
    "lines": ("--lines", "-n"),
    "max_results": ("--max-results", "-n"),
    "priority": ("--priority", "-p"),
    "tags": ("--tag", "-t"),
    "tiers": ("--tier",),
    "total_tokens": ("--tokens",),
    "type": _KIND,
    "types": _KIND,
}
_METAVARS = {
    "as_of": "TIME",
    "event_seq": "SEQ",
    "expires_at": "TIME",
    "memory_id": "ID",
    "metadata": "JSON",
    "recall": "RECALL_ID",
    "session_id": "SESSION",
    "since": "TIME",
    "until": "TIME",
}
_IDS = {"memory_id", "ids", "used", "supersedes", "over"}
#: Texts of which `-` means standard input.
_CONTENTS = {"content", "query", "summary", "answer"}
#: What a command line takes in another form than JSON, and what the table does not explain.
_HELP = {
    "auto_promote": "Whether the best hits move to hot; default: the setting.",
    "contains": "Only memories whose content contains this.",
    "count": "How many.",
    "cursor": "The cursor of the last page.",
    "expires_at": "The time when it expires (UTC unless it has an offset).",
    "ids": "The id of a memory",
    "include_cold": "Whether to also search cold memories; default: the setting.",
    "key": "Your own name for it, unique in the scope.",
    "limit": "How many at most.",
    "mentions": "A name or an identifier that the content mentions, in any spelling",
    "min_score": "The least relevance; default: 0.",
    "prefix": "Only memories whose key begins with this.",
    "since": "Only from this time on: 2026-01-31, 2026-01-31T12:00Z, 7d (ago), or yesterday.",
    "tags": "A tag",
    "tier": "hot, warm or cold.",
    "ttl": "The time to live, such as 90m, 7d or a number of seconds.",
    "until": "Only before this time.",
    "version": "Change it only if this is still its version.",
    "where": 'Only matching metadata: status=open, or JSON such as \'{"votes": {"$gte": 3}}\' (repeatable: all).',
}


def operation_options(
    operation: str, *, left_out: str = "", arguments: str = "", defaults: Mapping[str, Any] | None = None
) -> Callable[[Command], Command]:
    """Add the parameters of an operation to a command: what is required as arguments, the rest as options.

    Parameters `left_out` are none of the command's, or have options of their own; `arguments` are arguments although
    they may be left out; `defaults` replace those of the table.
    """
    declared = OPERATIONS[operation]
    without = {*left_out.split(), *declared.more}

    def decorate(command: Command) -> Command:
        for parameter in reversed(declared.parameters):
            if parameter.name not in without:
                default = (defaults or {}).get(parameter.name, parameter.default)
                command = _click(parameter, default, argument=parameter.name in arguments.split())(command)
        return command

    return decorate


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given, with contents read from standard input for `-`."""
    return {
        name: content_of(value) if name in _CONTENTS else value
        for name, value in options.items()
        if value is not None and value != ()
    }


def plain(
    operation: str,
    examples: str,
    lines: Callable[[Any], Iterable[object]] = lambda result: [result],
    *,
    help: str = "",
    notes: Callable[[Any], Iterable[str]] = lambda _: (),
    more: Callable[[Memotherm, Mapping[str, Any], Any], dict[str, Any]] = lambda mem, values, result: {},  # noqa: ARG005
    progress: str = "",
    whole_store: bool = False,
    **options: Any,  # noqa: ANN401 - those of `operation_options`
) -> click.Command:
    """Return the command of an operation: it calls the method and prints the result.

    Args:
        operation: The name of the operation, such as `session_spill`.
        examples: Command lines, for the help.
        lines: The lines that show a result to people; by default the result itself.
        help: What it does, if the description of the operation does not tell it.
        notes: What to say about a result beside it.
        more: What its JSON has beside the result, from the memory, the values of the options, and the result; its
            warnings are printed as well.
        progress: What is counted while it runs, for a method that tells its progress.
        whole_store: Whether it concerns the whole store, in a project as elsewhere.
        options: Arguments of `operation_options`.
    """
    declared = OPERATIONS[operation]
    has_own = any(parameter.name == "dry_run" for parameter in declared.parameters)
    dry_run = declared.writes and not declared.whole_store and not has_own

    @operation_options(operation, **options)
    @memory_option(
        creates=declared.owner == "session", dry_run=dry_run, whole_store=whole_store or declared.whole_store
    )
    def command(mem: Memotherm, **values: Any) -> Output:  # noqa: ANN401
        arguments = given(values)
        owner: Any = mem
        if declared.owner == "session":
            owner = mem.session(arguments.pop("session_id"))
        elif declared.owner != "memory":
            owner = getattr(mem, declared.owner)
        with progress_bar(progress) if progress else nullcontext() as update:
            told = {} if update is None else {"progress": update}
            result = getattr(owner, declared.verb)(**arguments, **told)
        data = declared.body(result) | more(mem, values, result)
        return Output(data, lines(result), [*notes(result), *data.get("warnings", ())])

    text = f"{help or declared.description}\n\n\b\n{examples}"
    return click.command(declared.name, cls=TextCommand, help=text)(command)


def _click(parameter: Parameter, default: Any, *, argument: bool) -> Callable[[Command], Command]:  # noqa: ANN401
    kind = _type(parameter)
    metavar = _METAVARS.get(parameter.name)
    if parameter.required or argument:
        return click.argument(parameter.name, type=kind, metavar=metavar, required=parameter.required)
    names = _NAMES.get(parameter.name, (f"--{parameter.name.replace('_', '-')}",))
    text = _HELP.get(parameter.name, parameter.help)
    if parameter.name == "where":
        return click.option(
            "--where", "--filters", "where", multiple=True, metavar="FILTER", callback=_where, help=text
        )
    if parameter.type is bool:
        both = (f"{names[0]}/--no-{names[0][2:]}",) if default is not False and "/" not in names[0] else names
        return click.option(*both, parameter.name, is_flag=True, default=default, help=text)
    return click.option(
        *names,
        parameter.name,
        type=kind,
        multiple=parameter.multiple,
        default=None if parameter.multiple else default,
        show_default=bool(default) and not parameter.multiple,
        metavar=metavar,
        help=f"{text} (repeatable)".strip() if parameter.multiple else text,
    )


def _type(parameter: Parameter) -> Any:  # noqa: ANN401 - any type of click
    if parameter.name in _IDS:
        return MemoryId()
    if parameter.choices:
        return click.Choice([*parameter.choices])
    if parameter.name == "ttl":
        return duration
    if parameter.name in ("since", "until"):
        return since
    if parameter.type is datetime:
        return moment
    if parameter.name == "scope":
        return scope_fields
    if parameter.type in (int, float):
        numbers = click.IntRange if parameter.type is int else click.FloatRange
        return numbers(parameter.limits.get("ge"), parameter.limits.get("le"))
    return json_object if parameter.type == dict[str, Any] else str


def _where(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, Any] | None:  # noqa: ARG001
    """Return the filter that options give, each as `name=value` or as a JSON object; None without options."""
    where: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if text.lstrip().startswith("{"):
            try:
                part = json.loads(text)
            except (ValueError, RecursionError) as exc:
                raise InvalidInput(f'--where is not JSON: write it like \'{{"status": "open"}}\' ({exc})') from exc
        elif not equals or not name:
            raise InvalidInput(f'cannot read --where {text!r}: write it like status=open or \'{{"status": "open"}}\'')
        else:
            try:
                part = {name: json.loads(value)}
            except (ValueError, RecursionError):
                part = {name: value}
        twice = where.keys() & part.keys()
        if twice:
            raise InvalidInput(f"--where names {min(twice)!r} twice: give all its conditions in one JSON object")
        where |= part
    return where or None
