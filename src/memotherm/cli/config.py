"""`memotherm config show`: every setting, its value, and where the value comes from."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from memotherm.cli.options import json_option
from memotherm.cli.output import print_json
from memotherm.settings import SECRET_NAMES, load, origins

__all__ = ["command", "shown_settings"]


@click.group("config")
def command() -> None:
    """Show the settings, and where each value comes from."""


@command.command("show")
@click.option("--origin", is_flag=True, help="Also where each value comes from.")
@click.option("--changed", is_flag=True, help="Only what differs from the defaults.")
@json_option
def show(origin: bool, changed: bool, as_json: bool) -> None:
    """Print the settings; keys are never shown.

    \b
    memotherm config show --origin
    """
    found = shown_settings(changed=changed)
    if as_json:
        print_json(found if origin else {name: each["value"] for name, each in found.items()})
        return
    width = max((len(name) for name in found), default=0)
    for name, each in found.items():
        click.echo(f"{name:<{width}}  {each['value']!r}" + (f"  ({each['origin']})" if origin else ""))


def shown_settings(*, changed: bool = False) -> dict[str, dict[str, Any]]:
    """Return every setting with its value and origin, secrets hidden."""
    values, where = asdict(load()), origins()
    return {
        name: {"value": _hidden(name, value), "origin": where[name]}
        for name, value in values.items()
        if not changed or where[name] != "default"
    }


def _hidden(name: str, value: Any) -> Any:  # noqa: ANN401
    if name in SECRET_NAMES:
        return "(set)" if value else ""
    return list(value) if isinstance(value, tuple) else value
