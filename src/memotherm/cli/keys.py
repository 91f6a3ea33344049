"""`memotherm keys`: the API keys of the server."""

from __future__ import annotations

import json

import click

from memotherm.cli.options import StoreOptions, json_option, opened, store_option
from memotherm.cli.parsing import SuggestingGroup
from memotherm.rest.keys import Keys

__all__ = ["command"]


@click.group("keys", cls=SuggestingGroup)
def command() -> None:
    """Create, list and revoke the API keys of the server."""


@command.command("create")
@click.argument("name")
@store_option
@json_option
def create(name: str, store: StoreOptions, as_json: bool) -> None:
    """Create a key for the tenant given by --tenant, and print its secret, which cannot be printed again.

    \b
    memotherm keys create ci --tenant acme
    """
    if store.scope.tenant is None:
        raise click.UsageError("a key belongs to a tenant: add --tenant NAME")
    with opened(store) as mem:
        secret = Keys(mem).create(name, store.scope.tenant)
    created = {"name": name, "tenant": store.scope.tenant, "key": secret}
    click.echo(json.dumps(created) if as_json else secret)
    if not as_json:
        click.echo(f"note: key {name!r} of tenant {store.scope.tenant!r}; it cannot be printed again", err=True)


@command.command("list")
@store_option
@json_option
def list_keys(store: StoreOptions, as_json: bool) -> None:
    """List the keys, without their secrets."""
    with opened(store) as mem:
        keys = Keys(mem).all()
    if as_json:
        click.echo(json.dumps([key.as_dict() for key in keys], indent=2))
        return
    for key in keys:
        click.echo(f"{key.name}\t{key.tenant}\t{key.created_at:%Y-%m-%d %H:%M}")


@command.command("revoke")
@click.argument("name")
@store_option
def revoke(name: str, store: StoreOptions) -> None:
    """Revoke a key, with immediate effect in running servers."""
    with opened(store) as mem:
        Keys(mem).revoke(name)
    click.echo(f"revoked {name}", err=True)
