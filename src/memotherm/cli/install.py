"""`memotherm install` and `plugin-dir`: give a coding agent its memory with one command."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click

from memotherm.cli.options import json_option
from memotherm.cli.output import print_json, print_notes
from memotherm.hooks.clients import CLIENTS, PLUGINS, InstallRequest, plan
from memotherm.hooks.merging import apply

__all__ = ["command", "plugin_dir"]


@click.command("install")
@click.argument("client", type=click.Choice(list(CLIENTS)))
@click.option(
    "--scope", type=click.Choice(["user", "project"]), default="user", show_default=True,
    help="For you everywhere, or for everyone in this folder.",
)  # fmt: skip
@click.option("--store", "-s", metavar="PLACE", help="The store to use; otherwise the setting, or your own store.")
@click.option("--project", metavar="NAME", help="Keep memories of this project apart; `auto` takes the folder's name.")
@click.option("--no-capture", is_flag=True, help="Recall only: do not keep what is said.")
@click.option("--dry-run", is_flag=True, help="Show the difference, and change nothing.")
@click.option("--uninstall", is_flag=True, help="Take out what was put in, and nothing else.")
@json_option
def command(
    client: str,
    scope: str,
    store: str | None,
    project: str | None,
    no_capture: bool,
    dry_run: bool,
    uninstall: bool,
    as_json: bool,
) -> None:
    """Give a coding agent its memory: hooks and MCP server, with a backup of what was there.

    \b
    memotherm install claude-code --dry-run
    memotherm install codex --scope project
    memotherm install gemini --uninstall
    """
    place = store if store is None or "://" in store else str(Path(store).expanduser().absolute())
    options = [*(["--store", place] if place else []), *(["--project", project] if project else [])]
    wish = InstallRequest(scope, Path.cwd(), tuple(options), capture=not no_capture, uninstall=uninstall)
    found = plan(client, wish)
    backups = [] if dry_run else [path for change in found.changes if (path := apply(change)) is not None]
    if as_json:
        print_json(
            {
                "client": client,
                "dry_run": dry_run,
                "uninstall": uninstall,
                "changed": [str(change.path) for change in found.changes],
                "diff": "".join(change.diff for change in found.changes),
                "backups": [str(path) for path in backups],
                "next": list(found.next_steps),
            }
        )
        return
    for change in found.changes:
        click.echo(change.diff, nl=False)
    if not found.changes:
        click.echo("nothing to change")
    notes = [f"the old file is kept as {path}" for path in backups]
    notes += ["dry run: nothing was changed"] if dry_run else [f"next: {step}" for step in found.next_steps]
    if not uninstall and find_spec("mcp") is None:
        notes.append('the tools need the MCP package: pip install "memotherm[mcp]"')
    print_notes(notes)


@click.command("plugin-dir")
@click.argument("client", type=click.Choice(["claude-code", "openclaw"]), default="claude-code")
def plugin_dir(client: str) -> None:
    """Print where the plugins are that come with the package.

    \b
    claude plugin marketplace add "$(memotherm plugin-dir)"
    claude plugin install memotherm@memotherm
    """
    click.echo(PLUGINS / "openclaw" if client == "openclaw" else PLUGINS)
