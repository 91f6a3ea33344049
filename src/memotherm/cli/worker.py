"""`memotherm worker`: take what the hooks have left for later."""

from __future__ import annotations

import time

import click

from memotherm.cli import exit_codes
from memotherm.cli.options import json_option
from memotherm.cli.output import print_json, print_notes
from memotherm.hooks.capture import Done, work_off
from memotherm.hooks.worker import spool_of

__all__ = ["command"]


@click.command("worker")
@click.option("--once", is_flag=True, help="Do what is ready, and end; otherwise run until Ctrl-C.")
@click.option("--all", "everything", is_flag=True, help="Also what belongs to sessions that still go on.")
@click.option("--every", type=click.FloatRange(min=0.1), default=30.0, show_default=True, help="Seconds between looks.")
@click.option("--quiet", is_flag=True, help="Print nothing.")
@json_option
def command(once: bool, everything: bool, every: float, quiet: bool, as_json: bool) -> int:
    """Remember what the hooks have left for later.

    \b
    memotherm worker --once
    """
    while True:
        done = work_off(spool_of(), everything=everything)
        if not quiet:
            _tell(done, as_json=as_json)
        if once:
            return exit_codes.FAILURE if done.failed else exit_codes.OK
        time.sleep(every)


def _tell(done: Done, *, as_json: bool) -> None:
    if as_json:
        print_json({**done._asdict(), "failed": list(done.failed)})
        return
    told = [f"captured {done.captured}", f"left out {done.left_out}", f"ended {done.ended}", f"waiting {done.waiting}"]
    click.echo("another worker is at it" if done.busy else ", ".join(told))
    print_notes(done.failed)
