"""`memotherm demo`: a budget of 60 tokens, its receipt, a correction and its undo, in the terminal or as JSON lines."""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import click
from rich.text import Text

import memotherm
from memotherm import Context, Event, Memory, Settings
from memotherm.cli.formatting import console, line_of, row, shown_id
from memotherm.operations.codec import to_json

#: What a step prints below its text.
StepResult = Memory | Event | Context | str

_PAUSE_SECONDS = 2.5
_MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
_QUESTION = "which port does the staging database use?"
_BUDGET = 60
_ID = re.compile(r"mem_[0-9a-z]{26}")
_NEXT = (
    ("Install it in your agent", "memotherm install claude-code"),
    ("See what is stored, in the browser", "memotherm dashboard"),
)


@click.command("demo")
@click.option("--slow", is_flag=True, help="Pause between the steps.")
@click.option("--json", "as_json", is_flag=True, help="Print the steps as JSON lines.")
def demo(slow: bool, as_json: bool) -> None:
    """Run a demonstration: a budget that holds, its receipt, a correction.

    The store is in a temporary folder; your own store is neither read nor written.

    \b
    memotherm demo --slow
    """
    out = console()
    if not as_json:
        out.print("[bold]Memotherm[/bold] · what an agent reads, in 60 tokens, and why")
    with tempfile.TemporaryDirectory(prefix="memotherm-demo-", ignore_cleanup_errors=True) as folder:
        for number, step in enumerate(_steps(Path(folder)), 1):
            if as_json:
                click.echo(json.dumps({**step._asdict(), "results": to_json(list(step.results))}, ensure_ascii=False))
                continue
            out.print()
            out.print(row(Text(f"{number}", style="bold cyan"), Text(step.title, style="bold")))
            out.print(row(Text("  "), Text(step.code, style="dim italic")))
            for line in _lines(step.results):
                out.print(line)
            if slow:
                time.sleep(_PAUSE_SECONDS)
    if not as_json:
        out.print("\nNext", style="bold")
        for purpose, command in _NEXT:
            out.print(row(Text("  "), Text(f"{purpose}: ").append(command, style="cyan")))


class _Step(NamedTuple):
    """A step: its title, the calls it makes, and their results."""

    title: str
    code: str
    results: Sequence[StepResult]


def _steps(folder: Path) -> Iterator[_Step]:
    """Use a new store, and yield each step."""
    now = _MONDAY + timedelta(hours=9)
    # The demonstration does not depend on the user's settings.
    with memotherm.open(folder / "week.db", embedder="local", settings=Settings(), clock=lambda: now) as mem:
        stored = mem.remember_many([
            {"content": "Answer with small diffs and short summaries", "priority": "pinned"},
            {"content": "Production deploys are frozen until Friday noon", "tags": ["blocker"], "tier": "hot"},
            {"content": "The staging database listens on port 5433"},
            {"content": "The staging server restarts every night at three"},
            {"content": "Kickoff: Ana leads design, Tom leads the data migration"},
        ])  # fmt: skip
        yield _Step("On Monday, an agent stores what it learns", "mem.remember(...)", stored)

        now += timedelta(days=2)
        tight = mem.context(_QUESTION, budget=_BUDGET, track=False)
        yield _Step(
            f"On Wednesday, it reads what fits into {_BUDGET} tokens: pinned memories come first",
            f'mem.context("{_QUESTION}", budget={_BUDGET}).text',
            tight.text.splitlines(),
        )

        yield _Step("The receipt says why, and what enters at which budget", "context.receipt", [tight])

        enough = min(entry.fits_at for entry in tight.left_out if entry.fits_at)
        yield _Step(
            f"With {enough} tokens the answer is in", f"mem.context(question, budget={enough}).text",
            mem.context(_QUESTION, budget=enough, track=False).text.splitlines()[2:-2],
        )  # fmt: skip

        correction = "No, the staging database moved to port 5544"
        captured = mem.by("person").capture(correction)
        corrected = mem.history(stored[2].id)[-1]
        yield _Step(
            "A correction in plain words: the old value leaves the prompts",
            f'mem.capture("{correction}")',
            [*(memory for memory in (captured.memory, mem.get(stored[2].id)) if memory), corrected],
        )

        mem.undo(corrected.seq)
        yield _Step(
            "Every change has a reason, and can be undone",
            f"mem.undo({corrected.seq})",
            [mem.get(stored[2].id), mem.history(stored[2].id)[-1]],
        )


# Output


def _lines(results: Sequence[StepResult]) -> Iterator[Text]:
    for result in results:
        match result:
            case str():
                yield row(Text("  "), Text(result))
            case Context():
                yield from _receipt(result)
            case Event():
                yield row(
                    Text(f"  #{result.seq} "),
                    Text(f"{result.action}: {_ID.sub(_shown, result.why or '')}", style="dim"),
                )
            case _:
                yield line_of(result, 2, ids=False)


def _shown(match: re.Match[str]) -> str:
    return shown_id(match[0])


def _receipt(context: Context) -> Iterator[Text]:
    """Yield why each memory is in a context or not."""
    for entry in context.included:
        yield row(Text("  + "), Text(entry.content), Text(f"{entry.tokens} tokens: {entry.reason}", style="dim"))
    for entry in context.left_out:
        enters = f" → enters at {entry.fits_at} tokens" if entry.fits_at else ""
        yield row(Text("  - "), Text(entry.content), Text(entry.reason, style="dim").append(enters, style="bold"))
