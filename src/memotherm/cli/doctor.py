"""`memotherm doctor`: check the installation and a store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

import memotherm
from memotherm import Scope
from memotherm.cli import exit_codes
from memotherm.cli.memories import whereabouts
from memotherm.cli.options import StoreOptions, folder_option, narrower_option, prints
from memotherm.cli.output import Output
from memotherm.errors import MemothermError
from memotherm.settings import default_store, load
from memotherm.settings.paths import sqlite_path

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
    path = sqlite_path(url)
    if path is not None and not path.exists():
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
