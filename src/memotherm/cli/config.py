"""`memotherm config`: the settings, and where each value comes from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from memotherm.cli.options import prints
from memotherm.cli.output import Output, printable
from memotherm.cli.parsing import SuggestingGroup, TextCommand
from memotherm.settings import FIELDS
from memotherm.settings.paths import user_file
from memotherm.settings.sources import change_user_file, described_settings, known, with_setting, without_setting


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
    file = change_user_file(change)
    entry: dict[str, Any] = _described()[name]
    stronger = f"the value comes from {entry['origin']}, which takes precedence over your settings file"
    notes = [] if entry["origin"] in (str(file), "default") else [stronger]
    return Output({"name": name, **entry}, [f"{name} = {entry['value']!r}"], notes)
