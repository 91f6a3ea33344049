"""`memotherm config`: every setting, its value, where the value comes from, and the file of the user."""

from __future__ import annotations

from collections.abc import Callable

import click

from memotherm.cli.options import json_option
from memotherm.cli.output import print_json, print_notes
from memotherm.cli.parsing import SuggestingGroup, TextCommand
from memotherm.settings import FIELDS
from memotherm.settings.paths import create_folder, user_file, write_text
from memotherm.settings.sources import described_settings, known, with_setting, without_setting

__all__ = ["command"]


@click.group("config", cls=SuggestingGroup)
def command() -> None:
    """Show the settings and where each value comes from, or change one."""


@command.command("show")
@click.option("--origin", is_flag=True, help="Print where each value comes from.")
@click.option("--changed", is_flag=True, help="Print only settings that are not at their default.")
@json_option
def show(origin: bool, changed: bool, as_json: bool) -> None:
    """Print the settings; API keys are left out.

    \b
    memotherm config show --origin
    """
    settings = described_settings(changed=changed)
    if as_json:
        print_json(settings if origin else {name: entry["value"] for name, entry in settings.items()})
        return
    width = max((len(name) for name in settings), default=0)
    for name, entry in settings.items():
        click.echo(f"{name:<{width}}  {entry['value']!r}" + (f"  ({entry['origin']})" if origin else ""))


@command.command("path")
@json_option
def path(as_json: bool) -> None:
    """Print the path of your settings file, which `config set` writes."""
    file = user_file()
    if as_json:
        print_json({"path": str(file), "exists": file.is_file()})
        return
    click.echo(file)
    if not file.is_file():
        print_notes(["the file does not exist yet: `memotherm config set NAME VALUE` creates it"])


@command.command("set", cls=TextCommand)
@click.argument("name")
@click.argument("value")
@json_option
def set_(name: str, value: str, as_json: bool) -> None:
    """Set a setting in your settings file; comments in it stay.

    \b
    memotherm config set max_pinned 5
    """
    [own_name] = known({name: value}, "the arguments")
    _edit(lambda text: with_setting(text, own_name, value))
    _print_setting(own_name, as_json=as_json)


@command.command("unset")
@click.argument("name", type=click.Choice(list(FIELDS)))
@json_option
def unset(name: str, as_json: bool) -> None:
    """Remove a setting from your settings file."""
    _edit(lambda text: without_setting(text, name))
    _print_setting(name, as_json=as_json)


def _edit(change: Callable[[str], str]) -> None:
    file = user_file()
    text = file.read_text("utf-8") if file.is_file() else ""
    changed = change(text)
    if changed != text:
        create_folder(file.parent)
        write_text(file, changed)


def _print_setting(name: str, *, as_json: bool) -> None:
    """Print a setting, and a note if something else than the user's file determines it."""
    entry = described_settings()[name]
    if as_json:
        print_json({"name": name, **entry})
        return
    click.echo(f"{name} = {entry['value']!r}")
    if entry["origin"] not in (str(user_file()), "default"):
        print_notes([f"the value comes from {entry['origin']}, which takes precedence over your settings file"])
