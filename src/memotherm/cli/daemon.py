"""`memotherm daemon`: the process that answers hooks and commands faster."""

from __future__ import annotations

import gc
from importlib import import_module

import click

from memotherm.cli.options import json_option
from memotherm.cli.output import print_json
from memotherm.cli.parsing import SuggestingGroup
from memotherm.daemon import control
from memotherm.daemon.client import is_private, is_supported
from memotherm.daemon.process import serve
from memotherm.hooks.entry import answer_event
from memotherm.settings import load

__all__ = ["command"]

#: The modules of what a fork runs.
_MODULES = ("cli.changing", "cli.context", "cli.feedback", "cli.reading", "cli.recall", "cli.remember", "cli.scopes",
            "cli.search", "cli.session", "cli.worker", "hooks.jobs", "hooks.recall")  # fmt: skip


@click.group("daemon", cls=SuggestingGroup)
def command() -> None:
    """Start or stop the process that answers hooks and commands faster, or show it.

    Hooks start it by themselves unless the setting `daemon` is off. It needs Linux.
    """


@command.command("start")
def start() -> None:
    """Start the daemon in the background."""
    _require_support()
    control.start()


@command.command("stop")
def stop() -> None:
    """End the daemon; commands that it is running are finished."""
    process = control.stop()
    click.echo("no daemon is running" if process is None else f"process {process} ends")


@command.command("status")
@json_option
def status(as_json: bool) -> None:
    """Show whether the daemon is running."""
    process = control.running()
    if as_json:
        print_json({"running": process is not None, "process": process})
    else:
        click.echo("no daemon is running" if process is None else f"running as process {process}")


@command.command("run")
def run() -> None:
    """Run the daemon in the foreground."""
    from memotherm.hooks.warm_up import load_all

    _require_support()
    folder = control.folder()
    if not is_private(folder):
        raise click.ClickException(f"others can open {folder}: run `chmod 700 {folder}`")
    settings = load(project=False)
    for name in _MODULES:
        import_module(f"memotherm.{name}")
    model = load_all(settings)
    gc.collect()
    # The forks share what exists now: looking for garbage in it would copy it.
    gc.freeze()
    if not serve(folder, _run, settings.daemon_idle_minutes * 60):
        click.echo("a daemon is running already", err=True)
    del model


def _run(arguments: list[str], started: float) -> int:
    """Run the command of a client."""
    if arguments[:1] == ["hook"]:
        return answer_event(arguments[1:], started)
    from memotherm.cli.app import run as run_command

    return run_command(arguments)


def _require_support() -> None:
    if not is_supported():
        raise click.ClickException("the daemon needs Linux; everything works without it")
