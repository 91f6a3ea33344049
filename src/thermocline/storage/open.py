"""From a URL to a store."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from thermocline.errors import InvalidInput, NotFound, PluginUnavailable
from thermocline.model import Memory, Retention, Scope
from thermocline.settings import Settings
from thermocline.storage.store import Cause, Find, Record, Store

__all__ = ["open_store", "restore_store"]

_SQLITE = "sqlite:///"
_PAGE = 1000


def open_store(url: str, settings: Settings) -> Store:
    """Open the store that a path or URL names, creating it if it is not there yet."""
    if url.startswith(("postgresql://", "postgres://")):
        raise PluginUnavailable("the PostgreSQL store is not part of this version: use a path or sqlite:///...")
    path = url.removeprefix(_SQLITE)
    if path == url and "://" in url:
        raise InvalidInput(
            f"cannot open {url.split('://', maxsplit=1)[0]}://...: use a path, sqlite:///... or postgresql://..."
        )
    if not path or "\x00" in path:
        raise InvalidInput("the store's path is empty or not a path: name a file, such as agent.db")
    from thermocline.storage.sqlite.store import SqliteStore

    return SqliteStore(path if path == ":memory:" else str(Path(path).expanduser()), settings)


def restore_store(checkpoint: Path, into: Path, purged_in: str | None = None) -> None:
    """Make a new store out of a checkpoint; what was purged in another store since then is purged in it too."""
    from thermocline.storage.sqlite.backup import restore

    settings = Settings()
    purged = [] if purged_in is None else _purged(purged_in, settings)

    def finish(copy: Path) -> None:
        with closing(open_store(str(copy), settings)) as store:
            for record in purged:
                _purge_again(store, record.memory)

    restore(checkpoint, into, finish if purged else None)


def _purged(url: str, settings: Settings) -> list[Record]:
    """Return what was purged in a store."""
    if "://" not in url and not Path(url).expanduser().is_file():
        raise NotFound(f"there is no store {url} whose purges could be repeated")
    now = datetime.now(UTC)
    found: list[Record] = []
    with closing(open_store(url, settings)) as store:
        spaces = store.spaces_within(Scope())
        before = None
        while page := store.find(spaces, Find(now=now, retention=Retention.PURGED, limit=_PAGE, before=before)):
            found += page
            before = page[-1].no
    return found


def _purge_again(store: Store, memory: Memory) -> None:
    cause = Cause(action="purge", at=memory.retention_since, rule="restore", why="purged after the checkpoint")
    with store.write() as writing:
        record = writing.get(memory.id)
        if record is not None and record.memory.retention is not Retention.PURGED:
            writing.purge(record, cause)
