"""`memotherm keys`: the API keys of the server."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager

import click

from memotherm import Memotherm
from memotherm.cli.options import StoreOptions, json_option, opened, store_option
from memotherm.cli.parsing import SuggestingGroup
from memotherm.rest.keys import Keys

__all__ = ["command"]


@click.group("keys", cls=SuggestingGroup)
def command() -> None:
    """Create, list and revoke the API keys of the server."""


@command.command("create")
@click.argument("name")
@click.option("--read-only", is_flag=True, help="Let requests with this key read, but change nothing.")
@store_option
@json_option
def create(name: str, read_only: bool, store: StoreOptions, as_json: bool) -> None:
    """Create a key for a tenant, or for one of its users, and print its secret, which cannot be printed again.

    \b
    memotherm keys create ci --tenant acme
    memotherm keys create ana --tenant acme --user ana --read-only
    """
    _refuse_scope(store, accepted=("tenant", "user"))
    tenant, user = store.scope.tenant, store.scope.user
    if tenant is None:
        raise click.UsageError("a key belongs to a tenant: add --tenant NAME")
    with _opened(store) as mem:
        secret = Keys(mem).create(name, tenant, user, read_only=read_only)
    if as_json:
        click.echo(json.dumps({"name": name, "tenant": tenant, "user": user, "read_only": read_only, "key": secret}))
        return
    click.echo(secret)
    owner = f"tenant {tenant!r}" if user is None else f"user {user!r} of tenant {tenant!r}"
    click.echo(f"note: {'read-only ' * read_only}key {name!r} of {owner}; it cannot be printed again", err=True)


@command.command("list")
@store_option
@json_option
def list_keys(store: StoreOptions, as_json: bool) -> None:
    """List the keys, or those of a tenant or user, without their secrets."""
    _refuse_scope(store, accepted=("tenant", "user"))
    with _opened(store) as mem:
        wanted = dict(store.scope.items())
        keys = [key for key in Keys(mem).all() if wanted.items() <= key.as_dict().items()]
    if as_json:
        click.echo(json.dumps([key.as_dict() for key in keys], indent=2))
        return
    for key in keys:
        access = "read-only" if key.read_only else "read-write"
        click.echo(f"{key.name}\t{key.tenant}\t{key.user or '-'}\t{access}\t{key.created_at:%Y-%m-%d %H:%M}")
    if not keys:
        click.echo("note: there are no keys: `memotherm keys create NAME --tenant TENANT` creates one", err=True)


@command.command("revoke")
@click.argument("name")
@store_option
def revoke(name: str, store: StoreOptions) -> None:
    """Revoke a key, with immediate effect in running servers."""
    _refuse_scope(store)
    with _opened(store) as mem:
        Keys(mem).revoke(name)
    click.echo(f"revoked {name}", err=True)


def _opened(store: StoreOptions) -> AbstractContextManager[Memotherm]:
    """Open the whole store: keys have no scope."""
    return opened(StoreOptions(store.url))


def _refuse_scope(store: StoreOptions, accepted: Sequence[str] = ()) -> None:
    """Refuse options that would have no effect."""
    for name in dict(store.scope.items()):
        if name not in accepted:
            raise click.UsageError(f"--{name} does not apply to this command: leave it out")
