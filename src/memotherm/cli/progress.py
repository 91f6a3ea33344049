"""The progress of a long command on standard error: a bar in a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

__all__ = ["progress_bar", "timing"]

#: Called with (done, total).
Update = Callable[[int, int], None]

_SECONDS_BETWEEN_LINES = 5.0


@contextmanager
def progress_bar(label: str, *, quiet: bool = False, keeps: bool = True) -> Iterator[Update]:
    """Yield a function (done, total) that shows the progress.

    Args:
        label: What is counted.
        quiet: Whether to show no progress.
        keeps: Whether what is done stays after an interruption, and the command goes on when it is repeated.
    """
    done = total = 0

    def update(now_done: int, now_total: int) -> None:
        nonlocal done, total
        done, total = now_done, now_total
        show(done, total)

    try:
        with _shown(label, quiet=quiet) as show:
            yield update
    except KeyboardInterrupt:
        kept = "are done and stay; repeat the command to go on" if keeps else "were done; nothing was written"
        click.echo(f"interrupted: {done:,} of {f'{total:,} ' if total else ''}{label} {kept}", err=True)
        raise


@contextmanager
def _shown(label: str, *, quiet: bool) -> Iterator[Update]:
    if quiet:
        yield lambda done, total: None  # noqa: ARG005
    elif not sys.stderr.isatty():
        yield _Lines(label).update
    else:
        counts = (BarColumn(), MofNCompleteColumn(), _RateColumn(), TimeRemainingColumn())
        with Progress(TextColumn("{task.description}"), *counts, console=Console(stderr=True), transient=True) as bars:
            task = bars.add_task(label, total=None, visible=False)
            yield lambda done, total: bars.update(task, completed=done, total=total, visible=True)


class _RateColumn(ProgressColumn):
    """How many are done per second."""

    def render(self, task: Task) -> Text:
        """Return the rate; empty until it is known."""
        rate = task.finished_speed or task.speed
        return Text(f"{rate:,.0f}/s" if rate else "", style="dim")


class _Lines:
    """Prints a line every few seconds."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._started = self._printed = time.monotonic()

    def update(self, done: int, total: int) -> None:
        """Print a line if it is time for one."""
        now = time.monotonic()
        if now - self._printed < _SECONDS_BETWEEN_LINES or not 0 < done < total:
            return
        self._printed = now
        rate = done / max(now - self._started, 1e-9)
        left = _duration((total - done) / rate)
        click.echo(f"{self._label}: {done:,} of {total:,} ({done / total:.0%}), {rate:,.0f}/s, {left} left", err=True)


def timing(seconds: float, embedding_seconds: float) -> str:
    """Return how long a command took, and the part of it that the embedder took."""
    if not embedding_seconds:
        return f"took {_duration(seconds)}; no embedder was called"
    share = min(1.0, embedding_seconds / max(seconds, 1e-9))
    return f"took {_duration(seconds)}, the embedder {_duration(embedding_seconds)} of it ({share:.0%})"


def _duration(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
