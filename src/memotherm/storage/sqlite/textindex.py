"""The two text indexes: match expressions, changes and rebuilding."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

from memotherm.model import Tier
from memotherm.storage.sqlite.keys import text_key
from memotherm.storage.sqlite.statements import SQL, SqliteStatements
from memotherm.storage.transaction import indexed_words
from memotherm.text.words import is_fragment

__all__ = ["TextChange", "change_text", "match_expression", "rebuild"]

#: A statement that changes a text index, and its parameters.
TextChange = tuple[str, dict[str, object]]

_TIERS = tuple(Tier)


def match_expression(word: str) -> str:
    """Return the FTS5 query that a word satisfies."""
    return f'"{word}" *' if is_fragment(word) else f'"{word}"'


def change_text(connection: sqlite3.Connection, changes: Sequence[TextChange]) -> None:
    """Change the text indexes, in order; what one statement does several times in succession is done at once."""
    for name, same in groupby(changes, key=itemgetter(0)):
        connection.executemany(SQL[name], [values for _, values in same])


def rebuild(statements: SqliteStatements) -> None:
    """Rebuild the text indexes."""
    statements.run("text_live_clear")
    statements.run("text_cold_clear")
    for no, space, rank, content, tags in statements.each("indexed"):
        tier = _TIERS[rank]
        table = "text_cold" if tier is Tier.COLD else "text_live"
        text = indexed_words(content, json.loads(tags) if tags else ())
        statements.run(f"{table}_add", rowid=text_key(space, tier, no), words=text)
