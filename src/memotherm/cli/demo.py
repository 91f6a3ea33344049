"""`memotherm demo`: a demonstration in the terminal or as JSON lines."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

import click
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from memotherm.cli.demo_script import Step, StepResult, run_demo
from memotherm.cli.formatting import console, event_line, hit_line, memory_line, tier_bar
from memotherm.model import Event, Hit, Memory, Tier
from memotherm.model.reports import Status

__all__ = ["command"]

_PAUSE_SECONDS = 2.5
_NEXT = (
    ("Store a memory", 'memotherm remember "..."'),
    ("Install it in your agent", "memotherm install claude-code"),
    ("Read the docs", "README.md, then docs/"),
    ("Measure speed", "make bench"),
    ("See what is stored, in the browser", "memotherm dashboard"),
)


@click.command("demo")
@click.option("--slow", is_flag=True, help="Pause between the steps.")
@click.option("--json", "as_json", is_flag=True, help="Print the steps as JSON lines.")
def command(slow: bool, as_json: bool) -> None:
    """Run a demonstration: a week of an agent's memories.

    The store is in a temporary folder; your own store is neither read nor written.

    \b
    memotherm demo --slow
    """
    out = console()
    with tempfile.TemporaryDirectory(prefix="memotherm-demo-", ignore_cleanup_errors=True) as folder:
        if not as_json:
            _print_title(out)
        for step in run_demo(Path(folder)):
            if as_json:
                click.echo(json.dumps(step.as_json(), ensure_ascii=False))
                continue
            _print_step(out, step)
            if slow:
                time.sleep(_PAUSE_SECONDS)
        if not as_json:
            _print_next(out)


def _print_title(out: Console) -> None:
    out.print(Text("Memotherm", style="bold"), "· an agent's week of memories")
    out.print("One agent, a temporary store, a simulated clock, the real search.", style="dim")


def _print_step(out: Console, step: Step) -> None:
    out.print()
    out.print(Text(f"{step.at:%A %H:%M}", style="bold cyan"), Text(step.title, style="bold"))
    out.print(Padding(Text(step.text), (0, 0, 0, 2), expand=False))
    out.print(Padding(Text(step.code, style="dim italic"), (0, 0, 0, 2), expand=False))
    for result in step.results:
        for line in _lines(result):
            out.print(Padding(line, (0, 0, 0, 4), expand=False))


def _print_next(out: Console) -> None:
    out.print()
    out.print("Next", style="bold")
    for number, (purpose, command) in enumerate(_NEXT, 1):
        out.print(Text(f"  {number}. {purpose}: "), Text(command, style="cyan"), sep="", soft_wrap=True)


def _lines(result: StepResult) -> list[RenderableType]:
    if isinstance(result, Hit):
        return [hit_line(result)]
    if isinstance(result, Memory):
        return [memory_line(result)]
    if isinstance(result, Event):
        return [event_line(result)]
    if isinstance(result, Status):
        return [tier_bar(result, tier) for tier in Tier]
    return [Text(f"  {result}", style="dim")]
