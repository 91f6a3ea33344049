"""A progress bar on standard error, where somebody sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

__all__ = ["counting"]


@contextmanager
def counting(what: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """Lend a function that is told (done, total) and shows it; None when nobody wants to see it."""
    if quiet:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(what, total=None, visible=False)

        def told(done: int, total: int) -> None:
            bars.update(task, completed=done, total=total, visible=True)

        yield told
