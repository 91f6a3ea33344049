"""`memotherm config show`: every setting, its value, and where the value comes from."""

from __future__ import annotations

from typing import Any

import click

from memotherm.cli.options import json_option
from memotherm.cli.output import print_json
from memotherm.cli.parsing import SuggestingGroup
from memotherm.settings import FIELDS, SECRET_NAMES, load, origins

__all__ = ["command", "described_settings"]


@click.group("config", cls=SuggestingGroup)
def command() -> None:
    """Show the settings and where each value comes from."""


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


def described_settings(*, changed: bool = False) -> dict[str, dict[str, Any]]:
    """Return every setting with its value and origin, without secrets."""
    settings, sources = load(), origins()
    return {
        name: {"value": _printable(name, getattr(settings, name)), "origin": sources[name]}
        for name in FIELDS
        if not changed or sources[name] != "default"
    }


def _printable(name: str, value: Any) -> Any:  # noqa: ANN401
    if name in SECRET_NAMES:
        return "(set)" if value else ""
    return list(value) if isinstance(value, tuple) else value
