"""The servers: `memotherm serve`, `mcp`, `dashboard`, and `keys` for API keys."""

from __future__ import annotations

import logging
import secrets
import sys
import webbrowser
from contextlib import AbstractContextManager, ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

import click

import memotherm
from memotherm import Memotherm
from memotherm.cli.options import StoreOptions, opened, prints, show, store_option
from memotherm.cli.output import Output
from memotherm.cli.parsing import SuggestingGroup
from memotherm.errors import MemothermError, PluginUnavailable
from memotherm.operations.codec import to_json
from memotherm.settings import load
from memotherm.settings.paths import is_excluded

_LOCALHOST = "127.0.0.1"
#: A server of one conversation may not run for a whole interval.
_FIRST_MAINTENANCE_MINUTES = 1


@click.command("serve")
@click.option(
    "--host", default="127.0.0.1", show_default=True,
    help="The address to listen on; one that others can reach needs API keys.",
)  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65_535), default=8077, show_default=True, help="The port.")
@click.option(
    "--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", show_default=True,
    help="The level of the log, JSON lines on standard error.",
)  # fmt: skip
@click.option(
    "--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="The number of processes that answer."
)
@store_option
def serve(host: str, port: int, log_level: str, workers: int, store: StoreOptions) -> int | None:
    """Run the REST API, with the dashboard at / and MCP at /mcp; an address that others can reach needs API keys.

    \b
    memotherm serve --port 8077
    memotherm serve --workers 4
    """
    rest = _module("memotherm.rest.serve", "server")
    with memotherm.open(store.url, scope=store.scope) as mem:
        if workers > 1:
            code: int = rest.serve_with_workers(workers, mem, store.url, host, port, log_level)
            return code
        rest.serve(mem, host, port, log_level)
        return None


def _module(name: str, extra: str) -> Any:  # noqa: ANN401 - a module
    """Return the module of a server, which needs the packages of an extra."""
    try:
        return import_module(name)
    except ImportError as exc:
        which = "MCP server" if extra == "mcp" else extra
        raise PluginUnavailable(f"the {which} needs a package ({exc.name}): pip install 'memotherm[{extra}]'") from exc


@click.command("mcp")
@click.option("--tools", help="standard, core, one (a single tool), all, or names; default: the setting `mcp_tools`.")
@click.option("--notes", help="The folder of Markdown notes for memory_search; default: the setting `notes_root`.")
@store_option
def mcp(tools: str | None, notes: str | None, store: StoreOptions) -> None:
    """Run the MCP server over standard input and output.

    The notes are indexed when it starts and whenever their files change (setting `watch_notes`). Maintenance runs in
    the background, at most every hour.

    \b
    memotherm mcp --tools all --project shop
    """
    # Standard output is reserved for the protocol.
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    server = _module("memotherm.mcp.server", "mcp")
    options = {"mcp_tools": tools, "notes_root": notes}
    settings = {name: value for name, value in options.items() if value is not None}
    if is_excluded(load().capture_exclude, store.scope.project, str(Path.cwd())):
        settings["recall_log"] = "off"
    with ExitStack() as stack:
        mem = stack.enter_context(memotherm.open(store.url, scope=store.scope, settings=settings))
        if mem.settings.notes_root and mem.settings.watch_notes:
            try:
                stack.enter_context(mem.notes(mem.settings.notes_root).watch())
            except MemothermError as exc:
                logging.getLogger(__name__).warning("the notes are not watched: %s", exc)
        stack.enter_context(mem.store.maintenance(first_minutes=_FIRST_MAINTENANCE_MINUTES))
        server.build(mem.in_folder(Path.cwd())).run()


