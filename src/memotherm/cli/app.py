"""The table of commands, and how errors are printed.

`--help` imports no command.
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
from memotherm.cli.parsing import SuggestingGroup, kebab_case
from memotherm.cli.terminal import accept_any_text, printable
from memotherm.errors import MemothermError, PolicyError

__all__ = ["COMMANDS", "app", "run"]


class Command(NamedTuple):
    """The module of a command, and its line in the list of commands."""

    module: str
    help: str
    attribute: str = "command"


#: Every command in the order of the list.
COMMANDS = {
    "demo": Command("demo", "Run a demonstration: a week of an agent's memories."),
    "remember": Command("remember", "Store a memory; `-` reads its content from standard input."),
    "recall": Command("recall", "Search memories by meaning and words, best first, with reasons."),
    "search": Command("search", "Search memories in the given tiers."),
    "context": Command("context", "Print pinned, hot and recalled memories within a token budget."),
    "feedback": Command("feedback", "Say which memories of a recall were of use."),
    "get": Command("reading", "Show a memory with all its fields, by its id or its key.", "get"),
    "list": Command("reading", "List memories, newest first, a page at a time.", "list_"),
    "update": Command("changing", "Change the content, kind, tags, expiry or key of a memory.", "update"),
    "move": Command("changing", "Move a memory to another tier: hot, warm or cold.", "move"),
    "pin": Command("changing", "Pin a memory: every context includes it.", "pin"),
    "unpin": Command("changing", "Give a pinned memory normal priority.", "unpin"),
    "prioritize": Command(
        "changing", "Set the priority of a memory: pinned, critical, important, normal or low.", "prioritize"
    ),
    "verify": Command("changing", "Record that a memory still holds.", "verify"),
    "archive": Command("changing", "Archive a memory: no search finds it until it is restored.", "archive"),
    "forget": Command("many", "Delete a memory, or many by a filter; `restore` undoes it.", "forget"),
    "restore": Command("many", "Restore an archived or deleted memory, or many by a filter.", "restore"),
    "purge": Command("many", "Erase a memory permanently, or many by a filter.", "purge"),
    "erase": Command("erasing", "Erase everything at and below a scope permanently, such as a user."),
    "history": Command("reading", "Show the events of a memory: time, actor, rule and reason.", "history"),
    "events": Command("reading", "Show the events of all memories, newest first, a page at a time.", "events"),
    "receipts": Command("reading", "Show what contexts have injected into sessions, and why.", "receipts"),
    "undo": Command("changing", "Undo an event of the ledger, by its number in `history`.", "undo"),
    "session": Command("session", "Manage the working memory of a session."),
    "notes": Command("notes", "Index, search and read Markdown notes."),
    "compact": Command("compact", "Run the tier rules once, and print the moves."),
    "policy": Command("policy", "Show, lint, test and compare tier policies."),
    "maintain": Command("maintain", "Run maintenance: expiry, cooling and retention."),
    "status": Command("reading", "Show how much each tier holds, and how it can be searched.", "status"),
    "scopes": Command("scopes", "List the scopes of the store, with counts and sizes."),
    "check": Command("admin", "Verify the whole store; exit with 1 if there are problems.", "check"),
    "checkpoint": Command("admin", "Write a consistent copy of the whole store to a new file.", "checkpoint"),
    "restore-checkpoint": Command("admin", "Create a store from a checkpoint.", "restore_checkpoint"),
    "encrypt": Command("encryption", "Encrypt the file of a store.", "encrypt"),
    "decrypt": Command("encryption", "Decrypt the file of a store.", "decrypt"),
    "rekey": Command("encryption", "Encrypt the file of a store with a new key.", "rekey"),
    "migrate": Command("migrate", "Copy a whole store to another file or database."),
    "partition": Command("migrate", "Partition the tables of a PostgreSQL store by tenant.", "partition"),
    "distribute": Command("migrate", "Distribute the tables of a store over a Citus cluster by tenant.", "distribute"),
    "import": Command("importing", "Import memories of another program, or an export."),
    "export": Command("export", "Write memories as JSON lines; `import jsonl` reads them.", "export"),
    "backup": Command("export", "Write the memories of all scopes as JSON lines.", "backup"),
    "reembed": Command("admin", "Create missing vectors; after a change of embedder, all of them.", "reembed"),
    "install": Command("install", "Install the hooks and the MCP server in a coding agent."),
    "plugin-dir": Command("install", "Print the path of the plugins in the package.", "plugin_dir"),
    "hook": Command("hook", "Answer a hook event of a coding agent (JSON on standard input)."),
    "worker": Command("worker", "Process the jobs that hooks have spooled."),
    "daemon": Command("daemon", "Start or stop the process that answers hooks and commands faster."),
    "config": Command("config", "Show the settings and where each value comes from, or change one."),
    "doctor": Command("doctor", "Check the installation, and print how to correct problems."),
    "cases": Command("cases", "Run questions of your own, and fail if one does not find what it must."),
    "bench": Command("bench", "Measure retrieval quality on your data."),
    "completion": Command("completion", "Print the shell script for completion."),
    "mcp": Command("mcp", "Run the MCP server over standard input and output."),
    "dashboard": Command("dashboard", "Open the dashboard in the browser."),
    "serve": Command("serve", "Run the REST API, with the dashboard at / and MCP at /mcp."),
    "keys": Command("keys", "Create, list and revoke the API keys of the server."),
}


#: The command that helps after an error, by the code of the error.
_HINTS = {
    "settings": "`memotherm config show --origin` prints where each value comes from",
    "store_damaged": "`memotherm restore-checkpoint BACKUP NEW` creates a store from a checkpoint",
    "plugin_not_found": "`memotherm doctor` lists what is installed",
}


class Commands(SuggestingGroup):
    """A group of commands that are imported when they are called, not when they are listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command: click.Command = getattr(import_module(f"memotherm.cli.{entry.module}"), entry.attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands from the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])


