"""Repeat the purges of a store in a copy that was made before them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from memotherm.model import Memory, Retention, Scope
from memotherm.model.clock import system_clock
from memotherm.settings import Settings
from memotherm.storage.contract import Store
from memotherm.storage.registry import open_url
from memotherm.storage.statements import Row
from memotherm.storage.tables import SPACES, TOMBSTONES
from memotherm.storage.transfer import TransferSource, TransferTarget
from memotherm.storage.values import DISCARDED, Cause, Find

__all__ = ["Purges", "purges_of"]

_PAGE = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class Purges:
    """What was purged in a store."""

    #: The purged memories, without chunks whose lines in a file were edited or deleted.
    memories: tuple[Memory, ...]
    #: The key of the tombstones; copies of a store have the same one.
    secret: str | None = None
    #: (mark, time, scope) of each tombstone; a scope is a row of `spaces` without its number.
    tombstones: tuple[tuple[str, int, Row], ...] = ()

    def repeat(self, copy: Store) -> None:
        """Purge the same memories in a copy, and add the tombstones that it lacks."""
        for memory in self.memories:
            cause = Cause(action="purge", at=memory.retention_since, rule="restore", why="purged after the checkpoint")
            with copy.write() as transaction:
                record = transaction.get(memory.id)
                if record is not None and record.memory.retention is not Retention.PURGED:
                    transaction.purge(record, cause)
        if isinstance(copy, TransferTarget):
            self._add_tombstones(copy)

    def _add_tombstones(self, copy: TransferTarget) -> None:
        with copy.read_tables() as reader:
            if reader.meta("secret") != self.secret:
                return
            spaces = {_scope(row): row[1] for row in reader.rows(SPACES)}
            known = {(row[1], row[2]) for row in reader.rows(TOMBSTONES)}
        with copy.write_tables() as writer:
            for mark, at, scope in self.tombstones:
                if scope not in spaces:
                    spaces[scope] = max(spaces.values(), default=0) + 1
                    writer.put(SPACES, [(scope[0], spaces[scope], *scope[1:])])
                if (mark, spaces[scope]) not in known:
                    writer.put(TOMBSTONES, [(scope[0], mark, spaces[scope], at)])


def purges_of(url: str, settings: Settings, *, secret: str | None = None) -> Purges | None:
    """Return what was purged in a store; None if it is not one with the given secret."""
    with closing(open_url(url, settings)) as store:
        if not isinstance(store, TransferSource):
            return Purges(memories=tuple(_purged(store))) if secret is None else None
        with store.read_tables() as reader:
            own = reader.meta("secret")
            scopes = {row[1]: _scope(row) for row in reader.rows(SPACES)}
            tombstones = tuple((mark, at, scopes[space]) for _, mark, space, at in reader.rows(TOMBSTONES))
        if secret is not None and own != secret:
            return None
        return Purges(memories=tuple(_purged(store)), secret=own, tombstones=tombstones)


def _purged(store: Store) -> Iterator[Memory]:
    """Yield the memories that were purged, as opposed to copies of lines that are no longer in their file."""
    find: dict[str, Any] = {"now": system_clock(), "retention": Retention.PURGED, "limit": _PAGE}
    spaces, before = store.spaces_within(Scope()), None
    while page := store.find(spaces, Find(**find, before=before)):
        for record in page:
            last = next(event for event in reversed(store.events(record)) if event.action == "purge")
            if last.rule != DISCARDED:
                yield record.memory
        before = page[-1].no


def _scope(row: Row) -> Row:
    """Return a row of `spaces` without its number."""
    return (row[0], *row[2:])
