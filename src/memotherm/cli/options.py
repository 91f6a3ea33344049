"""The memory that a command works on: the options that name it, how it is opened, and how it is rehearsed."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import click

import memotherm
from memotherm import Memotherm
from memotherm.hooks.recalling import project_name
from memotherm.model import SCOPE_FIELDS, Scope

__all__ = ["StoreOptions", "dry_run_option", "json_option", "opened", "rehearsed", "store_option"]

Command = TypeVar("Command", bound=Callable[..., Any])

_STORE = "A path or URL; otherwise the setting `store`, or your own store."
_SCOPES = {
    "tenant": "Whose memories: the tenant.",
    "project": "The project; `auto` names it after the folder of the repository.",
    "environment": "The environment, such as production.",
    "user": "The user.",
    "agent": "The agent.",
    "session": "The session.",
}


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """Which store a command opens, and whose memories it sees there."""

    url: str | None = None
    scope: Scope = field(default_factory=Scope)


def store_option(command: Command) -> Command:
    """Let a command take `--store` and the scope; it gets both as `store`."""

    @functools.wraps(command)
    def located(*, store: str | None, **options: Any) -> Any:  # noqa: ANN401
        names = {name: options.pop(f"scope_{name}") for name in SCOPE_FIELDS}
        if names["project"] == "auto":
            names["project"] = project_name(Path.cwd())
        return command(store=StoreOptions(store, Scope(**names)), **options)

    wrapped: Any = located
    for name in reversed(SCOPE_FIELDS):
        wrapped = click.option(f"--{name}", f"scope_{name}", metavar="NAME", help=_SCOPES[name])(wrapped)
    found: Command = click.option("--store", "-s", metavar="PLACE", help=_STORE)(wrapped)
    return found


def json_option(command: Command) -> Command:
    """Let a command take `--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def dry_run_option(command: Command) -> Command:
    """Let a command take `--dry-run`."""
    text = "Tell what would change, and change nothing."
    return click.option("--dry-run", is_flag=True, help=text)(command)


@contextmanager
def opened(store: StoreOptions, *, dry_run: bool = False) -> Iterator[Memotherm]:
    """Lend the memory that was named; for a dry run, a copy of it that is thrown away."""
    with memotherm.open(store.url, scope=store.scope) as mem:
        if not dry_run:
            yield mem
            return
        with rehearsed(mem) as copy:
            yield copy


@contextmanager
def rehearsed(mem: Memotherm) -> Iterator[Memotherm]:
    """Lend a copy of the whole store, so that a change can be tried out with all its limits and rules."""
    with tempfile.TemporaryDirectory(prefix="memotherm-rehearsal-", ignore_cleanup_errors=True) as folder:
        path = mem.checkpoint(Path(folder) / "copy.db")
        with memotherm.open(path, scope=mem.scope, settings=mem.settings) as copy:
            yield copy
