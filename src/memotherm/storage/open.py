"""Opening, copying, partitioning, distributing and restoring stores by their URLs."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from memotherm.errors import InvalidInput, NotFound, StoreError, StoreUnavailable
from memotherm.settings import Settings
from memotherm.storage.contract import Store
from memotherm.storage.contract.optional import Distribution, SupportsDistribution, SupportsPartition
from memotherm.storage.purges import Purges, purges_of
from memotherm.storage.registry import open_url, sqlite_path
from memotherm.storage.transfer import (
    PROGRESS_KEY,
    Migration,
    Progress,
    TransferSource,
    TransferTarget,
    transfer,
)

__all__ = ["distribute_store", "migrate_store", "open_store", "partition_store", "recode_store", "restore_store"]


def open_store(url: str, settings: Settings) -> Store:
    """Open the store that a path or URL names, creating it if it does not exist."""
    store = open_url(url, settings)
    try:
        _require_filled(store)
    except BaseException:
        store.close()
        raise
    return store


def _require_filled(store: Store) -> None:
    """Refuse a store into which another one was not copied to the end."""
    if not isinstance(store, TransferTarget):
        return
    with store.read_tables() as reader:
        if reader.meta(PROGRESS_KEY) is not None:
            raise StoreUnavailable(f"{store.name} is half filled: run `memotherm migrate` again, which goes on with it")


def migrate_store(source: str, target: str, settings: Settings, progress: Progress | None = None) -> Migration:
    """Copy a store into a new one, on another database or the same, and verify the copy."""
    _require_existing(source, "to migrate")
    with closing(open_store(source, settings)) as original, closing(open_url(target, settings)) as copy:
        if not isinstance(original, TransferSource):
            raise InvalidInput(f"{original.name} cannot be copied: its store has no read_tables()")
        if not isinstance(copy, TransferTarget):
            raise InvalidInput(f"{copy.name} cannot be filled: its store has no write_tables()")
        migration = transfer(original, copy, progress)
        copy.build_indexes()
        return migration


def partition_store(url: str, parts: int, settings: Settings) -> list[str]:
    """Partition the tables of a store by tenant; return their names."""
    _require_existing(url, "to partition")
    with closing(open_url(url, settings)) as store:
        if not isinstance(store, SupportsPartition):
            raise InvalidInput(f"{store.name} has no partitions: migrate it to PostgreSQL first")
        return store.partition(parts)


def distribute_store(url: str, shards: int, settings: Settings) -> Distribution:
    """Distribute the tables of a store over the nodes of a cluster by tenant, and verify the rows."""
    _require_existing(url, "to distribute")
    with closing(open_url(url, settings)) as store:
        if not isinstance(store, SupportsDistribution):
            raise InvalidInput(f"{store.name} cannot be distributed: migrate it to PostgreSQL with Citus first")
        return store.distribute(shards)


def restore_store(
    checkpoint: Path, into: Path, settings: Settings, purged_in: str | None = None, *, repeat_purges: bool = True
) -> str:
    """Make a new store from a checkpoint, and repeat the purges of the store that the checkpoint was made of.

    Return why they could not be repeated, or an empty text.
    """
    from memotherm.storage.sqlite.backup import origin_of, restore

    purges, why = None, ""
    if purged_in is not None:
        _require_existing(purged_in, "whose purges could be repeated")
        purges = purges_of(purged_in, settings)
    elif repeat_purges:
        purges, why = _purges_of_origin(*origin_of(checkpoint, settings.key), settings)

    def finish(copy: Path) -> None:
        if purges is not None:
            with closing(open_store(str(copy), settings)) as store:
                purges.repeat(store)

    anything = purges is not None and (purges.memories or purges.tombstones)
    restore(checkpoint, into, settings.key, finish if anything else None)
    return why


def recode_store(url: str, key: str, new_key: str, settings: Settings) -> Path:
    """Encrypt, decrypt or change the key of a store in a file; an empty key means that it is not encrypted."""
    from memotherm.storage.sqlite.encryption import recode

    _require_existing(url, "to encrypt or decrypt")
    path = sqlite_path(url)
    if path is None:
        raise InvalidInput(f"{url} is not a file: a database server encrypts its own files")
    recode(path, key, new_key, settings.busy_timeout_ms)
    return path


def _purges_of_origin(origin: str | None, secret: str | None, settings: Settings) -> tuple[Purges | None, str]:
    """Return the purges of the store that a checkpoint was made of, or why they cannot be read."""
    if origin is None:
        return None, "the checkpoint does not record the store that it was made of"
    path = sqlite_path(origin)
    if path is None:
        return None, f"the checkpoint was made of {origin}, which is not opened without being named"
    if not path.is_file():
        return None, f"the store {origin} that the checkpoint was made of does not exist"
    try:
        purges = purges_of(origin, settings, secret=secret)
    except StoreError as exc:
        return None, f"the store that the checkpoint was made of cannot be read: {exc}"
    return purges, "" if purges is not None else f"{origin} is no longer the store that the checkpoint was made of"


def _require_existing(url: str, purpose: str) -> None:
    """Refuse the path of a file that does not exist, which opening would create."""
    path = sqlite_path(url)
    if path is not None and not path.is_file():
        raise NotFound(f"there is no store {url} {purpose}")
