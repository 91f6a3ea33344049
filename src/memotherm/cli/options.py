"""The options that commands have in common: store and scope, filters, `--json`, `--dry-run`."""

from __future__ import annotations

import functools
import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

import memotherm
from memotherm import Memotherm
from memotherm.cli.exit_codes import OK
from memotherm.cli.output import Output, is_json, printable, say
from memotherm.cli.parsing import MemoryId
from memotherm.errors import MemothermError, NotFound
from memotherm.hooks.project import HOOKS, is_repository, project_at, scope_of, untrusted_text
from memotherm.model import SCOPE_FIELDS, Scope
from memotherm.remote import is_remote
from memotherm.settings import default_store, load
from memotherm.settings.paths import sqlite_path

Command = TypeVar("Command", bound=Callable[..., Any])
#: A command that returns its output; None if it has printed all by itself.
Printing = Callable[..., Output | None]

_ID_LENGTH = 30
#: The parameters that name the memory which a command is about.
_SUBJECTS = {"memory_id", "keep", "done", "cancelled"}
#: JSON need not escape these controls, which some terminals interpret.
_ESCAPES = {code: f"\\u{code:04x}" for code in range(0x7F, 0xA0)}
_SCOPES = {
    "tenant": "The tenant.",
    "project": "The project; `auto` uses the repository of this folder.",
    "environment": "The environment, such as production.",
    "user": "The user; `auto` uses the name of your account.",
    "agent": "The agent.",
    "session": "The session.",
}
_EVERYWHERE = "Use no scope inside a project; lists, searches, exports and ids then reach all scopes."

# The store


class StoreOptions(NamedTuple):
    """The store and the scope of a command."""

    url: str | None = None
    scope: Scope = Scope()
    #: Whether to use the scope of the hooks, if they store the memories of this folder.
    as_hooks: bool = False


def store_option(command: Command) -> Command:
    """Add `--store` and the scope options to a command; it receives both as `store`."""

    @functools.wraps(command)
    def with_store(*, store: str | None, everywhere: bool | None = None, **options: Any) -> Any:  # noqa: ANN401
        named = {name: value for name in SCOPE_FIELDS if (value := options.pop(f"scope_{name}")) is not None}
        if everywhere and named:
            raise click.UsageError(f"--everywhere and --{min(named)} contradict each other: leave out one of them")
        if everywhere and "include_narrower" in options:
            options["include_narrower"] = True
        inside = options.get("include_narrower") or options.get("everything")
        as_hooks = everywhere is False and not named and not inside
        return command(store=StoreOptions(store, Scope(**scope_of(named, str(Path.cwd()))), as_hooks), **options)

    wrapped: Any = with_store
    for name in reversed(SCOPE_FIELDS):
        names = (f"--{name}", "--session-id") if name == "session" else (f"--{name}",)
        wrapped = click.option(*names, f"scope_{name}", metavar="NAME", help=_SCOPES[name])(wrapped)
    text = "The store, a path or URL; default: the setting `store`."
    with_options: Command = click.option("--store", "-s", metavar="URL", help=text)(wrapped)
    return with_options


def folder_option(command: Command) -> Command:
    """Like `store_option`, with `--everywhere`; without a scope, the command uses that of the hooks."""
    return click.option("--everywhere", is_flag=True, help=_EVERYWHERE)(store_option(command))


def memory_option(
    *, creates: bool = False, dry_run: bool = False, whole_store: bool = False
) -> Callable[[Printing], Callable[..., int]]:
    """Add `--store`, the scope options and `--json` to a command, which receives the opened memory as `mem`.

    Short ids are completed. The store is closed before the output that it returns is printed.

    Args:
        creates: Whether the command creates a store that does not exist.
        dry_run: Whether to add `--dry-run`, with which the command changes a temporary copy of the store.
        whole_store: Whether the command concerns the whole store, in a project as elsewhere.
    """

    def decorate(command: Printing) -> Callable[..., int]:
        @functools.wraps(command)
        def with_memory(*, store: StoreOptions, **options: Any) -> Output | None:  # noqa: ANN401
            on_copy = dry_run and options.pop("dry_run")
            with opened(store, dry_run=on_copy, creates=creates) as mem:
                view, options = _with_whole_ids(mem, options)
                output = command(mem=view, **options)
            return output.after_dry_run(on_copy) if output and dry_run else output

        with_options: Printing = (store_option if whole_store else folder_option)(with_memory)
        return prints(dry_run_option(with_options) if dry_run else with_options)

    return decorate


