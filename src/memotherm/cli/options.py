"""The options that select the store and the scope, and how a command opens them."""

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
from memotherm.cli.parsing import Moment
from memotherm.errors import NotFound
from memotherm.model import SCOPE_FIELDS, Scope
from memotherm.spool import scope_of

__all__ = [
    "StoreOptions",
    "dry_run_option",
    "expires_option",
    "json_option",
    "kind_option",
    "opened",
    "store_option",
    "temporary_copy",
]

Command = TypeVar("Command", bound=Callable[..., Any])

_STORE = "The store, a path or URL; default: the setting `store`."
_SCOPES = {
    "tenant": "The tenant.",
    "project": "The project; `auto` uses the name of the repository's folder.",
    "environment": "The environment, such as production.",
    "user": "The user; `auto` uses the name of your account.",
    "agent": "The agent.",
    "session": "The session.",
}


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """The store and the scope of a command."""

    url: str | None = None
    scope: Scope = field(default_factory=Scope)


def store_option(command: Command) -> Command:
    """Add `--store` and the scope options to a command; it receives both as `store`."""

    @functools.wraps(command)
    def with_store(*, store: str | None, **options: Any) -> Any:  # noqa: ANN401
        named = {name: value for name in SCOPE_FIELDS if (value := options.pop(f"scope_{name}")) is not None}
        scope = scope_of(named, str(Path.cwd()))
        return command(store=StoreOptions(store, Scope(**scope)), **options)

    wrapped: Any = with_store
    for name in reversed(SCOPE_FIELDS):
        names = (f"--{name}", "--session-id") if name == "session" else (f"--{name}",)
        wrapped = click.option(*names, f"scope_{name}", metavar="NAME", help=_SCOPES[name])(wrapped)
    with_options: Command = click.option("--store", "-s", metavar="URL", help=_STORE)(wrapped)
    return with_options


def kind_option(*parameter: str, **attributes: Any) -> Callable[[Command], Command]:  # noqa: ANN401
    """Return the option for a kind, which other programs call type or category."""
    return click.option("--kind", "-k", "--type", "--category", *parameter, **attributes)


def expires_option(command: Command) -> Command:
    """Add `--expires-at` to a command."""
    return click.option("--expires-at", type=Moment(), help="The time when it expires (UTC unless it has an offset).")(
        command
    )


def json_option(command: Command) -> Command:
    """Add `--json` to a command."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def dry_run_option(command: Command) -> Command:
    """Add `--dry-run` to a command."""
    return click.option("--dry-run", is_flag=True, help="Print what would change, without changing it.")(command)


@contextmanager
def opened(store: StoreOptions, *, dry_run: bool = False, existing: bool = False) -> Iterator[Memotherm]:
    """Open the store; for a dry run, a temporary copy of it.

    Args:
        store: The store and the scope.
        dry_run: Whether to open a copy.
        existing: Refuse a store that was named and does not exist, instead of creating it.
    """
    path = (store.url or "").removeprefix("sqlite:///")
    if existing and path and "://" not in path and path != ":memory:" and not Path(path).expanduser().exists():
        raise NotFound(f"there is no store {store.url}: check the path, or create it with `memotherm remember`")
    with memotherm.open(store.url, scope=store.scope) as mem:
        if not dry_run:
            yield mem
            return
        with temporary_copy(mem) as copy:
            yield copy


@contextmanager
def temporary_copy(mem: Memotherm) -> Iterator[Memotherm]:
    """Open a temporary copy of the whole store, with the same scope and settings."""
    with tempfile.TemporaryDirectory(prefix="memotherm-dry-run-", ignore_cleanup_errors=True) as folder:
        path = mem.checkpoint(Path(folder) / "copy.db")
        with memotherm.open(path, scope=mem.scope, settings=mem.settings) as copy:
            yield copy
