"""`memotherm doctor`: check the installation, and print how to correct problems."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

import memotherm
from memotherm.cli import exit_codes
from memotherm.cli.filters import inside_option
from memotherm.cli.options import StoreOptions, json_option, store_option
from memotherm.cli.output import print_json
from memotherm.cli.scopes import whereabouts
from memotherm.doctor import Finding, failure, findings, store_findings
from memotherm.errors import MemothermError
from memotherm.settings import default_store, load

__all__ = ["command"]

_MARKS = {"ok": "✓", "note": "·", "warning": "!", "failure": "✗"}
_COLOURS = {"ok": "green", "note": "cyan", "warning": "yellow", "failure": "red"}


@click.command("doctor")
@inside_option
@store_option
@json_option
def command(inside: bool, store: StoreOptions, as_json: bool) -> int:
    """Check the installation, and print how to correct problems.

    Your store is only read; writing is tested in a temporary store.
    """
    found = list(findings(lambda: _of_store(store, inside=inside)))
    broken = any(finding.state == "failure" for finding in found)
    if as_json:
        print_json({"ok": not broken, "findings": [finding._asdict() for finding in found]})
    else:
        for finding in found:
            _print_finding(finding)
    return exit_codes.FAILURE if broken else exit_codes.OK


def _print_finding(finding: Finding) -> None:
    mark = click.style(_MARKS[finding.state], fg=_COLOURS[finding.state], bold=True)
    click.echo(f"{mark} {finding.name:<12} {finding.detail}")
    if finding.remedy:
        click.echo(f"  {'':<12} → {finding.remedy}")


def _of_store(store: StoreOptions, *, inside: bool) -> Iterator[Finding]:
    url = store.url or default_store(load())
    if "://" not in url and not Path(url).expanduser().exists():
        yield Finding("store", "note", f"{url} does not exist yet", f"memotherm remember '...' --store {url}")
        return
    try:
        mem = memotherm.open(store.url, scope=store.scope)
    except MemothermError as error:
        yield failure("store", error)
        return
    with mem:
        yield from store_findings(mem, url, inside=inside, elsewhere=lambda hint: whereabouts(mem, store, hint))
