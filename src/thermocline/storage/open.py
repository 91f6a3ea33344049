"""From a URL to a store."""

from __future__ import annotations

from pathlib import Path

from thermocline.errors import InvalidInput, PluginUnavailable
from thermocline.settings import Settings
from thermocline.storage.store import Store

__all__ = ["open_store", "restore_store"]

_SQLITE = "sqlite:///"


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


def restore_store(checkpoint: Path, into: Path) -> None:
    """Make a new store out of a checkpoint."""
    from thermocline.storage.sqlite.backup import restore

    restore(checkpoint, into)
