"""Input and output of commands: data or JSON on standard output, notes on standard error, texts from standard input.

Everything that is printed is safe: in any encoding, and without control sequences of terminals.
"""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import click

from memotherm.cli.exit_codes import OK
from memotherm.errors import InvalidInput

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["Output", "accept_any_text", "confirm", "content_of", "is_json", "print_json", "printable"]

_ERRORS = "memotherm.escape"
#: Control characters as their pictures, except tab and line feed; C1 controls and DEL have none.
_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"}
_PICTURES |= {0x7F: 0x2421, **dict.fromkeys(range(0x80, 0xA0), 0xFFFD)}
#: JSON need not escape these controls, which some terminals interpret.
_ESCAPES = {code: f"\\u{code:04x}" for code in range(0x7F, 0xA0)}


class Output(NamedTuple):
    """What a command prints, and its exit code."""

    #: For `--json`.
    data: object
    #: For people: texts, or what rich can render.
    lines: Iterable[str | RenderableType] = ()
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


def print_json(value: object, *, indent: int | None = 2) -> None:
    """Print one JSON value."""
    import json

    click.echo(json.dumps(value, ensure_ascii=False, indent=indent, default=str).translate(_ESCAPES))


def printable(text: str) -> str:
    """Return a text whose control characters are replaced by visible ones, which terminals do not interpret."""
    return text.translate(_PICTURES)


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
