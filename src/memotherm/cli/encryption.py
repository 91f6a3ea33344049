"""`memotherm encrypt`, `decrypt` and `rekey`: encryption of a store's file."""

from __future__ import annotations

import secrets
from pathlib import Path

import click

import memotherm
from memotherm.cli.options import json_option
from memotherm.cli.output import print_json
from memotherm.errors import InvalidInput
from memotherm.settings.keys import KEY_BYTES
from memotherm.settings.paths import write_text

__all__ = ["decrypt", "encrypt", "rekey"]

_path = click.argument("path", type=click.Path(path_type=Path))
_key_file = click.option(
    "--key-file",
    type=click.Path(path_type=Path),
    help="The file with the key; default: MEMOTHERM_KEY, or the setting `key_file`.",
)


_create_key = click.option("--create-key", is_flag=True, help="Write a random key to the file first; it must be new.")


@click.command("encrypt")
@_path
@_key_file
@_create_key
@json_option
def encrypt(path: Path, key_file: Path | None, create_key: bool, as_json: bool) -> None:
    """Encrypt the file of a store that no process has open.

    The old file is replaced when the encrypted one is complete and verified.

    \b
    memotherm encrypt agent.db --key-file agent.key --create-key
    """
    if create_key:
        _create(key_file)
    _print(memotherm.encrypt(path, key_file), "encrypted", as_json=as_json)


@click.command("decrypt")
@_path
@_key_file
@json_option
def decrypt(path: Path, key_file: Path | None, as_json: bool) -> None:
    """Decrypt the file of a store that no process has open.

    \b
    memotherm decrypt agent.db --key-file agent.key
    """
    _print(memotherm.decrypt(path, key_file), "decrypted", as_json=as_json)


@click.command("rekey")
@_path
@click.option("--new-key-file", type=click.Path(path_type=Path), required=True, help="The file with the new key.")
@_key_file
@_create_key
@json_option
def rekey(path: Path, new_key_file: Path, key_file: Path | None, create_key: bool, as_json: bool) -> None:
    """Encrypt the file of a store with a new key.

    Checkpoints keep the key that they were written with.

    \b
    memotherm rekey agent.db --key-file agent.key --new-key-file new.key --create-key
    """
    if create_key:
        _create(new_key_file)
    _print(memotherm.rekey(path, new_key_file, key_file), "encrypted with the new key", as_json=as_json)


def _create(path: Path | None) -> None:
    if path is None:
        raise click.UsageError("--create-key needs the name of the file: --key-file FILE")
    if path.exists():
        raise InvalidInput(f"{path} already exists: name a new file, or leave out --create-key")
    try:
        write_text(path, f"{secrets.token_hex(KEY_BYTES)}\n")
    except OSError as exc:
        raise InvalidInput(f"cannot write {path}: {exc.strerror or exc}") from exc


def _print(path: Path, done: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"path": str(path), "bytes": path.stat().st_size})
    else:
        click.echo(f"{path} is {done}")
