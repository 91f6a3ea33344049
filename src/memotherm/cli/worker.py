"""`memotherm worker`: process the jobs that hooks have spooled."""

from __future__ import annotations

import time

import click

from memotherm.cli import exit_codes
from memotherm.cli.options import json_option
from memotherm.cli.output import print_json, print_notes
from memotherm.hooks.capture import WorkerResult, process_spool
from memotherm.spool import user_spool

__all__ = ["command"]


@click.command("worker")
@click.option("--once", is_flag=True, help="Process the jobs that are ready and exit; otherwise run until Ctrl-C.")
@click.option(
    "--all", "include_running", is_flag=True, help="Include sessions that have not ended, and jobs to be tried later."
)
@click.option(
    "--every", type=click.FloatRange(min=0.1), default=30.0, show_default=True, help="Seconds between two runs."
)
@click.option("--quiet", is_flag=True, help="Print nothing.")
@json_option
def command(once: bool, include_running: bool, every: float, quiet: bool, as_json: bool) -> int:
    """Process the jobs of the hooks: store captured texts and end sessions.

    \b
    memotherm worker --once
    """
    while True:
        result = process_spool(user_spool(), include_running=include_running)
        if not quiet:
            _print_result(result, as_json=as_json)
        if once:
            return exit_codes.FAILURE if result.failed else exit_codes.OK
        time.sleep(every)


def _print_result(result: WorkerResult, *, as_json: bool) -> None:
    if as_json:
        print_json({**result._asdict(), "failed": list(result.failed)})
        return
    if result.busy:
        click.echo("another worker is running")
        return
    counts = {name: getattr(result, name) for name in ("captured", "skipped", "redacted", "ended", "waiting")}
    click.echo(", ".join(f"{name} {count}" for name, count in counts.items()))
    print_notes(result.failed)
