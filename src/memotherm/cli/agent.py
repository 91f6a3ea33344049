"""Coding agents: `memotherm install`, `hook`, and `memotherm agent` with the processes behind the hooks."""

from __future__ import annotations

import gc
import sys
import time
from dataclasses import asdict
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from shlex import quote

import click

from memotherm.cli import exit_codes
from memotherm.cli.options import dry_run_option, prints, show
from memotherm.cli.output import Output, is_json
from memotherm.cli.parsing import SuggestingGroup
from memotherm.daemon import control
from memotherm.daemon.client import is_supported
from memotherm.errors import InvalidInput
from memotherm.history.cleanup import KEEP_DAYS, change_of_cleanup, cleanup, cleanup_days
from memotherm.hooks.hosts import HOSTS
from memotherm.hooks.install import PLUGINS, RUNNERS, InstallRequest, carry_out, plan
from memotherm.hooks.project import project_at, trusted_folders
from memotherm.hooks.project import trust as add_trust
from memotherm.hooks.spool import user_spool
from memotherm.settings import load
from memotherm.settings.paths import absolute_store, environment
from memotherm.text.content import pluralize

#: The time without a request after which the daemon ends, so that its memory is free when nobody works.
IDLE_SECONDS = 1800.0
#: The modules of what a fork of the daemon runs.
_MODULES = ("cli.app", "cli.changes", "cli.formatting", "cli.memories", "cli.session", "hooks.capture",
            "hooks.entry", "hooks.jobs", "hooks.recall", "hooks.worker", "tools.results")  # fmt: skip


class _Client(click.Choice[str]):
    """The name of a coding agent; a part of it is answered with the whole name."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name, or say which one is meant."""
        meant = [name for name in HOSTS if value and name.startswith(value)]
        if value not in HOSTS and meant:
            self.fail(f"there is no agent {value!r}: did you mean {meant[0]!r}?", param, ctx)
        return super().convert(value, param, ctx)


@click.command("install")
@click.argument("client", type=_Client(list(HOSTS)))
@click.option(
    "--scope", type=click.Choice(["user", "project"]), default="user", show_default=True,
    help="Configure your user account, or this folder.",
)  # fmt: skip
@click.option("--store", "-s", metavar="URL", help="The store, a path or URL; default: the setting `store`.")
@click.option(
    "--project", metavar="NAME", default="auto", show_default=True,
    help="The project of the memories; `auto` uses the repository of the folder.",
)  # fmt: skip
@click.option(
    "--user", metavar="NAME", default="auto", show_default=True,
    help="The user of the memories; `auto` uses the name of the account.",
)  # fmt: skip
@click.option("--shared", is_flag=True, help="Use one memory for all projects, without a project and a user.")
@click.option(
    "--run-with", type=click.Choice(list(RUNNERS)),
    help="Start the program from the PATH, or with uvx or pipx; default: path for a project, this program for a user.",
)  # fmt: skip
@click.option("--no-capture", is_flag=True, help="Recall only; do not store conversations.")
@dry_run_option
@click.option("--uninstall", is_flag=True, help="Remove what `install` added, and nothing else.")
@prints
def install(
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
) -> Output:
    """Install the hooks and the MCP server in a coding agent.

    In a terminal, it offers to make memories of past sessions that were not read yet. Changed files are backed up in
    the data folder. `--scope project` writes files that can be committed: they contain no paths of this machine.

    \b
    memotherm install claude-code --dry-run
    memotherm install codex --scope project
    memotherm install gemini --uninstall
    """
    if shared and (project, user) != ("auto", "auto"):
        raise click.UsageError("--shared is one memory without a project and a user: leave out --project and --user")
    url = absolute_store(store, Path.cwd()) if store and scope == "user" else store
    named = {"--store": url, **({} if shared else {"--project": project, "--user": user})}
    options = [word for name, value in named.items() if value for word in (name, value)]
    folder = Path.cwd() if scope == "project" else None
    request = InstallRequest(folder, tuple(options), not no_capture, uninstall, run_with)
    changes, next_steps = plan(HOSTS[client], request)
    written = [] if dry_run else [carry_out(change, uninstall=uninstall) for change in changes]
    backups = [path for path in written if path is not None]
    diff = "".join(change.diff for change in changes)
    notes = [f"backup of the old file: {path}" for path in backups]
    notes += ["dry run: nothing was changed"] if dry_run else [f"next: {step}" for step in next_steps]
    if not uninstall:
        notes += _past_sessions(HOSTS[client].name)
    if not uninstall and find_spec("mcp") is None:
        notes.append('the tools need the MCP package: pip install "memotherm[mcp]"')
    done = "removed from" if uninstall else "changed"
    lines = diff.splitlines() if dry_run else [f"{done} {change.path}" for change in changes]
    if not dry_run and not uninstall:
        stores = "its prompts get memories" if no_capture else "its prompts get memories, and what you say is stored"
        notes.append(f"{client} is installed: from its next session on, {stores}")
    data = {
        "client": client,
        "dry_run": dry_run,
        "uninstall": uninstall,
        "changed": [str(change.path) for change in changes],
        "diff": diff,
        "backups": [str(path) for path in backups],
        "next": list(next_steps),
    }
    output = Output(data, lines or ["nothing to change"], notes)
    if dry_run or uninstall or is_json() or not sys.stdin.isatty():
        return output
    from memotherm.cli.history import offer_past_sessions

    show(output)
    return offer_past_sessions(store)


