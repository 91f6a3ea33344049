"""Stores by URL scheme: the built-in ones, those that the program registers, those of installed packages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

from memotherm.errors import InvalidInput, PluginUnavailable
from memotherm.model import entry_points
from memotherm.settings import Settings
from memotherm.storage.contract import Store

__all__ = ["GROUP", "Factory", "open_url", "register_store", "sqlite_path"]

#: The group of entry points: the name is the URL scheme, the object is a factory.
GROUP = "memotherm.stores"
#: Opens the store that a URL names, with these settings; creates it if it does not exist.
Factory = Callable[[str, Settings], Store]

_SQLITE = "sqlite:///"


def register_store(scheme: str, factory: Factory) -> None:
    """Open the URLs of a scheme with a factory, in this process; a package uses an entry point instead."""
    _factories[scheme.lower()] = factory


def open_url(url: str, settings: Settings) -> Store:
    """Open the store that a path or URL names; a path is a SQLite file."""
    scheme, separator, _ = url.partition("://")
    scheme = scheme.lower() if separator else "sqlite"
    factory = _factories.get(scheme)
    if factory is None:
        installed = entry_points.names(GROUP)
        if scheme not in installed:
            known = ", ".join(f"{name}://" for name in sorted({*_factories, *installed}))
            raise InvalidInput(f"cannot open {scheme}://...: use a path, or a URL that begins with one of {known}")
        factory = cast("Factory", entry_points.load(GROUP, scheme, kind="store"))
    return factory(url, settings)


def sqlite_path(url: str) -> Path | None:
    """Return the file that a path or URL names; None if it names another kind of store."""
    path = url.removeprefix(_SQLITE)
    return None if "://" in path else Path(path).expanduser()


def _open_sqlite(url: str, settings: Settings) -> Store:
    from memotherm.storage.sqlite.store import SqliteStore

    path = url.removeprefix(_SQLITE)
    if "://" in path:
        raise InvalidInput(f"cannot open {url}: write sqlite:/// and the path of the file")
    if not path or "\x00" in path:
        raise InvalidInput("the store's path is empty or not a path: name a file, such as agent.db")
    return SqliteStore(path if path == ":memory:" else str(Path(path).expanduser()), settings)


def _open_postgres(url: str, settings: Settings) -> Store:
    try:
        from memotherm.storage.postgres.store import PostgresStore
    except ImportError as exc:
        raise PluginUnavailable(
            f"PostgreSQL needs packages that are not installed ({exc}): pip install 'memotherm[postgres]'"
        ) from exc
    return PostgresStore(url, settings)


_factories: dict[str, Factory] = {
    "sqlite": _open_sqlite,
    "postgresql": _open_postgres,
    "postgres": _open_postgres,
}
