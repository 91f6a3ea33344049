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

from memotherm import __version__
from memotherm.cli import exit_codes
from memotherm.errors import MemothermError

__all__ = ["COMMANDS", "app", "run"]


class Command(NamedTuple):
    """Where a command is, and what the list of commands says of it."""

    module: str
    help: str
    attribute: str = "command"


#: Every command, as the list shows them: a module of this package, and the click command in it.
COMMANDS = {
    "demo": Command("demo", "Watch an agent's week of memories, told in the terminal."),
    "remember": Command("remember", "Store a memory; `-` reads its content from standard input."),
    "recall": Command("recall", "Ask the memory: what answers a query, best first, with the reasons."),
    "search": Command("search", "Find memories, in the tiers you name."),
    "context": Command("context", "Print what an agent should read before it works, in at most so many tokens."),
    "get": Command("reading", "Show one memory, with all it says about itself.", "get"),
    "list": Command("reading", "List memories, newest first, a page at a time.", "list_"),
    "update": Command("changing", "Change what a memory says; what you leave out stays as it is.", "update"),
    "move": Command("changing", "Keep a memory in another tier: hot, warm or cold.", "move"),
    "pin": Command("changing", "Include a memory always, whatever is asked.", "pin"),
    "unpin": Command("changing", "Give a pinned memory normal priority again.", "unpin"),
    "prioritize": Command(
        "changing", "Let a memory insist more, or less: pinned, critical, important, normal, low.", "prioritize"
    ),
    "archive": Command("changing", "Hide a memory from every search; `restore` brings it back at any time.", "archive"),
    "forget": Command("changing", "Delete a memory; `restore` takes it back within the grace days.", "forget"),
    "restore": Command("changing", "Bring an archived or forgotten memory back.", "restore"),
    "purge": Command("changing", "Erase a memory for good; only its events stay, and nothing brings it back.", "purge"),
    "history": Command(
        "reading", "Tell everything that happened to a memory: when, by whom, by which rule and why.", "history"
    ),
    "events": Command("reading", "Tell what happened to all memories, newest first, a page at a time.", "events"),
    "undo": Command("changing", "Take back one event of the ledger, by the number that `history` shows.", "undo"),
    "session": Command("session", "Working memory of one session: few hot tokens in front, the rest within reach."),
    "notes": Command("notes", "Markdown memory: index, search and read the notes of a folder."),
    "compact": Command("compact", "Run the tier rules once, and print what moved."),
    "maintain": Command("maintain", "Let expiry, cooling and retention windows do their work."),
    "status": Command("reading", "Tell how much each tier holds, and how it can be searched.", "status"),
    "check": Command("admin", "Verify the whole store; exit 1 and a list when something is wrong.", "check"),
    "checkpoint": Command(
        "admin", "Write a consistent copy of the whole store to a new file while others go on working.", "checkpoint"
    ),
    "restore-checkpoint": Command(
        "admin", "Make a new store out of a checkpoint, which stays as it is.", "restore_checkpoint"
    ),
    "migrate": Command("migrate", "Copy a whole store into a new one, on another database or the same."),
    "partition": Command("migrate", "Cut the tables of a PostgreSQL store into parts by tenant.", "partition"),
    "import": Command("importing", "Remember what another program keeps."),
    "export": Command(
        "admin", "Write the memories as JSON lines, oldest first; `import jsonl` reads them again.", "export"
    ),
    "reembed": Command(
        "admin", "Make the vectors that are missing; after a change of embedder, all of them.", "reembed"
    ),
    "install": Command(
        "install", "Give a coding agent its memory: hooks and MCP server, with a backup of what was there."
    ),
    "plugin-dir": Command("install", "Print where the plugins are that come with the package.", "plugin_dir"),
    "hook": Command(
        "hook", "Answer a hook event of a coding agent: JSON on standard input, at most one JSON object back."
    ),
    "worker": Command("worker", "Remember what the hooks have left for later."),
    "config": Command("config", "Show the settings, and where each value comes from."),
    "doctor": Command("doctor", "Tell what is configured, what works, and the command that mends what does not."),
    "bench": Command("bench", "Measure how well memories are found again, on your data."),
    "completion": Command("completion", "Print the script that lets your shell complete our commands and options."),
    "mcp": Command("mcp", "Serve a memory to an agent over standard input and output."),
    "serve": Command("serve", "Serve the REST API, and MCP beside it."),
    "keys": Command("keys", "Make, list and revoke the API keys of the server."),
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
        found: click.Command = getattr(import_module(f"memotherm.cli.{entry.module}"), entry.attribute)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands from the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="memotherm", message="%(prog)s %(version)s")
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
        return exit_codes.OK
    except Exception as error:
        # The last border: nothing reaches a person as a traceback who has not asked for it.
        if "--debug" in arguments:
            raise
        code = exit_codes.exit_of(error) if isinstance(error, MemothermError) else exit_codes.FAILURE
        hint = None if isinstance(error, MemothermError) else "this is a bug; `memotherm --debug ...` shows where"
        _complain(str(error) or type(error).__name__, hint)
        return code


def _run(arguments: Sequence[str]) -> int:
    # A shell that asks for completions is answered, and the program ends, here.
    app._main_shell_completion({}, "memotherm", "_MEMOTHERM_COMPLETE")
    try:
        # Not `app.main`: it would turn a closed pipe into a failure.
        with app.make_context("memotherm", list(arguments)) as context:
            result = app.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as exc:
        return exc.exit_code
    except click.exceptions.NoArgsIsHelpError as exc:
        click.echo(exc.format_message(), err=True)
        return exit_codes.USAGE
    except click.UsageError as exc:
        path = exc.ctx.command_path if exc.ctx else "memotherm"
        _complain(exc.format_message(), f"`{path} --help` lists what it takes")
        return exit_codes.USAGE
    except click.ClickException as exc:
        _complain(exc.format_message(), None)
        return exc.exit_code
    except (click.Abort, KeyboardInterrupt):
        return exit_codes.INTERRUPTED
    return result if isinstance(result, int) else exit_codes.OK


def _complain(message: str, hint: str | None) -> None:
    click.echo(f"error: {' '.join(message.split())}", err=True)
    if hint:
        click.echo(f"hint: {hint}", err=True)
