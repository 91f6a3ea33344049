"""Checkpoints: consistent copies of a store, and new stores made of them."""

from __future__ import annotations

import os
import sqlite3
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from memotherm.errors import InvalidInput, NotAStore, NotFound, StoreUnavailable
from memotherm.settings.private_files import create_file
from memotherm.storage.sqlite import driver
from memotherm.storage.sqlite.connect import mapped
from memotherm.storage.sqlite.encryption import export
from memotherm.storage.sqlite.files import require_openable
from memotherm.storage.sqlite.migrate import require_ours
from memotherm.storage.sqlite.statements import SQL

__all__ = ["ORIGIN_KEY", "copy", "origin_of", "require_free", "restore"]

#: The metadata key under which a checkpoint records the store that it was made of.
ORIGIN_KEY = "origin"


def copy(
    source: sqlite3.Connection,
    target: Path,
    *,
    meta: Mapping[str, str],
    cipher: str | None = None,
    finish: Callable[[Path], None] | None = None,
) -> None:
    """Copy a store to a new file, whole or not at all.

    Args:
        source: The store, which has the same cipher as the copy unless it is in memory.
        target: The new file.
        meta: Metadata that is set in the copy.
        cipher: The key and salt of the copy; None does not encrypt it.
        finish: Called with the copy before it gets its name.
    """
    require_free(target)
    partial = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.partial")
    try:
        with suppress(OSError):
            create_file(partial)
        with mapped(str(target)), closing(driver.connect(partial, cipher)) as connection:
            if cipher and _in_memory(source):
                export(source, partial, cipher)
            else:
                source.backup(connection)
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.executemany(SQL["meta_set"], [{"key": key, "value": value} for key, value in meta.items()])
            connection.commit()
        if finish is not None:
            finish(partial)
        _publish(partial, target)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def restore(checkpoint: Path, into: Path, key: str = "", finish: Callable[[Path], None] | None = None) -> None:
    """Make a new store out of a checkpoint; it gets an identity of its own and keeps the key."""
    with _opened(checkpoint, key) as source:
        cipher = driver.cipher_of(key, checkpoint) if key else None
        # Caches beside the store carry its identity; a copy must not find the original's.
        copy(source, into, meta={"store": uuid.uuid4().hex}, cipher=cipher, finish=finish)


def origin_of(checkpoint: Path, key: str = "") -> tuple[str | None, str | None]:
    """Return the store that a checkpoint was made of, and the secret that both have."""
    with _opened(checkpoint, key) as source:
        rows = (source.execute(SQL["meta_get"], {"key": name}).fetchone() for name in (ORIGIN_KEY, "secret"))
        origin, secret = (None if row is None else str(row[0]) for row in rows)
    return origin, secret


@contextmanager
def _opened(checkpoint: Path, key: str) -> Iterator[sqlite3.Connection]:
    """Open a checkpoint for reading."""
    if not checkpoint.is_file():
        raise NotFound(f"there is no checkpoint {checkpoint}")
    if not checkpoint.stat().st_size:
        raise NotAStore(f"{checkpoint} is empty and no checkpoint: choose another one")
    require_openable(str(checkpoint), key)
    require_ours(str(checkpoint), key)
    cipher = driver.cipher_of(key, checkpoint) if key else None
    uri = f"{checkpoint.absolute().as_uri()}?mode=ro"
    with mapped(str(checkpoint)), closing(driver.connect(uri, cipher, uri=True)) as source:
        yield source


def require_free(target: Path) -> None:
    """Refuse a file that exists already, or that cannot be made."""
    if target.exists():
        raise InvalidInput(f"{target} already exists: choose a new file")
    if not target.parent.is_dir():
        raise StoreUnavailable(f"the folder {target.parent} does not exist: create it first")


def _in_memory(connection: sqlite3.Connection) -> bool:
    return not connection.execute("PRAGMA database_list").fetchone()[2]


def _publish(partial: Path, target: Path) -> None:
    """Rename the finished copy, unless the name was taken in the meantime."""
    with partial.open("rb") as handle:
        os.fsync(handle.fileno())
    try:
        os.link(partial, target)
    except FileExistsError:
        raise InvalidInput(f"{target} already exists: choose a new file") from None
    except OSError:  # a file system without hard links
        partial.replace(target)
