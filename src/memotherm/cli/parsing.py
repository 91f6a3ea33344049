"""Groups that suggest a command, commands that accept texts beginning with a dash, and the types of values."""

from __future__ import annotations

import difflib
import json
import shlex
from collections.abc import Mapping
from datetime import UTC, datetime, time
from typing import Any

import click

from memotherm.model.clock import system_clock
from memotherm.text.times import first_day

#: Marks an argument as text; it cannot occur in an argument of a process.
_TEXT_MARK = "\x00"


def kebab_case(name: str) -> str:
    """Return an option in camel case, as other programs write it, with dashes."""
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name) if name[1:] else name


class SuggestingGroup(click.Group):
    """A group that lists its commands with whole sentences, and suggests one for a misspelt name."""

    #: Other words for commands, which are suggested.
    meant: Mapping[str, str] = {}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the commands in the order of their declaration."""
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.get_short_help_str(150)) for name, each in self.commands.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first argument names."""
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            meant = [self.meant[args[0]]] if args[0] in self.meant else []
            close = meant or difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            hint = f": did you mean {close[0]!r}?" if close else ""
            raise click.UsageError(f"no such command {args[0]!r}{hint}", ctx)
        return super().resolve_command(ctx, args)


class TextCommand(click.Command):
    """A command whose texts may begin with a dash: what has a space before any `=` is not an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, without taking texts for options."""
        short = {name for parameter in self.params for name in parameter.opts if len(name) == 2}
        marked = [_TEXT_MARK + arg if _is_text(arg, short) else arg for arg in args]
        rest = super().parse_args(ctx, marked)
        ctx.params = {name: _unmarked(value) for name, value in ctx.params.items()}
        return rest


def _is_text(argument: str, short_options: set[str]) -> bool:
    name = argument.partition("=")[0]
    return argument.startswith("-") and len(name.split(None, 1)) > 1 and argument[:2] not in short_options


def _unmarked(value: Any) -> Any:  # noqa: ANN401 - options have various types
    if isinstance(value, str):
        return value.removeprefix(_TEXT_MARK)
    if isinstance(value, tuple):
        return tuple(_unmarked(item) for item in value)
    return value


def moment(text: str) -> datetime:
    """Return a time as `--json` prints it; without a time zone it is UTC."""
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a time: write it like 2026-01-26 or 2026-01-26T10:30Z") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def since(text: str) -> str:
    """Return a time or a duration as the facade reads it; days in English words, such as yesterday, are local."""
    try:
        datetime.fromisoformat(text.strip())
    except ValueError:
        day = first_day(text, system_clock().astimezone().date())
        return text if day is None else datetime.combine(day, time()).astimezone(UTC).isoformat()
    return text


def duration(text: str) -> float | str:
    """Return a number of seconds, or a text such as 7d, which the facade reads."""
    try:
        return float(text)
    except ValueError:
        return text


def json_object(text: str) -> dict[str, Any]:
    """Return a JSON object."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise click.BadParameter(f'it is not JSON: write it like \'{{"key": "value"}}\' ({exc})') from exc
    if not isinstance(found, dict):
        raise click.BadParameter('it must be a JSON object such as {"key": "value"}')
    return found


def scope_fields(text: str) -> dict[str, str]:
    """Return the fields of a scope, as lists of scopes show them: `project=shop user=ana`."""
    parts = [part.partition("=") for part in shlex.split(text)]
    if not all(equals for _, equals, _ in parts):
        raise click.BadParameter("write the fields of a scope like 'project=shop user=ana'")
    return {name: value for name, _, value in parts}


class MemoryId(click.types.StringParamType):
    """The id of a memory, or its beginning or end; `memory_option` completes it."""

    name = "id"
