"""`memotherm install` and `plugin-dir`: configure coding agents."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click

from memotherm.cli.options import json_option
from memotherm.cli.output import print_json, print_notes
from memotherm.hooks.install import CLIENTS, PLUGINS, RUNNERS, InstallRequest, back_up, plan, record
from memotherm.hooks.settings_files import FileChange, apply

__all__ = ["command", "plugin_dir"]


@click.command("install")
@click.argument("client", type=click.Choice(list(CLIENTS)))
@click.option(
    "--scope", type=click.Choice(["user", "project"]), default="user", show_default=True,
    help="Configure your user account, or this folder.",
)  # fmt: skip
@click.option("--store", "-s", metavar="URL", help="The store, a path or URL; default: the setting `store`.")
@click.option(
    "--project",
    metavar="NAME",
    default="auto",
    show_default=True,
    help="The project of the memories; `auto` uses the name of the repository's folder.",
)
@click.option(
    "--user",
    metavar="NAME",
    default="auto",
    show_default=True,
    help="The user of the memories; `auto` uses the name of the account.",
)
@click.option("--shared", is_flag=True, help="Use one memory for all projects, without a project and a user.")
@click.option(
    "--run-with",
    type=click.Choice(RUNNERS),
    help="Start the program from the PATH, or with uvx or pipx; default: path for a project, this program for a user.",
)
@click.option("--no-capture", is_flag=True, help="Recall only; do not store conversations.")
@click.option("--dry-run", is_flag=True, help="Print the changes without making them.")
@click.option("--uninstall", is_flag=True, help="Remove what `install` added, and nothing else.")
@json_option
def command(
    client: str,
    scope: str,
    store: str | None,
    project: str,
    user: str,
    shared: bool,
    run_with: str | None,
    no_capture: bool,
    dry_run: bool,
    uninstall: bool,
    as_json: bool,
) -> None:
    """Install the hooks and the MCP server in a coding agent.

    Changed files are backed up in the data folder. `--scope project` writes files that can be committed: they contain
    no paths of this machine.

    \b
    memotherm install claude-code --dry-run
    memotherm install codex --scope project
    memotherm install gemini --uninstall
    """
    if shared and (project, user) != ("auto", "auto"):
        raise click.UsageError("--shared is one memory without a project and a user: leave out --project and --user")
    own_path = store is not None and "://" not in store and scope == "user"
    url = str(Path(store or "").expanduser().absolute()) if own_path else store
    named = {"--store": url, **({} if shared else {"--project": project, "--user": user})}
    options = [word for name, value in named.items() if value for word in (name, value)]
    request = InstallRequest(scope, Path.cwd(), tuple(options), capture=not no_capture, uninstall=uninstall)
    request = request._replace(run_with=run_with)
    changes, next_steps = plan(client, request)
    backups = [] if dry_run else [path for change in changes if (path := _apply(change, uninstall)) is not None]
    if as_json:
        print_json(
            {
                "client": client,
                "dry_run": dry_run,
                "uninstall": uninstall,
                "changed": [str(change.path) for change in changes],
                "diff": "".join(change.diff for change in changes),
                "backups": [str(path) for path in backups],
                "next": list(next_steps),
            }
        )
        return
    for change in changes:
        click.echo(change.diff, nl=False)
    if not changes:
        click.echo("nothing to change")
    notes = [f"backup of the old file: {path}" for path in backups]
    notes += ["dry run: nothing was changed"] if dry_run else [f"next: {step}" for step in next_steps]
    if not uninstall and find_spec("mcp") is None:
        notes.append('the tools need the MCP package: pip install "memotherm[mcp]"')
    print_notes(notes)


def _apply(change: FileChange, uninstall: bool) -> Path | None:
    """Change a file, and return the path of the backup of the old one."""
    backup = back_up(change)
    apply(change)
    record(change, uninstall=uninstall)
    return backup


@click.command("plugin-dir")
@click.argument("client", type=click.Choice(["claude-code", "openclaw"]), default="claude-code")
def plugin_dir(client: str) -> None:
    """Print the path of the plugins in the package.

    \b
    claude plugin marketplace add "$(memotherm plugin-dir)"
    claude plugin install memotherm@memotherm
    """
    click.echo(PLUGINS / "openclaw" if client == "openclaw" else PLUGINS)