@click.group(
    cls=Commands,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "token_normalize_func": kebab_case,
    },
)
@click.version_option(__version__, prog_name="memotherm", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show the whole traceback of an error.")
def app(debug: bool) -> None:
    """Tiered memory for AI agents: hot, warm and cold, in one file, offline."""
    # `run` looks for `--debug` itself, because an error may occur before the options are parsed.


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code; an error is printed as one line, that of a policy as several."""
    accept_any_text()
    try:
        return _run(arguments)
    except BrokenPipeError:
        # The reader has closed the pipe (`| head`): discard what is still buffered.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exit_codes.OK
    except Exception as error:
        if "--debug" in arguments:
            raise
        if isinstance(error, MemothermError):
            lines = str(error).splitlines() if isinstance(error, PolicyError) else [str(error)]
            _print_error(lines[0], _HINTS.get(error.code), lines[1:])
            return exit_codes.exit_of(error)
        _print_error(str(error) or type(error).__name__, "this is a bug; `memotherm --debug ...` prints the traceback")
        return exit_codes.FAILURE


def _run(arguments: Sequence[str]) -> int:
    # If the shell requests completions, this prints them and ends the program.
    app._main_shell_completion({}, "memotherm", "_MEMOTHERM_COMPLETE")
    try:
        # Not `app.main`, which exits with 1 when the pipe is closed.
        with app.make_context("memotherm", list(arguments)) as context:
            result = app.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as exc:
        return exc.exit_code
    except click.exceptions.NoArgsIsHelpError as exc:
        click.echo(exc.format_message(), err=True)
        return exit_codes.USAGE
    except click.UsageError as exc:
        _print_error(exc.format_message(), _usage_hint(exc))
        return exit_codes.USAGE
    except click.ClickException as exc:
        _print_error(exc.format_message(), None)
        return exc.exit_code
    except (click.Abort, KeyboardInterrupt):
        return exit_codes.INTERRUPTED
    return result if isinstance(result, int) else exit_codes.OK


def _usage_hint(error: click.UsageError) -> str:
    path = error.ctx.command_path if error.ctx else "memotherm"
    if isinstance(error, click.NoSuchOption) and isinstance(error.ctx and error.ctx.command, click.Group):
        return f"options come after the command, as in `{path} COMMAND {error.option_name}`"
    return f"`{path} --help` lists the arguments and options"


def _print_error(message: str, hint: str | None, details: Sequence[str] = ()) -> None:
    click.echo(f"error: {printable(' '.join(message.split()))}", err=True)
    for detail in details:
        click.echo(printable(detail), err=True)
    if hint:
        click.echo(f"hint: {hint}", err=True)
