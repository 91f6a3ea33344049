"""`memotherm serve`: run the REST API, with the dashboard at / and MCP at /mcp."""

from __future__ import annotations

from contextlib import nullcontext

import click

import memotherm
from memotherm.cli.options import StoreOptions, store_option
from memotherm.hooks.recall import advertised
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
@click.option(
    "--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="The number of processes that answer."
)
@click.option("--worker", "place", hidden=True, help="The place of this process among those of a server.")
@store_option
def command(
    host: str | None, port: int | None, log_level: str, workers: int, place: str | None, store: StoreOptions
) -> int | None:
    """Run the REST API, with the dashboard at / and MCP at /mcp; an address that others can reach needs API keys.

    \b
    memotherm serve --port 8077
    memotherm serve --workers 4
    """
    from memotherm.rest.serve import require_safe, serve
    from memotherm.rest.workers import Worker, serve_with_workers

    with memotherm.open(store.url, scope=store.scope) as mem:
        settings = mem.settings
        address = host or settings.server_host, settings.server_port if port is None else port
        # Hooks use only a server without a scope of its own.
        advertisement = advertised(data_home(), *address, store.url or default_store(settings))
        if place is not None:
            serve(mem, *address, log_level, worker=Worker.from_option(place))
            return None
        with nullcontext() if store.scope.items() else advertisement:
            if workers == 1:
                serve(mem, *address, log_level)
                return None
            # The workers open the store themselves.
            require_safe(mem, address[0])
            mem.close()
            return serve_with_workers(workers, _options(store, *address, log_level), *address)


def _options(store: StoreOptions, host: str, port: int, log_level: str) -> list[str]:
    """Return the options of a process that serves the same store."""
    named = {"host": host, "port": str(port), "log-level": log_level, **dict(store.scope.items())}
    if store.url is not None:
        named["store"] = store.url
    return [f"--{name}={value}" for name, value in named.items()]
