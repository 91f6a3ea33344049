"""`memotherm serve`: run the REST API, with the dashboard at / and MCP at /mcp."""

from __future__ import annotations

from contextlib import nullcontext

import click

import memotherm
from memotherm.cli.options import StoreOptions, store_option
from memotherm.hooks.server import advertised
from memotherm.settings import data_home, default_store

__all__ = ["command"]


@click.command("serve")
@click.option("--host", help="The address to listen on; default: the setting `server_host`.")
@click.option("--port", type=click.IntRange(0, 65_535), help="The port; default: the setting `server_port`.")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="The level of the log, JSON lines on standard error.",
)
@store_option
def command(host: str | None, port: int | None, log_level: str, store: StoreOptions) -> None:
    """Run the REST API, with the dashboard at / and MCP at /mcp; an address that others can reach needs API keys.

    \b
    memotherm serve --port 8077
    """
    from memotherm.rest.serve import serve

    with memotherm.open(store.url, scope=store.scope) as mem:
        settings = mem.settings
        address = host or settings.server_host, settings.server_port if port is None else port
        # Hooks use only a server without a scope of its own.
        advertisement = advertised(data_home(), *address, store.url or default_store(settings))
        with nullcontext() if store.scope.items() else advertisement:
            serve(mem, *address, log_level)
