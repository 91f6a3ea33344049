"""`memotherm dashboard`: open the dashboard in the browser."""

from __future__ import annotations

import json
import secrets
import sys
import webbrowser

import click

import memotherm
from memotherm.cli.options import StoreOptions, json_option, store_option

__all__ = ["command"]

_HOST = "127.0.0.1"


@click.command("dashboard")
@click.option("--port", type=click.IntRange(0, 65_535), default=0, help="The port; default: a free one.")
@click.option("--no-open", is_flag=True, help="Print the address only, and open no browser.")
@store_option
@json_option
def command(port: int, no_open: bool, store: StoreOptions, as_json: bool) -> None:
    """Open the dashboard in the browser, until Ctrl+C is pressed.

    The address contains a token that one browser can log in with, once; only this machine can reach it.

    \b
    memotherm dashboard --no-open
    """
    from memotherm.rest.serve import serve

    token = secrets.token_urlsafe(32)

    def show(found_port: int) -> None:
        address = f"http://{_HOST}:{found_port}/#/?token={token}"
        if as_json:
            click.echo(json.dumps({"address": address}))
        else:
            click.echo(f"The dashboard is at {address}\nPress Ctrl+C to stop it.")
        sys.stdout.flush()
        if not no_open:
            webbrowser.open(address)

    with memotherm.open(store.url, scope=store.scope) as mem:
        serve(mem, _HOST, port, "warning", token=token, on_ready=show)
