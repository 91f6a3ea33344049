"""`memotherm demo`: the story of a week, for a terminal or as JSON lines."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

import click
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from memotherm.cli.demo_script import Shown, Step, tell
from memotherm.cli.formatting import console, event_line, hit_line, memory_line, tier_bar
from memotherm.model import Event, Hit, Memory, Tier
from memotherm.model.results import Status

__all__ = ["command"]

_PAUSE_SECONDS = 2.5
_NEXT = (
    ("Keep your own", 'memotherm remember "..."'),
    ("Give it to your agent", "memotherm install claude-code"),
    ("Read on", "README.md, then docs/"),
    ("Measure it", "make bench"),
)


@click.command("demo")
@click.option("--slow", is_flag=True, help="Pause between the steps.")
@click.option("--json", "as_json", is_flag=True, help="Print the steps as JSON lines.")
def command(slow: bool, as_json: bool) -> None:
    """Watch an agent's week of memories, told in the terminal.

    The store is a scratch file in a temporary folder; nothing of yours is read or written.
    """
    out = console()
    with tempfile.TemporaryDirectory(prefix="memotherm-demo-", ignore_cleanup_errors=True) as folder:
        if not as_json:
            _begin(out)
        for step in tell(Path(folder)):
            if as_json:
                click.echo(json.dumps(step.as_json(), ensure_ascii=False))
                continue
            _show(out, step)
            if slow:
                time.sleep(_PAUSE_SECONDS)
        if not as_json:
            _end(out)


def _begin(out: Console) -> None:
    out.print(Text("Memotherm", style="bold"), "· an agent's week of memories")
    out.print("One agent, one scratch store, a made-up calendar, the real search.", style="dim")


def _show(out: Console, step: Step) -> None:
    out.print()
    out.print(Text(f"{step.at:%A %H:%M}", style="bold cyan"), Text(step.title, style="bold"))
    out.print(Padding(Text(step.text), (0, 0, 0, 2)))
    out.print(Padding(Text(step.code, style="dim italic"), (0, 0, 0, 2)))
    for each in step.shown:
        for line in _lines(each):
            out.print(Padding(line, (0, 0, 0, 4)))


def _end(out: Console) -> None:
    out.print()
    out.print("Next", style="bold")
    for number, (what, how) in enumerate(_NEXT, 1):
        out.print(Text(f"  {number}. {what}: "), Text(how, style="cyan"), sep="", soft_wrap=True)


def _lines(shown: Shown) -> list[RenderableType]:
    if isinstance(shown, Hit):
        return [hit_line(shown)]
    if isinstance(shown, Memory):
        return [memory_line(shown)]
    if isinstance(shown, Event):
        return [event_line(shown)]
    if isinstance(shown, Status):
        return [tier_bar(shown, tier) for tier in Tier]
    return [Text(f"  {shown}", style="dim")]
