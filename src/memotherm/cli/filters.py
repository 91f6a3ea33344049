"""The options that filter memories by time, metadata and key, and how they are read."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from memotherm.errors import InvalidInput

__all__ = ["contains_option", "filter_options", "inside_option"]

Command = TypeVar("Command", bound=Callable[..., Any])


def filter_options(command: Command) -> Command:
    """Add `--since`, `--until`, `--where` and `--prefix`; the command receives them under these names."""

    @functools.wraps(command)
    def with_filters(*, where: tuple[str, ...], **options: Any) -> Any:  # noqa: ANN401
        return command(where=where_of(where), **options)

    wrapped: Any = with_filters
    wrapped = click.option("--prefix", metavar="KEY", help="Only memories whose key begins with this.")(wrapped)
    wrapped = click.option(
        "--where", multiple=True, metavar="FILTER",
        help='Only matching metadata: status=open, or JSON such as \'{"votes": {"$gte": 3}}\' (repeatable: all).',
    )(wrapped)  # fmt: skip
    wrapped = click.option("--until", metavar="TIME", help="Only memories created before this.")(wrapped)
    with_options: Command = click.option(
        "--since", metavar="TIME", help="Only memories created since: 2026-01-31, 2026-01-31T12:00Z, or 7d (ago)."
    )(wrapped)
    return with_options


def contains_option(command: Command) -> Command:
    """Add `--contains` to a command."""
    return click.option("--contains", metavar="TEXT", help="Only memories whose content contains this.")(command)


def inside_option(command: Command) -> Command:
    """Add `--inside` to a command."""
    return click.option(
        "--inside", is_flag=True, help="Everything at and below the scope, instead of what is visible from it."
    )(command)


def where_of(texts: Sequence[str]) -> dict[str, Any] | None:
    """Return the filter that options give, each as `name=value` or as a JSON object; None without options."""
    where: dict[str, Any] = {}
    for text in texts:
        part = _object(text) if text.lstrip().startswith("{") else _pair(text)
        twice = where.keys() & part.keys()
        if twice:
            raise InvalidInput(f"--where names {min(twice)!r} twice: give all its conditions in one JSON object")
        where |= part
    return where or None


def _object(text: str) -> dict[str, Any]:
    try:
        value: dict[str, Any] = json.loads(text)
    except ValueError as exc:
        raise InvalidInput(f'--where is not JSON: write it like \'{{"status": "open"}}\' ({exc})') from exc
    return value


def _pair(text: str) -> dict[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InvalidInput(f'cannot read --where {text!r}: write it like status=open or \'{{"status": "open"}}\'')
    try:
        return {name: json.loads(value)}
    except ValueError:
        return {name: value}
