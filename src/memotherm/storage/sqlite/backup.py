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
from memotherm.storage.sqlite.connect import mapped, require_openable
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
    finish: Callable[[Path], None] | None = None,
) -> None:
    """Copy a store to a new file, whole or not at all.

    Args:
        source: The store.
        target: The new file.
        meta: Metadata that is set in the copy.
        finish: Called with the copy before it gets its name.
    """
    require_free(target)
    partial = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.partial")
    try:
        with suppress(OSError):
            create_file(partial)
        with mapped(str(target)), closing(sqlite3.connect(partial)) as connection:
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


def restore(checkpoint: Path, into: Path, finish: Callable[[Path], None] | None = None) -> None:
    """Make a new store out of a checkpoint; it gets an identity of its own."""
    with _opened(checkpoint) as source:
        # Caches beside the store carry its identity; a copy must not find the original's.
        copy(source, into, meta={"store": uuid.uuid4().hex}, finish=finish)


def origin_of(checkpoint: Path) -> tuple[str | None, str | None]:
    """Return the store that a checkpoint was made of, and the secret that both have."""
    with _opened(checkpoint) as source:
        rows = (source.execute(SQL["meta_get"], {"key": key}).fetchone() for key in (ORIGIN_KEY, "secret"))
        origin, secret = (None if row is None else str(row[0]) for row in rows)
    return origin, secret


@contextmanager
def _opened(checkpoint: Path) -> Iterator[sqlite3.Connection]:
    """Open a checkpoint for reading."""
    if not checkpoint.is_file():
        raise NotFound(f"there is no checkpoint {checkpoint}")
    if not checkpoint.stat().st_size:
        raise NotAStore(f"{checkpoint} is empty and no checkpoint: choose another one")
    require_openable(str(checkpoint))
    require_ours(str(checkpoint))
    uri = f"{checkpoint.absolute().as_uri()}?mode=ro"
    with mapped(str(checkpoint)), closing(sqlite3.connect(uri, uri=True)) as source:
        yield source


def require_free(target: Path) -> None:
    """Refuse a file that exists already, or that cannot be made."""
    if target.exists():
        raise InvalidInput(f"{target} already exists: choose a new file")
    if not target.parent.is_dir():
        raise StoreUnavailable(f"the folder {target.parent} does not exist: create it first")


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
