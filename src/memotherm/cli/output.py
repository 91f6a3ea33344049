"""Input and output of commands: JSON on standard output, notes on standard error, content from standard input."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence

import click

from memotherm.errors import InvalidInput
from memotherm.model import Memory, Recall, Tier
from memotherm.model.results import Problem

__all__ = ["content_of", "print_changed", "print_json", "print_notes", "problem_json", "search_json", "searched_tiers"]


#: JSON need not escape these controls, which some terminals interpret.
_ESCAPES = {code: f"\\u{code:04x}" for code in range(0x7F, 0xA0)}


def print_json(value: object) -> None:
    """Print one JSON value."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2, default=str).translate(_ESCAPES))


def print_notes(notes: Iterable[str]) -> None:
    """Print notes on standard error."""
    for note in notes:
        click.echo(f"note: {note}", err=True)


def print_changed(
    memory: Memory, *, as_json: bool, dry_run: bool = False, warnings: Sequence[str] | None = None
) -> None:
    """Print a memory after a change, with warnings about it if there can be any."""
    from memotherm.tools.serializers import memory_json

    if as_json:
        noted = {} if warnings is None else {"warnings": list(warnings)}
        print_json({**memory_json(memory), **({"dry_run": True} if dry_run else {}), **noted})
        return
    from memotherm.cli.formatting import console, memory_line

    line = memory_line(memory)
    line.append(f"  {memory.id}", style="dim")
    console().print(line)
    if dry_run:
        print_notes(["dry run: nothing was changed"])
    print_notes(warnings or ())


def searched_tiers(tiers: Sequence[str], *, include_cold: bool) -> list[Tier]:
    """Return the tiers to search: those named, or hot and warm, and cold if it is to be included."""
    named = {Tier.of(tier) for tier in tiers} or {Tier.HOT, Tier.WARM}
    return [tier for tier in Tier if tier in named or (include_cold and tier is Tier.COLD)]


def search_json(recall: Recall, limit: int) -> dict[str, object]:
    """Return the result of a search, with the limit that took effect."""
    from memotherm.tools.serializers import recall_json

    return {"query": recall.query, **recall_json(recall), "limit": limit}


def content_of(text: str) -> str:
    """Return the text, or the whole standard input for `-`."""
    if text != "-":
        return text
    try:
        return sys.stdin.buffer.read().decode("utf-8").rstrip("\n")
    except UnicodeDecodeError as exc:
        raise InvalidInput(f"standard input is not UTF-8 text (byte {exc.start}): convert it first") from exc


def problem_json(problem: Problem) -> dict[str, str]:
    """Return a problem of `check`."""
    return {"code": problem.code, "detail": problem.detail}
