"""`memotherm doctor`, `config` and `completion`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import memotherm
from memotherm import Scope
from memotherm.cli import exit_codes
from memotherm.cli.memories import whereabouts
from memotherm.cli.options import StoreOptions, folder_option, narrower_option, prints
from memotherm.cli.output import Output, printable
from memotherm.cli.parsing import SuggestingGroup, TextCommand
from memotherm.errors import MemothermError
from memotherm.settings import FIELDS, default_store, load
from memotherm.settings.paths import create_folder, user_file, write_text
from memotherm.settings.sources import described_settings, known, with_setting, without_setting

if TYPE_CHECKING:
    from memotherm.doctor import Finding

_MARKS = {"ok": ("✓", "green"), "note": ("·", "cyan"), "warning": ("!", "yellow"), "failure": ("✗", "red")}


@click.command("doctor")
@narrower_option
@prints
@folder_option
def doctor(store: StoreOptions, include_narrower: bool) -> Output:
    """Check the installation, and print how to correct problems.

    Your store is only read; writing is tested in temporary files.

    \b
    memotherm doctor --store agent.db
    """
    from memotherm.doctor import findings

    found = list(findings(lambda: _of_store(store, include_narrower=include_narrower)))
    broken = any(finding.state == "failure" for finding in found)
    data = {"ok": not broken, "findings": [finding._asdict() for finding in found]}
    return Output(data, _finding_lines(found), code=exit_codes.FAILURE if broken else exit_codes.OK)


def _finding_lines(found: list[Finding]) -> Iterator[object]:
    from rich.text import Text

    from memotherm.cli.formatting import row

    width = max(len(finding.name) for finding in found)
    for finding in found:
        mark, colour = _MARKS[finding.state]
        head = Text().append(mark, style=f"bold {colour}").append(f" {finding.name:<{width}}")
        yield row(head, Text(finding.detail), *[Text(f"→ {finding.remedy}", style="dim")] * bool(finding.remedy))


def _of_store(store: StoreOptions, *, include_narrower: bool) -> Iterator[Finding]:
    from memotherm.doctor import Finding, checked, failure, project_finding, store_findings

    url = store.url or default_store(load())
    if "://" not in url and not Path(url).expanduser().exists():
        yield Finding("store", "note", f"{url} does not exist yet", f"memotherm remember '...' --store {url}")
        return
    try:
        outer = memotherm.open(store.url, scope=Scope(tenant=store.scope.tenant))
    except MemothermError as error:
        yield failure("store", error)
        return
    with outer:
        fields = {name: value for name, value in store.scope.items() if name != "tenant"}
        # Without a scope, the whole store is counted.
        include_narrower = include_narrower or not fields
        mem = outer.scoped(**fields)
        yield checked("project", lambda: project_finding(outer, Path.cwd()))
        yield from store_findings(
            mem, url, include_narrower=include_narrower, elsewhere=lambda hint: whereabouts(mem, store, hint)
        )


@click.group("config", cls=SuggestingGroup)
def config() -> None:
    """Show the settings and where each value comes from, or change one.

    \b
    memotherm config show --origin
    memotherm config set max_pinned 5
    """


@config.command("show")
@click.option("--origin", is_flag=True, help="Print where each value comes from.")
@click.option("--changed", is_flag=True, help="Print only settings that are not at their default.")
@prints
def show(origin: bool, changed: bool) -> Output:
    """Print the settings; API keys are left out.

    \b
    memotherm config show --origin
    """
    settings = _described(changed=changed)
    lines = {
        name: repr(entry["value"]) + (f"  ({entry['origin']})" if origin else "") for name, entry in settings.items()
    }
    return Output(settings if origin else {name: entry["value"] for name, entry in settings.items()}, [lines])


@config.command("path")
@prints
def path() -> Output:
    """Print the path of your settings file, which `config set` writes."""
    file = user_file()
    missing = ["the file does not exist yet: `memotherm config set NAME VALUE` creates it"] * (not file.is_file())
    return Output({"path": str(file), "exists": file.is_file()}, [str(file)], missing)


@config.command("set", cls=TextCommand)
@click.argument("name")
@click.argument("value")
@prints
def set_(name: str, value: str) -> Output:
    """Set a setting in your settings file; comments in it stay.

    \b
    memotherm config set max_pinned 5
    """
    [own_name] = known({name: value}, "the arguments")
    return _edited(own_name, lambda text: with_setting(text, own_name, value))


@config.command("unset")
@click.argument("name", type=click.Choice(list(FIELDS)))
@prints
def unset(name: str) -> Output:
    """Remove a setting from your settings file.

    \b
    memotherm config unset max_pinned
    """
    return _edited(name, lambda text: without_setting(text, name))


def _described(*, changed: bool = False) -> dict[str, dict[str, Any]]:
    """Return the settings, without files that cannot be used; print what is wrong with these, also beside JSON."""
    problems: list[str] = []
    settings = described_settings(changed=changed, problems=problems)
    for problem in problems:
        click.echo(f"warning: {printable(problem)}", err=True)
    return settings


def _edited(name: str, change: Callable[[str], str]) -> Output:
    """Change the user's file; return the setting, and a note if something else than the file determines it."""
    file = user_file()
    text = file.read_text("utf-8") if file.is_file() else ""
    changed = change(text)
    if changed != text:
        create_folder(file.parent)
        write_text(file, changed)
    entry: dict[str, Any] = _described()[name]
    stronger = f"the value comes from {entry['origin']}, which takes precedence over your settings file"
    notes = [] if entry["origin"] in (str(file), "default") else [stronger]
    return Output({"name": name, **entry}, [f"{name} = {entry['value']!r}"], notes)


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the shell script for completion of commands and options.

    \b
    memotherm completion bash >> ~/.bashrc
    memotherm completion zsh >> ~/.zshrc
    memotherm completion fish > ~/.config/fish/completions/memotherm.fish
    """
    from click.shell_completion import get_completion_class

    from memotherm.cli.app import app

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no completion for {shell}")
    # Shells request completions with the variable that click derives from the name of the program.
    click.echo(kind(app, {}, "memotherm", "_MEMOTHERM_COMPLETE").source())
