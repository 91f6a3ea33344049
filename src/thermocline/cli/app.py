"""The root of the command line: which commands there are, and what an error looks like.

It knows the names of the commands and nothing of what they do; `--help` imports none of them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

import click

from thermocline import __version__
from thermocline.cli import exits
from thermocline.errors import ThermoclineError

__all__ = ["COMMANDS", "app", "run"]


class Entry(NamedTuple):
    """Where a command is, and what the list of commands says of it."""

    module: str
    help: str


#: Every command: a module of this package whose `command` is the click command of that name.
COMMANDS = {
    "demo": Entry("demo", "Watch an agent's week of memories, told in the terminal."),
    "search": Entry("search", "Find memories, in the tiers you name."),
    "compact": Entry("compact", "Run the tier rules once, and print what moved."),
    "notes": Entry("notes", "Markdown memory: index, search and read the notes of a folder."),
    "import": Entry("importing", "Remember what another program keeps."),
    "bench": Entry("bench", "Measure how well memories are found again, on your data."),
    "maintain": Entry("maintain", "Let expiry, cooling and retention windows do their work."),
}


class Commands(click.Group):
    """A group whose commands are imported when they are called, and listed without that."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        found: click.Command = import_module(f"thermocline.cli.{entry.module}").command
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands from the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="thermocline", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show the whole traceback of an error.")
def app(debug: bool) -> None:
    """Tiered memory for AI agents: hot, warm and cold, in one file, offline."""
    # `run` looks for `debug` itself: an error may come before the options are read.


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; a person gets one line, not a traceback."""
    try:
        return _run(arguments)
    except BrokenPipeError:
        # The reader has seen enough (`| head`); what is still buffered has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exits.OK
    except Exception as error:
        # The last border: nothing reaches a person as a traceback who has not asked for it.
        if "--debug" in arguments:
            raise
        code = exits.exit_of(error) if isinstance(error, ThermoclineError) else exits.FAILURE
        hint = None if isinstance(error, ThermoclineError) else "this is a bug; `thermocline --debug ...` shows where"
        _complain(str(error) or type(error).__name__, hint)
        return code


def _run(arguments: Sequence[str]) -> int:
    try:
        # Not `app.main`: it would turn a closed pipe into a failure.
        with app.make_context("thermocline", list(arguments)) as context:
            result = app.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as exc:
        return exc.exit_code
    except click.exceptions.NoArgsIsHelpError as exc:
        click.echo(exc.format_message(), err=True)
        return exits.USAGE
    except click.UsageError as exc:
        path = exc.ctx.command_path if exc.ctx else "thermocline"
        _complain(exc.format_message(), f"`{path} --help` lists what it takes")
        return exits.USAGE
    except click.ClickException as exc:
        _complain(exc.format_message(), None)
        return exc.exit_code
    except (click.Abort, KeyboardInterrupt):
        return exits.INTERRUPTED
    return result if isinstance(result, int) else exits.OK


def _complain(message: str, hint: str | None) -> None:
    click.echo(f"error: {' '.join(message.split())}", err=True)
    if hint:
        click.echo(f"hint: {hint}", err=True)
