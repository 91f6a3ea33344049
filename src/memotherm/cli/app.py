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
from memotherm.cli.output import accept_any_text, printable, say
from memotherm.cli.parsing import SuggestingGroup, kebab_case
from memotherm.errors import MemothermError, PolicyError


class Command(NamedTuple):
    """A command and its line in the list of commands."""

    #: Its module in `memotherm.cli`.
    module: str
    help: str
    #: Its name in the module, if that is another one.
    attribute: str = ""


#: Every command under its heading, in the order of the list.
SECTIONS = {
    "Everyday": {
        "remember": Command("memories", "Store a memory; `-` reads its content from standard input."),
        "recall": Command("memories", "Search memories by meaning and words, best first, with reasons."),
        "context": Command("memories", "Print pinned, hot and recalled memories within a token budget."),
        "why": Command("ledger", "Say whether a memory was in a prompt, and why or why not."),
        "list": Command("memories", "List memories, newest first, a page at a time.", "list_"),
        "get": Command("memories", "Show a memory with all its fields, by its id or its key."),
        "update": Command("changes", "Change the content, kind, tags, expiry or key of a memory."),
        "forget": Command("privacy", "Delete a memory, or many by a filter; `restore` undoes it."),
        "restore": Command("privacy", "Restore an archived or deleted memory, or many by a filter."),
        "history": Command("ledger", "Show the events of a memory: time, actor, rule and reason."),
        "timeline": Command("history", "Show what happened when, by day, project and session."),
        "undo": Command("ledger", "Undo an event of the ledger, by its number in `history`."),
        "status": Command("memories", "Show how much each tier holds, and how it can be searched."),
    },
    "Tiers and rules": {
        "move": Command("changes", "Move a memory to another tier: hot, warm or cold."),
        "pin": Command("changes", "Pin a memory: every context includes it."),
        "unpin": Command("changes", "Give a pinned memory normal priority."),
        "prioritize": Command("changes", "Set the priority of a memory, from pinned to low."),
        "verify": Command("changes", "Record that a memory still holds."),
        "rescope": Command("changes", "Move a memory to another scope, such as another project."),
        "archive": Command("changes", "Archive a memory: no search finds it until it is restored."),
        "feedback": Command("memories", "Say which memories of a recall were of use."),
        "compact": Command("changes", "Run the tier rules once, and print the moves."),
        "maintain": Command("changes", "Run maintenance: expiry, cooling and retention."),
        "policy": Command("policy", "Show, lint, test, compare, replay and adopt tier policies."),
    },
    "Correction": {
        "select": Command("privacy", "Show what a request in words concerns; forget or purge it."),
        "amend": Command("changes", "Correct a part of a memory; the rest stays."),
        "conflicts": Command("changes", "List memories that disagree, or decide which holds."),
        "review": Command("memories", "List the proposals that wait for a decision."),
        "approve": Command("privacy", "Approve a proposal, or many by a filter."),
        "reject": Command("privacy", "Reject a proposal, or many by a filter; it does not come back."),
        "alias": Command("changes", "Record that two names mean the same."),
        "stale": Command("memories", "List memories whose files have changed or are gone."),
        "tasks": Command("changes", "List open tasks, or close one."),
    },
    "Sessions and notes": {
        "session": Command("session", "Manage the working memory of a session."),
        "notes": Command("notes", "Index, search and read Markdown notes."),
    },
    "Privacy": {
        "receipts": Command("ledger", "Show what contexts have injected into sessions, and why."),
        "events": Command("ledger", "Show the events of all memories, newest first, a page at a time."),
        "export": Command("privacy", "Write memories as JSON lines; `import jsonl` reads them."),
        "purge": Command("privacy", "Erase a memory permanently, or many by a filter."),
        "erase": Command("privacy", "Erase everything of a scope permanently, such as a user."),
    },
    "Store": {
        "scopes": Command("memories", "List the scopes of the store, with counts and sizes."),
        "backfill": Command("history", "Make memories of the past sessions of coding agents."),
        "import": Command("store", "Import memories of another program, or an export.", "import_"),
        "store": Command("store", "Check, copy, restore, encrypt or move a whole store."),
    },
    "Agents": {
        "install": Command("agent", "Install the hooks and the MCP server in a coding agent."),
        "mcp": Command("server", "Run the MCP server over standard input and output."),
        "hook": Command("agent", "Answer a hook event of a coding agent (JSON on standard input)."),
        "agent": Command("agent", "Manage the processes behind the hooks, and find the plugins."),
    },
    "Server": {
        "serve": Command("server", "Run the REST API, with the dashboard at / and MCP at /mcp."),
        "dashboard": Command("server", "Open the dashboard in the browser."),
        "keys": Command("server", "Create, list and revoke the API keys of the server."),
    },
    "Tools": {
        "demo": Command("demo", "Run a demonstration: a week of an agent's memories."),
        "doctor": Command("doctor", "Check the installation, and print how to correct problems."),
        "config": Command("config", "Show the settings and where they come from, or change one."),
        "bench": Command("bench", "Run questions of your own."),
        "completion": Command("completion", "Print the shell script for completion."),
    },
}
COMMANDS = {name: command for commands in SECTIONS.values() for name, command in commands.items()}
#: What other programs call a command.
OTHER_NAMES = {"search": "recall"}
#: What people look for that does more than one command might, and the command that they mean most often.
_MEANT = {"delete": "forget", "remove": "forget", "rm": "forget", "add": "remember", "show": "get", "explain": "why"}

#: The command that helps after an error, by the code of the error.
_HINTS = {
    "settings": "`memotherm config show --origin` prints where each value comes from",
    "store_damaged": "`memotherm store restore BACKUP NEW` creates a store from a checkpoint",
    "plugin_not_found": "`memotherm doctor` lists what is installed",
}


class Commands(SuggestingGroup):
    """A group of commands that are imported when they are called, not when they are listed."""

    meant = _MEANT

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command."""
        name = OTHER_NAMES.get(cmd_name, cmd_name)
        entry = COMMANDS.get(name)
        if entry is None:
            return None
        module = import_module(f"memotherm.cli.{entry.module}")
        command: click.Command = getattr(module, entry.attribute or name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands under their headings."""
        width = max(map(len, COMMANDS))
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{width}}", entry.help) for name, entry in commands.items()])


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
    """Tiered memory for AI agents: hot, warm and cold, in one file, offline.

    \b
    memotherm demo                      a demonstration in your terminal
    memotherm install claude-code       memory for your coding agent
    memotherm COMMAND --help            options and examples of a command
    """
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
            return error.exit_code
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
        path = exc.ctx.command_path if exc.ctx else "memotherm"
        hint = f"`{path} --help` lists the arguments and options"
        if isinstance(exc, click.NoSuchOption) and isinstance(exc.ctx and exc.ctx.command, click.Group):
            hint = f"options come after the command, as in `{path} COMMAND {exc.option_name}`"
        _print_error(exc.format_message(), hint)
        return exit_codes.USAGE
    except click.ClickException as exc:
        _print_error(exc.format_message(), None)
        return exc.exit_code
    except (click.Abort, KeyboardInterrupt):
        return exit_codes.INTERRUPTED
    return result if isinstance(result, int) else exit_codes.OK


def _print_error(message: str, hint: str | None, details: Sequence[str] = ()) -> None:
    say(f"error: {' '.join(message.split())}")
    for detail in details:
        click.echo(printable(detail), err=True)
    if hint:
        say(f"hint: {hint}")