def _past_sessions(name: str) -> list[str]:
    """Return how to make memories of the past sessions of an agent, if it has kept some."""
    from memotherm.history.sources import SOURCES

    source = SOURCES.get(name)
    roots = source.roots(environment(), Path.home()) if source is not None else []
    count = sum(1 for root in roots for _ in source.transcripts(root)) if source is not None else 0
    if not count:
        return []
    deletes = cleanup() if name == "claude-code" else None
    soon = [f"{deletes}: `memotherm agent keep-transcripts` keeps them longer"] if deletes and deletes.soon else []
    return [f"next: `memotherm backfill` makes memories of {pluralize(count, 'past session')}", *soon]


@click.command("hook", context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def hook(arguments: tuple[str, ...]) -> None:
    """Answer a hook event of a coding agent: JSON on standard input, at most one JSON object on standard output.

    It exits with 0 before its deadline, even after an error. `memotherm install` configures it.

    \b
    memotherm hook [EVENT] [--client claude|codex|gemini|cursor|openclaw]
                     [--store URL] [--project NAME|auto] [--user NAME] [--agent NAME]
                     [--tenant NAME] [--environment NAME]
                     [--budget TOKENS] [--deadline SECONDS] [--no-capture] [--no-worker]

    \b
    echo '{"hook_event_name": "SessionStart", "session_id": "s1"}' | memotherm hook
    """
    # `memotherm.__main__` runs a hook without click.
    from memotherm.hooks.entry import run

    run(list(arguments))


@click.group("agent", cls=SuggestingGroup)
def agent() -> None:
    """The processes behind the hooks: the worker that stores what they capture, and the daemon.

    \b
    memotherm agent worker --once
    memotherm agent daemon status
    """


@agent.command("worker")
@click.option("--once", is_flag=True, help="Process the jobs that are ready and exit; otherwise run until Ctrl-C.")
@click.option(
    "--all", "include_running", is_flag=True, help="Include sessions that have not ended, and jobs to be tried later."
)
@click.option(
    "--every", type=click.FloatRange(min=0.1), default=30.0, show_default=True, help="Seconds between two runs."
)
@click.option("--retry", is_flag=True, help="Try the jobs again that were set aside.")
@click.option("--quiet", is_flag=True, help="Print nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def worker(once: bool, include_running: bool, every: float, retry: bool, quiet: bool, as_json: bool) -> int:  # noqa: ARG001
    """Process the jobs of the hooks: store captured texts and end sessions.

    A job that takes longer than two minutes is set aside, as is a file that is no job; `memotherm doctor` lists them.

    \b
    memotherm agent worker --once
    memotherm agent worker --once --retry
    """
    from memotherm.hooks.worker import run_worker

    if retry:
        user_spool().retry()
    while True:
        result = run_worker(user_spool(), include_running=include_running)
        if not quiet:
            names = ("captured", "skipped", "redacted", "ended", "waiting")
            counts = ", ".join(f"{name} {getattr(result, name)}" for name in names)
            show(Output(asdict(result), ["another worker is running" if result.busy else counts], result.failed))
        if once:
            return exit_codes.FAILURE if result.failed else exit_codes.OK
        time.sleep(every)


@agent.command("trust")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), default=".")
@prints
def trust(folder: Path) -> Output:
    """Trust FOLDER, and its worktrees, with the memories of its remote repository; default: this folder.

    The first folder that names a remote is trusted by itself; `memotherm doctor` lists all that are trusted.

    \b
    memotherm agent trust ~/code/shop-2
    """
    project = project_at(folder)
    if not project.remote:
        raise InvalidInput(f"{folder} names no remote repository: it has memories of its own")
    if str(project.place) not in trusted_folders().get(project.remote, []):
        add_trust(project)
    moved = f"memotherm store move-project {quote(project.local)} {quote(project.remote)}"
    data = {"project": project.remote, "folder": str(project.place)}
    line = f"{project.place} is trusted with the memories of {project.remote}"
    return Output(data, [line], [f"to move the memories that were stored in this folder before: {moved}"])


