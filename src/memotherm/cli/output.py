"""Input and output of commands: data or JSON on standard output, notes and progress on standard error.

Everything that is printed is safe: in any encoding, and without control sequences of terminals.
"""

from __future__ import annotations

import codecs
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import click

from memotherm.cli.exit_codes import OK
from memotherm.errors import InvalidInput

_SECONDS_BETWEEN_LINES = 5.0
_ERRORS = "memotherm.escape"
#: Control characters as their pictures, except tab and line feed; C1 controls and DEL have none.
_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"}
_PICTURES |= {0x7F: 0x2421, **dict.fromkeys(range(0x80, 0xA0), 0xFFFD)}


class Titled(NamedTuple):
    """A value that names memories by their ids, and the contents of these."""

    value: object
    contents: Mapping[str, str]


class Output(NamedTuple):
    """What a command prints, and its exit code."""

    #: For `--json`.
    data: object
    #: For people: texts, values that `formatting.rendered` shows, or what rich can render.
    lines: Iterable[object] = ()
    #: For people, on standard error.
    notes: Iterable[str] = ()
    code: int = OK

    def after_dry_run(self, dry_run: bool) -> Output:
        """Return the output with a word on whether it was a dry run."""
        data = {**self.data, "dry_run": dry_run} if isinstance(self.data, dict) else self.data
        return self._replace(data=data, notes=[*self.notes, *["dry run: nothing was changed"] * dry_run])


def is_json() -> bool:
    """Return whether the current command has `--json`."""
    return bool(click.get_current_context().params.get("as_json"))


def printable(text: str) -> str:
    """Return a text whose control characters are replaced by visible ones, which terminals do not interpret."""
    return text.translate(_PICTURES)


def say(text: str) -> None:
    """Print a text on standard error; in a terminal it is wrapped at words."""
    shown = printable(text)
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        shown = textwrap.fill(
            shown, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )  # fmt: skip
    click.echo(shown, err=True)


def content_of(text: str) -> str:
    """Return the text, or the whole standard input for `-`."""
    if text != "-":
        return text
    try:
        return sys.stdin.buffer.read().decode("utf-8").rstrip("\n")
    except UnicodeDecodeError as exc:
        raise InvalidInput(f"standard input is not UTF-8 text (byte {exc.start}): convert it first") from exc


def confirm(question: str, why: str, *, yes: bool) -> None:
    """Ask the user, unless `yes`; without a terminal, refuse and say why that needs `--yes`."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError(f"{why} and standard input is not a terminal: pass --yes")
    click.confirm(question, abort=True, err=True)


def accept_any_text() -> None:
    """Let standard output and error print what their encoding lacks as the escapes that JSON has."""
    codecs.register_error(_ERRORS, _escaped)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors=_ERRORS)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    units = text.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2)), error.end


@contextmanager
def progress_bar(label: str, *, keeps: bool = True) -> Iterator[Callable[[int, int], None]]:
    """Yield a function (done, total) that shows progress on standard error, unless the command prints JSON.

    In a terminal it is a bar, elsewhere a line every few seconds.

    Args:
        label: What is counted.
        keeps: Whether what is done stays after an interruption, and the command goes on when it is repeated.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    in_terminal = sys.stderr.isatty()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"))
    bars = Progress(
        *columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True,
        disable=is_json() or not in_terminal,
    )  # fmt: skip
    bars.add_task(label, total=None, visible=False, rate="")
    [task] = bars.tasks
    printed = time.monotonic()

    def update(done: int, total: int) -> None:
        nonlocal printed
        bars.update(task.id, completed=done, total=total, visible=True)
        task.fields["rate"] = rate = f"{task.speed:,.0f}/s" if task.speed else ""
        if is_json() or in_terminal or not rate or time.monotonic() - printed < _SECONDS_BETWEEN_LINES:
            return
        printed = time.monotonic()
        left = _duration(task.time_remaining or 0)
        click.echo(f"{label}: {done:,} of {total:,} ({done / total:.0%}), {rate}, {left} left", err=True)

    try:
        with bars:
            yield update
    except KeyboardInterrupt:
        stays = keeps and not click.get_current_context().params.get("dry_run")
        done = f": {task.completed:,.0f} of {task.total:,.0f} {label} " if task.total else ""
        done += ("are done and stay" if stays else "were done") if done else ""
        click.echo(f"interrupted{done}; {'repeat the command to go on' if stays else 'nothing was written'}", err=True)
        raise


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
