"""`memotherm mcp`: run the MCP server over standard input and output."""

from __future__ import annotations

import logging
import sys
from contextlib import ExitStack

import click

import memotherm
from memotherm.cli.options import StoreOptions, store_option
from memotherm.errors import MemothermError, PluginUnavailable

__all__ = ["command"]

#: A server of one conversation may not run for a whole interval.
_FIRST_MAINTENANCE_MINUTES = 1


@click.command("mcp")
@click.option("--tools", help="core, all, one (a single tool), or names; default: the setting `mcp_tools`.")
@click.option("--notes", help="The folder of Markdown notes for memory_search; default: the setting `notes_root`.")
@store_option
def command(tools: str | None, notes: str | None, store: StoreOptions) -> None:
    """Run the MCP server over standard input and output.

    The notes are indexed when it starts and whenever their files change (setting `watch_notes`). Maintenance runs in
    the background, at most every `maintain_every_minutes`.

    \b
    memotherm mcp --tools all --project shop
    """
    # Standard output is reserved for the protocol.
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    try:
        from memotherm.mcp.server import build
    except ImportError as exc:
        raise PluginUnavailable(f"the MCP server needs a package ({exc.name}): pip install 'memotherm[mcp]'") from exc
    options = {"mcp_tools": tools, "notes_root": notes}
    settings = {name: value for name, value in options.items() if value is not None}
    with ExitStack() as stack:
        mem = stack.enter_context(memotherm.open(store.url, scope=store.scope, settings=settings))
        if mem.settings.notes_root and mem.settings.watch_notes:
            _watch_notes(mem, stack)
        stack.enter_context(mem.maintenance(first_minutes=_FIRST_MAINTENANCE_MINUTES))
        build(mem).run()


def _watch_notes(mem: memotherm.Memotherm, stack: ExitStack) -> None:
    """Watch the notes until the stack is closed; without their folder, the server runs all the same."""
    try:
        stack.enter_context(mem.notes(mem.settings.notes_root).watch())
    except MemothermError as exc:
        logging.getLogger(__name__).warning("the notes are not watched: %s", exc)