@agent.command("keep-transcripts")
@click.argument("days", type=click.IntRange(1), default=KEEP_DAYS)
@dry_run_option
@prints
def keep_transcripts(days: int, dry_run: bool) -> Output:
    """Let Claude Code keep transcripts for DAYS, instead of deleting them after 30; default: ten years.

    It changes `cleanupPeriodDays` in its settings, and prints the change and how to undo it.

    \b
    memotherm agent keep-transcripts --dry-run
    memotherm agent keep-transcripts 365
    """
    before, change = cleanup_days(), change_of_cleanup(days)
    backup = None if change is None or dry_run else carry_out(change, uninstall=False)
    notes = [] if backup is None else [f"backup of the old file: {backup}"]
    if change is not None and not dry_run:
        notes.append(f"to undo it: memotherm agent keep-transcripts {before}")
    diff = "" if change is None else change.diff
    data = {"days": days, "before": before, "dry_run": dry_run, "diff": diff}
    return Output(data, diff.splitlines() or ["nothing to change"], notes).after_dry_run(dry_run)


@agent.command("plugin-dir")
@click.argument("client", type=click.Choice(["claude-code", "openclaw"]), default="claude-code")
@prints
def plugin_dir(client: str) -> Output:
    """Print the path of the plugins in the package.

    \b
    claude plugin marketplace add "$(memotherm agent plugin-dir)"
    claude plugin install memotherm@memotherm
    """
    path = str(PLUGINS / "openclaw" if client == "openclaw" else PLUGINS)
    return Output({"path": path}, [path])


@agent.group("daemon", cls=SuggestingGroup)
def daemon() -> None:
    """Start or stop the process that answers hooks and commands faster, or show it.

    Hooks start it by themselves unless the setting `daemon` is off. It needs Linux.

    \b
    memotherm agent daemon status
    """


@daemon.command("start")
def start() -> None:
    """Start the daemon in the background."""
    _require_support()
    control.start()


@daemon.command("stop")
@prints
def stop() -> Output:
    """End the daemon; commands that it is running are finished."""
    process = control.stop()
    return Output({"process": process}, ["no daemon is running" if process is None else f"process {process} ends"])


@daemon.command("status")
@prints
def status() -> Output:
    """Show whether the daemon is running."""
    process = control.running()
    line = "no daemon is running" if process is None else f"running as process {process}"
    return Output({"running": process is not None, "process": process}, [line])


@daemon.command("run")
def run() -> None:
    """Run the daemon in the foreground."""
    from memotherm.daemon.process import serve
    from memotherm.hooks.warm_up import load_all

    _require_support()
    if found := control.obstacle():
        raise click.ClickException(": ".join(found))
    folder = control.folder()
    settings = load(project=False)
    for name in _MODULES:
        import_module(f"memotherm.{name}")
    model = load_all(settings)
    gc.collect()
    # The forks share what exists now: looking for garbage in it would copy it.
    gc.freeze()
    if not serve(folder, _run, IDLE_SECONDS):
        click.echo("a daemon is running already", err=True)
    del model


def _run(arguments: list[str], started: float) -> int:
    if arguments[:1] == ["hook"]:
        from memotherm.hooks.entry import answer_event

        return answer_event(arguments[1:], started)
    from memotherm.cli.app import run as run_command

    return run_command(arguments)


def _require_support() -> None:
    if not is_supported():
        raise click.ClickException("the daemon needs Linux; everything works without it")
