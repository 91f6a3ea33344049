"""`thermocline serve`: the REST API, and MCP at /mcp, until the process is asked to end."""

from __future__ import annotations

import click

import thermocline
from thermocline.cli.opened import Place, store_option

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
def command(host: str | None, port: int | None, log_level: str, store: Place) -> None:
    """Serve the REST API, and MCP at /mcp, on this machine only unless there are API keys."""
    from thermocline.rest.serve import serve

    with thermocline.open(store.url, scope=store.scope) as mem:
        settings = mem.settings
        serve(mem, host or settings.server_host, settings.server_port if port is None else port, log_level)
