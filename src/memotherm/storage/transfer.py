"""Copy one store into another, on the same or another database: every row, its number, its history.

The source is read in one snapshot, so other processes can keep using it. The target receives all rows in one
transaction, before whose commit both stores are read again and compared by counts and digests.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from memotherm.errors import InvalidInput, StoreDamaged
from memotherm.storage.rows import COLUMNS
from memotherm.storage.statements import Row, Statements
from memotherm.text.content import pluralize

if TYPE_CHECKING:
    from memotherm.storage.store import Store


class Table(NamedTuple):
    """A table as both databases have it; the tenant of a row is not among its columns."""

    name: str
    #: The primary key; rows are read in its order.
    key: tuple[str, ...]
    columns: tuple[str, ...]
    #: The column that leads to the tenant: space, no (a memory) or note; empty = the rows belong to the store.
    owner: str = ""


def _table(name: str, key: str, rest: str = "", owner: str = "") -> Table:
    return Table(name, tuple(key.split()), (*key.split(), *rest.split()), owner)


#: Vectors with the space and tier of their memory; tier 3 = not active.
VECTORS = _table("vectors", "embedder no part", "space tier vector", "no")

SPACES = _table("spaces", "space", "project environment user_ agent session collection", "space")
TOMBSTONES = _table("tombstones", "mark space", "at head length bits trust", "space")

#: In an order in which nothing points to what is not there yet.
TABLES = (
    _table("embedders", "number", "name dimensions"),
    SPACES,
    Table("memories", ("no",), COLUMNS, "space"),
    _table("tags", "no tag", owner="no"),
    _table("turns", "no", "space thread author previous", "space"),
    VECTORS,
    _table("events", "seq", "at no action actor rule why changes policy", "no"),
    TOMBSTONES,
    _table(
        "recalls",
        "recall",
        "id at space query tiers micros best candidates returned promoted degraded options",
        "space",
    ),
    _table("uses", "recall no strength", "space at", "space"),
    _table("receipts", "receipt", "at space query budget tokens given format entries", "space"),
    _table("sessions", "space", "state started_at changed_at", "space"),
    _table("tallies", "space name", "times amount", "space"),
    _table("roots", "space", "path extra", "space"),
    _table("notes", "note", "space path hash stamp size messages settled cut tier", "space"),
    _table("chunks", "note position", "no first last heading digest", "note"),
    _table("flushes", "space", "cycle armed", "space"),
    _table("injected", "space no", "updated_at", "space"),
    _table("adoptions", "seq", "at actor action name hash document"),
    _table("key_values", "namespace key", "value expires_at"),
)

#: Metadata that is copied too: the serving embedder and the secret of the tombstones.
META = ("embedder", "secret")


_BATCH = 2000

#: Called with (rows done, rows in total).
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
        total = (
            f"{pluralize(self.rows.get('memories', 0), 'memory')}, {pluralize(sum(self.rows.values()), 'row')} in all"
        )
        return f"{total}: copied from {self.source} to {self.target} and verified"


class StoreTables(ABC):
    """The tables of a store, in one snapshot or in one write transaction."""

    def __init__(self, statements: Statements) -> None:
        self._statements = statements

    def meta(self, key: str) -> str | None:
        """Return a value of the store's metadata, or None."""
        value: str | None = self._statements.value("meta_get", key=key)
        return value

    def set_meta(self, key: str, value: str) -> None:
        """Set a value of the store's metadata."""
        self._statements.run("meta_set", key=key, value=value)

    def is_empty(self) -> bool:
        """Return whether nothing was ever stored here."""
        return not self._statements.value("spaces_any")

    def count(self, name: str) -> int:
        """Return how many rows a table has."""
        ((count,),) = self._statements.rows_of("table_count", {"table": name})
        return int(count)

    @abstractmethod
    def rows(self, table: Table) -> Iterator[Row]:
        """Yield (tenant, *columns) of all rows, in the order of the key."""

    @abstractmethod
    def put(self, table: Table, rows: Sequence[Row]) -> None:
        """Insert rows as `rows` yields them."""

    @abstractmethod
    def complete(self) -> None:
        """Build what is derived from the rows: text index, counters, next numbers."""


def transfer(source: Store, target: Store, progress: Progress | None = None) -> Migration:
    """Copy a store into an empty one, and verify the result, in one transaction."""
    with source.read_tables() as reader, target.write_tables() as writer:
        if not writer.is_empty():
            raise InvalidInput(f"{target.name} is not empty: copy into a new store")
        total, done = sum(reader.count(table.name) for table in TABLES), 0
        for table in TABLES:
            rows = reader.rows(table)
            while batch := list(islice(rows, _BATCH)):
                writer.put(table, batch)
                done += len(batch)
                if progress is not None:
                    progress(done, total)
        for key in META:
            if (value := reader.meta(key)) is not None:
                writer.set_meta(key, value)
        writer.complete()
        counts, digest = _verify(reader, writer)
    return Migration(source=source.name, target=target.name, rows=counts, digest=digest)


def _verify(reader: StoreTables, copy: StoreTables) -> tuple[dict[str, int], str]:
    """Return the number of rows of each table and the digest of all of them, if both stores agree."""
    counts: dict[str, int] = {}
    digest = hashlib.sha256()
    for table in TABLES:
        expected, actual = summarize(reader, table), summarize(copy, table)
        if expected != actual:
            raise StoreDamaged(
                f"the copy differs in {table.name} ({expected[0]} rows in the source, {actual[0]} in the copy): "
                "nothing was copied"
            )
        counts[table.name] = expected[0]
        digest.update(expected[1].encode())
    return counts, digest.hexdigest()


def summarize(reader: StoreTables, table: Table) -> tuple[int, str]:
    """Return the number of rows of a table and their digest."""
    digest, count = hashlib.sha256(), 0
    for row in reader.rows(table):
        digest.update(repr(row).encode())
        count += 1
    return count, digest.hexdigest()
