"""A PostgreSQL store as the source or the target of a transfer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from memotherm.storage.postgres.routing import COPIED, SHARED_SCHEMA
from memotherm.storage.postgres.statements import PostgresStatements
from memotherm.storage.postgres.transaction import rebuild
from memotherm.storage.statements import Row
from memotherm.storage.transfer import VECTORS, StoreTables, Table

__all__ = ["PostgresTables"]


class PostgresTables(StoreTables):
    """The tables inside one transaction; the statements must be those for all tenants."""

    def __init__(self, statements: PostgresStatements) -> None:
        super().__init__(statements)
        self._sql = statements

    def rows(self, table: Table, after: Sequence[Any] | None = None) -> Iterator[Row]:
        """Yield (tenant, *columns) of the rows after a key, in the order of the key."""
        values = {f"key{position}": part for position, part in enumerate(after or ())}
        marks = {
            "tenant": "t.tenant" if table.owner else "''",
            "columns": ", ".join(table.columns),
            "table": table.name,
            "owner": "",
            "keys": ", ".join(table.key),
            "after": ", ".join(f"%({name})s" for name in values),
        }
        rows = self._sql.each_of("table_rows_behind" if values else "table_rows", marks, **values)
        return map(_with_bytes, rows) if table is VECTORS else rows

    def put(self, table: Table, rows: Sequence[Row]) -> None:
        """Insert rows as `rows` yields them."""
        columns = ("tenant", *table.columns) if table.owner else table.columns
        marks = {"table": table.name, "columns": ", ".join(columns), "values": ", ".join(["%s"] * len(columns))}
        inserted = rows if table.owner else [row[1:] for row in rows]
        values = list(map(_with_vector, inserted)) if table is VECTORS else inserted
        self._sql.run_many_of("table_put", marks, values)
        if self._sql.distributed and table.name in COPIED:
            copied = [row for row in values if not row[0]]
            self._sql.run_many_of("table_put", {**marks, "table": f"{SHARED_SCHEMA}.{table.name}"}, copied)

    def complete(self) -> None:
        """Build counters and text index, and set the sequences."""
        self._sql.run("counters_clear")
        self._sql.run("counters_make")
        rebuild(self._sql)
        self._sql.rows("numbers_follow")
        self._sql.run("statistics")


def _with_bytes(row: Row) -> Row:
    """Return a row of vectors with the vector as every database can have it."""
    return (*row[:-1], np.asarray(row[-1].to_numpy(), "<f4").tobytes())


def _with_vector(row: Row) -> Row:
    return (*row[:-1], np.frombuffer(row[-1], "<f4"))
