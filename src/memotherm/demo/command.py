"""`memotherm demo`: the demonstration in the terminal, or as JSON lines."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

import click
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from memotherm.cli.formatting import console, event_line, hit_line, memory_line, tier_bar
from memotherm.demo.story import Step, StepResult, run_demo
from memotherm.model import Event, Hit, Memory, Tier

__all__ = ["demo"]

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
def demo(slow: bool, as_json: bool) -> None:
    """Run a demonstration: a week of an agent's memories.

    The store is in a temporary folder; your own store is neither read nor written.

    \b
    memotherm demo --slow
    """
    out = console()
    with tempfile.TemporaryDirectory(prefix="memotherm-demo-", ignore_cleanup_errors=True) as folder:
        if not as_json:
            out.print("[bold]Memotherm[/bold] · an agent's week of memories")
            out.print("One agent, a temporary store, a simulated clock, the real search.", style="dim")
        for step in run_demo(Path(folder)):
            if as_json:
                click.echo(json.dumps(step.as_json(), ensure_ascii=False))
                continue
            _print_step(out, step)
            if slow:
                time.sleep(_PAUSE_SECONDS)
    if not as_json:
        out.print("\nNext", style="bold")
        for number, (purpose, line) in enumerate(_NEXT, 1):
            out.print(f"  {number}. {purpose}: [cyan]{line}[/cyan]", soft_wrap=True)


def _print_step(out: Console, step: Step) -> None:
    out.print()
    out.print(Text(f"{step.at:%A %H:%M}", style="bold cyan"), Text(step.title, style="bold"))
    out.print(Padding(Text(step.text), (0, 0, 0, 2), expand=False))
    out.print(Padding(Text(step.code, style="dim italic"), (0, 0, 0, 2), expand=False))
    for result in step.results:
        for line in _result_lines(result):
            out.print(Padding(line, (0, 0, 0, 4), expand=False))


def _result_lines(result: StepResult) -> list[RenderableType]:
    match result:
        case Hit():
            return [hit_line(result)]
        case Memory():
            return [memory_line(result)]
        case Event():
            return [event_line(result)]
        case str():
            return [Text(f"  {result}", style="dim")]
        case status:
            return [tier_bar(status, tier) for tier in Tier]
