"""A SQLite store as the source or the target of a transfer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from memotherm.storage.sqlite.statements import MEMORY_MASK, PART_BITS, SQL, SqliteStatements, vector_range
from memotherm.storage.sqlite.transaction import rebuild
from memotherm.storage.statements import Row, marked
from memotherm.storage.transfer import VECTORS, StoreTables, Table

__all__ = ["SqliteTables"]

#: The join that finds the tenant of a row.
_OWNERS = {
    "": "",
    "space": "LEFT JOIN spaces s ON s.space = t.space",
    "no": "JOIN memories m ON m.no = t.no JOIN spaces s ON s.space = m.space",
    "note": "JOIN notes n ON n.note = t.note JOIN spaces s ON s.space = n.space",
}


class SqliteTables(StoreTables):
    """The tables on one connection, inside one transaction."""

    def __init__(self, statements: SqliteStatements) -> None:
        super().__init__(statements)
        self._sql = statements
        self._connection = statements.connection

    def rows(self, table: Table, after: Sequence[Any] | None = None) -> Iterator[Row]:
        """Yield (tenant, *columns) of the rows after a key, in the order of the key."""
        if table is VECTORS:
            last = -1 if after is None else vector_range(after[0], after[1]).low + after[2]
            return self._sql.each("vectors_all", behind=last, parts=1 << PART_BITS, numbers=MEMORY_MASK)
        marks = {
            "tenant": "coalesce(s.tenant, '')" if table.owner else "''",
            "columns": ", ".join(f"t.{column}" for column in table.columns),
            "table": table.name,
            "owner": _OWNERS[table.owner],
            "keys": ", ".join(f"t.{column}" for column in table.key),
            "after": ", ".join("?" * len(table.key)),
        }
        name = "table_rows" if after is None else "table_rows_behind"
        return self._connection.cursor().execute(marked(SQL[name], marks), after or ())

    def put(self, table: Table, rows: Sequence[Row]) -> None:
        """Insert rows as `rows` yields them."""
        if table is VECTORS:
            vectors = [
                {"key": vector_range(embedder, no).low + part, "vector": vector}
                for _, embedder, no, part, _, _, vector in rows
            ]
            self._sql.run_many("vector_add", vectors)
            return
        owned = table.name == "spaces"
        columns = ("tenant", *table.columns) if owned else table.columns
        marks = {"table": table.name, "columns": ", ".join(columns), "values": ", ".join("?" * len(columns))}
        self._connection.executemany(marked(SQL["table_put"], marks), rows if owned else [row[1:] for row in rows])

    def complete(self) -> None:
        """Build counters and text index."""
        self._sql.run("counters_clear")
        self._sql.run("counters_make")
        rebuild(self._sql)
