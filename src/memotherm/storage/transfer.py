"""One store into another, whatever databases they are on: every row, its number, its history.

The source is read in one snapshot, so that others may go on working with it. The target takes the rows
in batches, each with a mark of how far it is in the same transaction: a transfer that was interrupted
goes on where it stopped. At the end both are read again and compared, by counts and digests.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

from memotherm.errors import InvalidInput, StoreDamaged
from memotherm.storage.statements import Row, Statements
from memotherm.storage.tables import META, TABLES, Table
from memotherm.text.quantity import pluralize

__all__ = ["MARK", "Giving", "MetaTable", "Migration", "Progress", "Receiver", "Receiving", "Sender", "transfer"]

#: The note in a target's own notes that says how far a transfer into it is.
MARK = "transfer"
_BATCH = 2000

#: Called with (done, total) while a long piece of work goes on.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Migration:
    """What was copied from one store into another, and verified."""

    source: str
    target: str
    #: Rows by table.
    rows: Mapping[str, int] = field(default_factory=dict)
    #: SHA-256 of all of them, the same in both stores.
    digest: str = ""

    def __str__(self) -> str:
        held = (
            f"{pluralize(self.rows.get('memories', 0), 'memory')}, {pluralize(sum(self.rows.values()), 'row')} in all"
        )
        return f"{held}: copied from {self.source} to {self.target} and verified"


class Giving(Protocol):
    """A snapshot of a store."""

    def note(self, key: str) -> str | None:
        """Return one of the store's own notes."""

    def count(self, table: Table) -> int:
        """Return how many rows a table has."""

    def rows(self, table: Table, after: Sequence[Any] | None = None) -> Iterator[Row]:
        """Yield (tenant, *columns) of the rows behind a key, in the order of the key."""


class Receiving(Protocol):
    """One transaction on a store that is being filled."""

    def note(self, key: str) -> str | None:
        """Return one of the store's own notes."""

    def set_note(self, key: str, value: str | None) -> None:
        """Keep one of the store's own notes, or drop it."""

    def is_empty(self) -> bool:
        """Tell whether nothing was ever stored here."""

    def put(self, table: Table, rows: Sequence[Row]) -> None:
        """Add rows as a snapshot gives them."""

    def complete(self) -> None:
        """Make what follows from the rows: words, counters, indexes, the next numbers."""


class MetaTable:
    """A store's own notes, inside one transaction."""

    def __init__(self, statements: Statements) -> None:
        self._statements = statements

    def note(self, key: str) -> str | None:
        """Return one of the store's own notes."""
        value: str | None = self._statements.value("meta_get", key=key)
        return value

    def set_note(self, key: str, value: str | None) -> None:
        """Keep one of the store's own notes, or drop it."""
        if value is None:
            self._statements.run("meta_drop", key=key)
        else:
            self._statements.run("meta_set", key=key, value=value)

    def is_empty(self) -> bool:
        """Tell whether nothing was ever stored here."""
        return not self._statements.value("spaces_any")


class Sender(Protocol):
    """A store that can be copied."""

    name: str

    def giving(self) -> AbstractContextManager[Giving]:
        """Lend a snapshot."""


class Receiver(Sender, Protocol):
    """A store that can be filled."""

    def receiving(self) -> AbstractContextManager[Receiving]:
        """Lend a transaction."""


def transfer(source: Sender, target: Receiver, progress: Progress | None = None) -> Migration:
    """Copy a store into an empty one, or go on with that, and verify the copy."""
    with source.giving() as giving:
        done = _begun(giving, source, target)
        total, copied = sum(giving.count(table) for table in TABLES), 0
        for table in TABLES:
            copied += _copied(giving, target, table, done)
            if progress is not None:
                progress(copied, total)
        with target.receiving() as receiving:
            for key in META:
                if (value := giving.note(key)) is not None:
                    receiving.set_note(key, value)
            receiving.complete()
        rows, digest = _verified(giving, target)
        with target.receiving() as receiving:
            receiving.set_note(MARK, None)
    return Migration(source=source.name, target=target.name, rows=rows, digest=digest)


def _begun(giving: Giving, source: Sender, target: Receiver) -> dict[str, Any]:
    """Return how far each table is; refuse a target that holds anything else."""
    identity = giving.note("store")
    with target.receiving() as receiving:
        noted = receiving.note(MARK)
        known = json.loads(noted) if noted else {"from": identity, "tables": {}}
        if noted is None and not receiving.is_empty():
            raise InvalidInput(f"{target.name} is not empty: copy into a new store")
        if known["from"] != identity:
            raise InvalidInput(f"{target.name} is half filled from another store than {source.name}: use a new one")
        receiving.set_note(MARK, json.dumps(known))
    return dict(known)


def _copied(giving: Giving, target: Receiver, table: Table, done: dict[str, Any]) -> int:
    """Copy what a table still lacks; return how many rows it had."""
    after = done["tables"].get(table.name)
    rows = giving.rows(table, after)
    while batch := list(islice(rows, _BATCH)):
        done["tables"][table.name] = _key(table, batch[-1])
        with target.receiving() as receiving:
            receiving.put(table, batch)
            receiving.set_note(MARK, json.dumps(done))
    return giving.count(table)


def _key(table: Table, row: Row) -> list[Any]:
    """Return the key of a row; it begins after the tenant."""
    places = [table.columns.index(column) + 1 for column in table.key]
    return [row[place] for place in places]


def _verified(giving: Giving, target: Receiver) -> tuple[dict[str, int], str]:
    """Return the rows by table and the digest of all of them, if both stores agree."""
    counts: dict[str, int] = {}
    all_of_them = hashlib.sha256()
    with target.giving() as copy:
        for table in TABLES:
            there, here = _told(giving, table), _told(copy, table)
            if there != here:
                raise StoreDamaged(
                    f"the copy differs in {table.name} ({there[0]} rows there, {here[0]} here): "
                    "the source has changed since the copy began; make it again, into a new store"
                )
            counts[table.name] = there[0]
            all_of_them.update(there[1].encode())
    return counts, all_of_them.hexdigest()


def _told(giving: Giving, table: Table) -> tuple[int, str]:
    """Return how many rows a table has, and the digest of them."""
    told, count = hashlib.sha256(), 0
    for row in giving.rows(table):
        told.update(repr(row).encode())
        count += 1
    return count, told.hexdigest()
