"""The named statements of SQLite, with the column lists filled in."""

from __future__ import annotations

from thermocline.storage import queries
from thermocline.storage.rows import COLUMNS

__all__ = ["SQL"]

_FILLED = {
    "{columns}": ", ".join(COLUMNS),
    "{chunk_columns}": ", ".join(f"m.{column}" for column in COLUMNS),
    "{values}": ", ".join(f":{column}" for column in COLUMNS),
    "{assignments}": ", ".join(f"{column} = :{column}" for column in COLUMNS if column != "no"),
}


def _filled(statement: str) -> str:
    for mark, columns in _FILLED.items():
        statement = statement.replace(mark, columns)
    return statement


#: Every statement by its name.
SQL = {name: _filled(statement) for name, statement in queries.load("sqlite").items()}