@contextmanager
def opened(store: StoreOptions, *, dry_run: bool = False, creates: bool = False) -> Iterator[Memotherm]:
    """Open the store, or for a dry run a temporary copy; refuse one that does not exist, unless it `creates` it."""
    path = sqlite_path(store.url) if store.url else None
    if not creates and path is not None and str(path) != ":memory:" and not path.exists():
        raise NotFound(f"there is no store {store.url}: check the path, or create it with `memotherm remember`")
    with memotherm.open(store.url, scope=store.scope) as outer:
        mem = (in_folder(outer, store.url) if store.as_hooks else outer).by("person").in_folder(Path.cwd())
        if not dry_run:
            yield mem
            return
        with tempfile.TemporaryDirectory(prefix="memotherm-dry-run-", ignore_cleanup_errors=True) as folder:
            copied = mem.checkpoint(Path(folder) / "copy.db")
            with memotherm.open(copied, scope=mem.scope, settings=mem.settings) as copy:
                yield copy.by("person").in_folder(Path.cwd())


def in_folder(mem: Memotherm, url: str | None) -> Memotherm:
    """Return the memory in the scope of the hooks, if they store the memories of this folder there, and say so.

    They do in a repository, in the default store; in another folder or store, if it has memories of this project.
    """
    scope = scope_of(HOOKS, "")
    named = ", ".join(f"{name} {value}" for name, value in scope.items())
    by_default = url is None and is_repository(Path.cwd()) and not is_remote(default_store(load()))
    try:
        inside = mem.scoped(**scope)
        if not by_default and not inside.inspect.scopes():
            return mem
    except MemothermError:
        return mem  # an API key may have a scope of its own
    click.echo(f"scope: {printable(named)}; --everywhere for all", err=True)
    if untrusted := untrusted_text(project_at(Path.cwd())):
        click.echo(f"note: {printable(untrusted)}", err=True)
    return inside


def located(mem: Memotherm, part: str) -> tuple[Memotherm, str]:
    """Return the whole id of the memory that a part of it names, and a view that can see the memory.

    Lists show memories of narrower scopes as well: the view is then the one from the scope of the memory.
    """
    with suppress(NotFound):
        return mem, mem.inspect.full_id(part)
    found = mem.inspect.full_id(part, include_narrower=True)
    memory = mem.get(found, include_narrower=True)
    return mem.scoped(**dict(memory.scope.items())), found


def _with_whole_ids(mem: Memotherm, options: dict[str, Any]) -> tuple[Memotherm, dict[str, Any]]:
    """Return the options of the current command with whole ids, and a view that can see the memory it is about.

    The ids of a session are those that it can see.
    """
    inside = mem.scoped(session=options["session_id"]) if "session_id" in options else mem
    views = [mem]

    def whole(name: str, part: str) -> str:
        try:
            view, found = located(inside, part)
        except NotFound:
            # A whole id may be that of a memory which was purged.
            if len(part) != _ID_LENGTH:
                raise
            return part
        if name in _SUBJECTS and view is not inside:
            views.append(view)
        return found

    names = [str(each.name) for each in click.get_current_context().command.params if isinstance(each.type, MemoryId)]
    given = {name: options[name] for name in names if options[name]}
    completed = {
        name: whole(name, value) if isinstance(value, str) else [whole(name, each) for each in value]
        for name, value in given.items()
    }
    return views[-1], options | completed


# Output and single options


def prints(command: Printing) -> Callable[..., int]:
    """Add `--json` to a command, and print the output that it returns."""

    @functools.wraps(command)
    def printed(*, as_json: bool, **options: Any) -> int:  # noqa: ANN401, ARG001 - `show` finds it in the context
        output = command(**options)
        return OK if output is None else show(output)

    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(printed)


def show(output: Output, *, indent: int | None = 2) -> int:
    """Print an output, and return its exit code."""
    if is_json():
        text = json.dumps(output.data, ensure_ascii=False, indent=indent, default=str)
        click.echo(text.translate(_ESCAPES))
        return output.code
    for line in output.lines:
        if isinstance(line, str):
            click.echo(printable(line))
            continue
        from memotherm.cli.formatting import console, rendered

        for item in rendered(line):
            console().print(item)
    for note in output.notes:
        say(f"note: {note}")
    return output.code


def dry_run_option(command: Command) -> Command:
    """Add `--dry-run` to a command."""
    return click.option("--dry-run", is_flag=True, help="Print what would change, without changing it.")(command)


yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
narrower_option = click.option(
    "--include-narrower", is_flag=True, help="Everything at and below the scope, instead of what is visible from it."
)
