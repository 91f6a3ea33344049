"""Opening, copying, partitioning and restoring stores by their URLs."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from memotherm.errors import InvalidInput, NotFound, StoreUnavailable
from memotherm.model import Memory, Retention, Scope
from memotherm.model.clock import system_clock
from memotherm.settings import Settings
from memotherm.storage.contract import Store
from memotherm.storage.contract.optional import SupportsPartition
from memotherm.storage.registry import open_url, sqlite_path
from memotherm.storage.transfer import (
    PROGRESS_KEY,
    Migration,
    Progress,
    TransferSource,
    TransferTarget,
    transfer,
)
from memotherm.storage.values import Cause, Find, Record

__all__ = ["migrate_store", "open_store", "partition_store", "recode_store", "restore_store"]

_PAGE = 1000


def open_store(url: str, settings: Settings) -> Store:
    """Open the store that a path or URL names, creating it if it does not exist."""
    store = open_url(url, settings)
    if isinstance(store, TransferTarget):
        with store.read_tables() as reader:
            incomplete = reader.meta(PROGRESS_KEY) is not None
        if incomplete:
            store.close()
            raise StoreUnavailable(f"{store.name} is half filled: run `memotherm migrate` again, which goes on with it")
    return store


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


def restore_store(checkpoint: Path, into: Path, settings: Settings, purged_in: str | None = None) -> None:
    """Make a new store from a checkpoint; what was purged in another store since then is purged in it too."""
    from memotherm.storage.sqlite.backup import restore

    purged = [] if purged_in is None else _purged(purged_in, settings)

    def finish(copy: Path) -> None:
        with closing(open_store(str(copy), settings)) as store:
            for record in purged:
                _purge_again(store, record.memory)

    restore(checkpoint, into, settings.key, finish if purged else None)


def recode_store(url: str, key: str, new_key: str, settings: Settings) -> Path:
    """Encrypt, decrypt or change the key of a store in a file; an empty key means that it is not encrypted."""
    from memotherm.storage.sqlite.encryption import recode

    _require_existing(url, "to encrypt or decrypt")
    path = sqlite_path(url)
    if path is None:
        raise InvalidInput(f"{url} is not a file: a database server encrypts its own files")
    recode(path, key, new_key, settings.busy_timeout_ms)
    return path


def _purged(url: str, settings: Settings) -> list[Record]:
    """Return the purged memories of a store."""
    _require_existing(url, "whose purges could be repeated")
    now = system_clock()
    purged: list[Record] = []
    with closing(open_store(url, settings)) as store:
        spaces = store.spaces_within(Scope())
        before = None
        while page := store.find(spaces, Find(now=now, retention=Retention.PURGED, limit=_PAGE, before=before)):
            purged += page
            before = page[-1].no
    return purged


def _require_existing(url: str, purpose: str) -> None:
    """Refuse the path of a file that does not exist, which opening would create."""
    path = sqlite_path(url)
    if path is not None and not path.is_file():
        raise NotFound(f"there is no store {url} {purpose}")


def _purge_again(store: Store, memory: Memory) -> None:
    cause = Cause(action="purge", at=memory.retention_since, rule="restore", why="purged after the checkpoint")
    with store.write() as transaction:
        record = transaction.get(memory.id)
        if record is not None and record.memory.retention is not Retention.PURGED:
            transaction.purge(record, cause)
