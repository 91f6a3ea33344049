"""Stores by URL: opening, copying, distributing and restoring them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from memotherm.errors import InvalidInput, NotFound, PluginUnavailable, StoreError
from memotherm.model import Memory, Retention, Scope, entry_points
from memotherm.model.actions import Action
from memotherm.model.clock import system_clock
from memotherm.settings import Settings
from memotherm.settings.paths import SQLITE, sqlite_path
from memotherm.storage.statements import Row
from memotherm.storage.store import Distribution, Store, Transaction
from memotherm.storage.transfer import (
    SPACES,
    TOMBSTONES,
    Migration,
    Progress,
    transfer,
)
from memotherm.storage.values import DISCARDED, Cause, Search

#: The group of entry points: the name is the URL scheme, the object is a factory.
GROUP = "memotherm.stores"
#: Opens the store that a URL names, with these settings; creates it if it does not exist.
Factory = Callable[[str, Settings], Store]


def register_store(scheme: str, factory: Factory) -> None:
    """Open the URLs of a scheme with a factory, in this process; a package uses an entry point instead."""
    _factories[scheme.lower()] = factory


def open_store(url: str, settings: Settings) -> Store:
    """Open the store that a path or URL names, creating it if it does not exist; a path is a SQLite file."""
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


def _open_sqlite(url: str, settings: Settings) -> Store:
    from memotherm.storage.sqlite.store import SqliteStore

    path = url.removeprefix(SQLITE)
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


_PAGE = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class Purges:
    """What was purged in a store."""

    #: The purged memories, without chunks whose lines in a file were edited or deleted.
    memories: tuple[Memory, ...]
    #: The key of the tombstones; copies of a store have the same one.
    secret: str | None = None
    #: The columns of each tombstone without its space, and its scope: a row of `spaces` without its number.
    tombstones: tuple[tuple[Row, Row], ...] = ()

    def repeat(self, copy: Store) -> None:
        """Purge the same memories in a copy, and add the tombstones that it lacks."""

        def purge(transaction: Transaction, memory: Memory) -> None:
            record = transaction.get(memory.id)
            if record is not None and record.memory.retention is not Retention.PURGED:
                why = "purged after the checkpoint"
                transaction.purge(
                    record, Cause(action=Action.PURGE, at=memory.retention_since, rule="restore", why=why)
                )

        with copy.read_tables() as reader:
            tombstones = self.tombstones if reader.meta("secret") == self.secret else ()
            spaces = {_scope(row): row[1] for row in reader.rows(SPACES)}
            known = {(row[1], row[2]) for row in reader.rows(TOMBSTONES)}
        with copy.write_tables() as writer:
            for (mark, *rest), scope in tombstones:
                if scope not in spaces:
                    spaces[scope] = max(spaces.values(), default=0) + 1
                    writer.put(SPACES, [(scope[0], spaces[scope], *scope[1:])])
                if (mark, spaces[scope]) not in known:
                    writer.put(TOMBSTONES, [(scope[0], mark, spaces[scope], *rest)])
        for memory in self.memories:
            copy.transact(functools.partial(purge, memory=memory))


def purges_of(url: str, settings: Settings, *, secret: str | None = None) -> Purges | None:
    """Return what was purged in a store; None if it is not one with the given secret."""
    with closing(open_store(url, settings)) as store:
        with store.read_tables() as reader:
            own = reader.meta("secret")
            scopes = {row[1]: _scope(row) for row in reader.rows(SPACES)}
            tombstones = tuple(((mark, *rest), scopes[space]) for _, mark, space, *rest in reader.rows(TOMBSTONES))
        if secret is not None and own != secret:
            return None
        return Purges(memories=tuple(_purged(store)), secret=own, tombstones=tombstones)


def _purged(store: Store) -> Iterator[Memory]:
    """Yield the memories that were purged, as opposed to copies of lines that are no longer in their file."""
    spaces, purged = store.spaces_within(Scope()), (Retention.PURGED,)
    for record in store.each(Search(spaces=spaces, now=system_clock(), retentions=purged, limit=_PAGE)):
        last = next(event for event in reversed(store.events(record)) if event.action == Action.PURGE)
        if last.rule != DISCARDED:
            yield record.memory


def _scope(row: Row) -> Row:
    """Return a row of `spaces` without its number."""
    return (row[0], *row[2:])


def migrate_store(source: str, target: str, settings: Settings, progress: Progress | None = None) -> Migration:
    """Copy a store into a new one, on another database or the same, and verify the copy."""
    _require_existing(source, "to migrate")
    with closing(open_store(source, settings)) as original, closing(open_store(target, settings)) as copy:
        migration = transfer(original, copy, progress)
        copy.build_indexes()
        return migration


def distribute_store(url: str, shards: int, settings: Settings) -> Distribution:
    """Distribute the tables of a store over the nodes of a cluster by tenant, and verify the rows."""
    _require_existing(url, "to distribute")
    with closing(open_store(url, settings)) as store:
        return store.distribute(shards)


def restore_store(
    checkpoint: Path, into: Path, settings: Settings, purged_in: str | None = None, *, repeat_purges: bool = True
) -> str:
    """Make a new store from a checkpoint, and repeat the purges of the store that the checkpoint was made of.

    Return why they could not be repeated, or an empty text.
    """
    from memotherm.storage.sqlite.copies import origin_of, restore

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
    from memotherm.storage.sqlite.copies import recode

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
