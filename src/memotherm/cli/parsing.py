"""Groups that suggest a command, commands that accept texts beginning with a dash, and the types of values."""

from __future__ import annotations

import difflib
from datetime import UTC, datetime
from typing import Any

import click

__all__ = ["Duration", "MemoryId", "Moment", "SuggestingGroup", "TextCommand", "kebab_case"]

#: Marks an argument as text; it cannot occur in an argument of a process.
_TEXT_MARK = "\x00"


def kebab_case(name: str) -> str:
    """Return an option in camel case, as other programs write it, with dashes."""
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name) if name[1:] else name


class SuggestingGroup(click.Group):
    """A group that lists its commands with whole sentences, and suggests one for a misspelt name."""

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
            close = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
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


class Moment(click.ParamType[datetime]):
    """A time as `--json` prints it; without a time zone it is UTC."""

    name = "time"

    def convert(self, value: str | datetime, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Return the time that a text names."""
        try:
            moment = value if isinstance(value, datetime) else datetime.fromisoformat(value.strip())
        except ValueError:
            self.fail(f"{value!r} is not a time: write it like 2026-01-26 or 2026-01-26T10:30Z", param, ctx)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


class Duration(click.ParamType[float | str]):
    """A number of seconds, or a text such as 7d, which the facade reads."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | str:  # noqa: ANN401, ARG002
        """Return the number, or the text."""
        try:
            return float(value)
        except ValueError:
            return str(value)


class MemoryId(click.ParamType[str]):
    """The id of a memory, or its beginning; `memory_option` completes it."""

    name = "id"
