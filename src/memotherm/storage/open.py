"""From a URL to a store."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from memotherm.errors import InvalidInput, NotFound, PluginUnavailable, StoreUnavailable
from memotherm.model import Memory, Retention, Scope
from memotherm.model.clock import system_clock
from memotherm.settings import Settings
from memotherm.storage.contract import Store
from memotherm.storage.transfer import PROGRESS_KEY, Migration, Progress, transfer
from memotherm.storage.values import Cause, Find, Record

if TYPE_CHECKING:
    from memotherm.storage.postgres.store import PostgresStore
    from memotherm.storage.sqlite.store import SqliteStore

__all__ = ["migrate_store", "open_store", "partition_store", "restore_store"]

_SQLITE = "sqlite:///"
_SERVERS = ("postgresql://", "postgres://")
_PAGE = 1000


def open_store(url: str, settings: Settings) -> Store:
    """Open the store that a path or URL names, creating it if it is not there yet."""
    return _whole(url, settings)


def migrate_store(source: str, target: str, settings: Settings, progress: Progress | None = None) -> Migration:
    """Copy a store into a new one, on another database or the same, and verify the copy."""
    _require_there(source, "to migrate")
    with closing(_whole(source, settings)) as giver, closing(_opened(target, settings)) as taker:
        done = transfer(giver, taker, progress)
        taker.build_indexes()
        return done


def partition_store(url: str, parts: int, settings: Settings) -> list[str]:
    """Cut the tables of a store on a server into parts by tenant; return their names."""
    if not url.startswith(_SERVERS):
        raise InvalidInput(f"{url} is one file, which has no partitions: migrate it to PostgreSQL first")
    with closing(_open_postgres(url, settings)) as store:
        return store.partition(parts)


def _whole(url: str, settings: Settings) -> SqliteStore | PostgresStore:
    """Open a store that is not just being filled."""
    store = _opened(url, settings)
    with store.read_tables() as reader:
        half = reader.meta(PROGRESS_KEY) is not None
    if half:
        store.close()
        raise StoreUnavailable(f"{store.name} is half filled: run `memotherm migrate` again, which goes on with it")
    return store


def _opened(url: str, settings: Settings) -> SqliteStore | PostgresStore:
    if url.startswith(_SERVERS):
        return _open_postgres(url, settings)
    path = url.removeprefix(_SQLITE)
    if path == url and "://" in url:
        raise InvalidInput(
            f"cannot open {url.split('://', maxsplit=1)[0]}://...: use a path, sqlite:///... or postgresql://..."
        )
    if not path or "\x00" in path:
        raise InvalidInput("the store's path is empty or not a path: name a file, such as agent.db")
    from memotherm.storage.sqlite.store import SqliteStore

    return SqliteStore(path if path == ":memory:" else str(Path(path).expanduser()), settings)


def _open_postgres(url: str, settings: Settings) -> PostgresStore:
    try:
        from memotherm.storage.postgres.store import PostgresStore
    except ImportError as exc:
        raise PluginUnavailable(
            f"PostgreSQL needs packages that are not installed ({exc}): pip install 'memotherm[postgres]'"
        ) from exc
    return PostgresStore(url, settings)


def restore_store(checkpoint: Path, into: Path, purged_in: str | None = None) -> None:
    """Make a new store out of a checkpoint; what was purged in another store since then is purged in it too."""
    from memotherm.storage.sqlite.backup import restore

    settings = Settings()
    purged = [] if purged_in is None else _purged(purged_in, settings)

    def finish(copy: Path) -> None:
        with closing(open_store(str(copy), settings)) as store:
            for record in purged:
                _purge_again(store, record.memory)

    restore(checkpoint, into, finish if purged else None)


def _purged(url: str, settings: Settings) -> list[Record]:
    """Return what was purged in a store."""
    _require_there(url, "whose purges could be repeated")
    now = system_clock()
    found: list[Record] = []
    with closing(open_store(url, settings)) as store:
        spaces = store.spaces_within(Scope())
        before = None
        while page := store.find(spaces, Find(now=now, retention=Retention.PURGED, limit=_PAGE, before=before)):
            found += page
            before = page[-1].no
    return found


def _require_there(url: str, what: str) -> None:
    path = url.removeprefix(_SQLITE)
    if "://" not in path and not Path(path).expanduser().is_file():
        raise NotFound(f"there is no store {url} {what}")


def _purge_again(store: Store, memory: Memory) -> None:
    cause = Cause(action="purge", at=memory.retention_since, rule="restore", why="purged after the checkpoint")
    with store.write() as transaction:
        record = transaction.get(memory.id)
        if record is not None and record.memory.retention is not Retention.PURGED:
            transaction.purge(record, cause)
