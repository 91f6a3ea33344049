"""The memory that a command works on: the option that names it, and how it is opened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

import thermocline
from thermocline import Thermocline

__all__ = ["json_option", "opened", "store_option"]

Command = TypeVar("Command", bound=Callable[..., Any])


def store_option(command: Command) -> Command:
    """Let a command take `--store`."""
    text = "A path or URL; otherwise the setting `store`, or your own store."
    return click.option("--store", "-s", help=text)(command)


def json_option(command: Command) -> Command:
    """Let a command take `--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def opened(store: str | None) -> Thermocline:
    """Open the store that was named."""
    return thermocline.open(store)
