"""`memotherm serve`: the REST API, and MCP at /mcp, until the process is asked to end."""

from __future__ import annotations

from contextlib import nullcontext

import click

import memotherm
from memotherm.cli.options import StoreOptions, store_option
from memotherm.hooks.server import advertised
from memotherm.settings import data_home, default_store

__all__ = ["command"]


@click.command("serve")
@click.option("--host", help="The address to listen on; the setting `server_host`.")
@click.option("--port", type=click.IntRange(0, 65_535), help="The port; the setting `server_port`.")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="What is logged, as JSON lines on standard error.",
)
@store_option
def command(host: str | None, port: int | None, log_level: str, store: StoreOptions) -> None:
    """Serve the REST API, and MCP at /mcp, on this machine only unless there are API keys."""
    from memotherm.rest.serve import serve

    with memotherm.open(store.url, scope=store.scope) as mem:
        settings = mem.settings
        place = host or settings.server_host, settings.server_port if port is None else port
        # Hooks ask a server that sees everything, as they do; one with a scope serves others.
        advertisement = advertised(data_home(), *place, store.url or default_store(settings))
        with nullcontext() if store.scope.items() else advertisement:
            serve(mem, *place, log_level)