@click.command("dashboard")
@click.option("--port", type=click.IntRange(0, 65_535), default=0, help="The port; default: a free one.")
@click.option("--no-open", is_flag=True, help="Print the address only, and open no browser.")
@store_option
@prints
def dashboard(port: int, no_open: bool, store: StoreOptions) -> None:
    """Open the dashboard in the browser, until Ctrl+C is pressed.

    The address contains a token that one browser can log in with, once; only this machine can reach it.

    \b
    memotherm dashboard --no-open
    """
    token = secrets.token_urlsafe(32)

    def on_ready(found_port: int) -> None:
        address = f"http://{_LOCALHOST}:{found_port}/#/?token={token}"
        lines = [f"The dashboard is at {address}", "Press Ctrl+C to stop it."]
        show(Output({"address": address}, lines), indent=None)
        sys.stdout.flush()
        if not no_open:
            webbrowser.open(address)

    with memotherm.open(store.url, scope=store.scope) as mem:
        _module("memotherm.rest.serve", "server").serve(
            mem, _LOCALHOST, port, "warning", token=token, on_ready=on_ready
        )


@click.group("keys", cls=SuggestingGroup)
def keys() -> None:
    """Create, list and revoke the API keys of the server."""


@keys.command("create")
@click.argument("name")
@click.option("--read-only", is_flag=True, help="Let requests with this key read, but change nothing.")
@click.option("--shared", is_flag=True, help="Let the key of a user also change memories that all users see.")
@click.option("--person", is_flag=True, help="A person uses it, no agent: what it writes has the trust of a person.")
@store_option
@prints
def create(name: str, read_only: bool, shared: bool, person: bool, store: StoreOptions) -> Output:
    """Create a key for a tenant, or for one of its users, and print its secret, which cannot be printed again.

    The key of a user changes the memories of that user, and reads those of the tenant.

    \b
    memotherm keys create ci --tenant acme
    memotherm keys create ana --tenant acme --user ana --person
    """
    tenant, user = store.scope.tenant, store.scope.user
    if tenant is None:
        raise click.UsageError("a key belongs to a tenant: add --tenant NAME")
    with _whole_store(store, "tenant", "user") as mem:
        secret = mem.keys.create(name, tenant, user, read_only=read_only, shared=shared, person=person)
    owner = f"tenant {tenant!r}" if user is None else f"user {user!r} of tenant {tenant!r}"
    note = f"{'read-only ' * read_only}key {name!r} of {owner}; it cannot be printed again"
    rights = {"read_only": read_only, "shared": shared, "person": person}
    return Output({"name": name, "tenant": tenant, "user": user, **rights, "key": secret}, [secret], [note])


@keys.command("list")
@store_option
@prints
def list_keys(store: StoreOptions) -> Output:
    """List the keys, or those of a tenant or user, without their secrets.

    \b
    memotherm keys list --tenant acme
    """
    wanted = dict(store.scope.items())
    with _whole_store(store, "tenant", "user") as mem:
        found = [key for key in mem.keys.all() if wanted.items() <= to_json(key).items()]
    lines = [
        f"{key.name}\t{key.tenant}\t{key.user or '-'}\t{'read-only' if key.read_only else 'read-write'}"
        f"{' shared' * key.shared}{' person' * key.person}\t{key.created_at:%Y-%m-%d %H:%M}"
        for key in found
    ]
    none = "there are no keys: `memotherm keys create NAME --tenant TENANT` creates one"
    return Output(to_json(found), lines, [] if found else [none])


@keys.command("revoke")
@click.argument("name")
@store_option
@prints
def revoke(name: str, store: StoreOptions) -> Output:
    """Revoke a key, with immediate effect in running servers.

    \b
    memotherm keys revoke ci
    """
    with _whole_store(store) as mem:
        mem.keys.revoke(name)
    return Output({"name": name, "revoked": True}, notes=[f"revoked {name}"])


def _whole_store(store: StoreOptions, *accepted: str) -> AbstractContextManager[Memotherm]:
    """Open the whole store, because keys have no scope; refuse options that would have no effect."""
    for name in dict(store.scope.items()):
        if name not in accepted:
            raise click.UsageError(f"--{name} does not apply to this command: leave it out")
    return opened(StoreOptions(store.url), creates=True)
