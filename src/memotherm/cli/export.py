"""`memotherm export` and `backup`: memories as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click

from memotherm import Memotherm, Page, Scope
from memotherm.cli.filters import inside_option
from memotherm.cli.options import StoreOptions, json_option, opened, store_option
from memotherm.cli.output import print_json, print_notes
from memotherm.cli.progress import progress_bar
from memotherm.cli.scopes import whereabouts
from memotherm.errors import InvalidInput
from memotherm.model import Retention
from memotherm.settings.paths import write_text
from memotherm.text.content import pluralize
from memotherm.tools.serializers import everything_json, memory_json

__all__ = ["backup", "export"]

_PAGE = 1000


@click.command("export")
@click.argument("path", type=click.Path(), default="-")
@click.option("--all", "include_archived", is_flag=True, help="Include archived memories.")
@inside_option
@click.option(
    "--everything", is_flag=True, help="All at and below the scope: any retention, events, receipts, recall log."
)
@store_option
def export(path: str, include_archived: bool, inside: bool, everything: bool, store: StoreOptions) -> None:
    """Write memories as JSON lines, oldest first; `import jsonl` reads them.

    With --everything, each line has a `type`: memory, event, receipt or recall. That answers a request of access.

    \b
    memotherm export memories.jsonl --project shop
    memotherm import jsonl memories.jsonl --store other.db
    """
    with opened(store, existing=True) as mem:
        lines = (
            [json.dumps(entry, ensure_ascii=False) for entry in everything_json(mem.everything())]
            if everything
            else _lines(mem, inside=inside, archived=include_archived)
        )
        elsewhere = [] if lines else whereabouts(mem, store, mem.status(inside=inside).hint)
    _write(path, lines)
    if path != "-":
        click.echo(f"{pluralize(len(lines), 'line' if everything else 'memory')} written to {path}", err=True)
    elif not lines:
        print_notes(["no memory to export"])
    print_notes(elsewhere)


@click.command("backup")
@click.argument("path", type=click.Path())
@store_option
@json_option
def backup(path: str, store: StoreOptions, as_json: bool) -> None:
    """Write the memories of all scopes to PATH as JSON lines, archived ones included.

    The scope options, except the tenant, make no difference. `checkpoint` also copies vectors and history.

    \b
    memotherm backup memories.jsonl
    """
    with opened(replace(store, scope=Scope(tenant=store.scope.tenant)), existing=True) as mem:
        lines = _lines(mem, inside=True, archived=True)
        scopes = len(mem.scopes())
    _write(path, lines)
    if as_json:
        print_json({"path": path, "memories": len(lines), "scopes": scopes})
    else:
        total = f"{pluralize(len(lines), 'memory')} of {pluralize(scopes, 'scope')}"
        click.echo(f"{total} written to {path}", err=path == "-")


def _write(path: str, lines: list[str]) -> None:
    if path == "-":
        for line in lines:
            click.echo(line)
        return
    try:
        write_text(Path(path).expanduser(), "".join(f"{line}\n" for line in lines))
    except OSError as exc:
        raise InvalidInput(f"cannot write {path}: {exc.strerror or exc}") from exc


def _lines(mem: Memotherm, *, inside: bool, archived: bool) -> list[str]:
    """Return the memories as JSON, the archived ones first, each oldest first."""
    retentions = [Retention.ARCHIVED, Retention.ACTIVE] if archived else [Retention.ACTIVE]
    counts = mem.status(inside=inside).retention
    total = sum(counts[retention] for retention in retentions)
    lines: list[str] = []
    with progress_bar("memories", keeps=False) as progress:
        for retention in retentions:
            own: list[str] = []
            for page in _pages(mem, retention, inside=inside):
                own += [json.dumps(memory_json(memory), ensure_ascii=False) for memory in page]
                progress(len(lines) + len(own), total)
            lines += reversed(own)
    return lines


def _pages(mem: Memotherm, retention: Retention, *, inside: bool) -> Iterator[Page]:
    """Yield all pages of a listing."""
    cursor: str | None = None
    while True:
        page = mem.find(retention=retention, limit=_PAGE, cursor=cursor, inside=inside)
        yield page
        cursor = page.cursor
        if cursor is None:
            return
