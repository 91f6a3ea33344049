"""The two text indexes as a whole: what to ask them, and how to make them anew."""

from __future__ import annotations

import json
import sqlite3

from thermocline.model import Tier
from thermocline.storage.sqlite.connect import Connections
from thermocline.storage.sqlite.keys import text_key
from thermocline.storage.sqlite.statements import SQL
from thermocline.storage.sqlite.writing import indexed_words
from thermocline.text.words import WORDS_VERSION, is_fragment

__all__ = ["match_expression", "rebuild_if_outdated"]

_BATCH = 5000


def match_expression(word: str) -> str:
    """Return the FTS5 query that a word satisfies."""
    return f'"{word}" *' if is_fragment(word) else f'"{word}"'


def rebuild_if_outdated(connections: Connections) -> None:
    """Make the text indexes anew when they were made by other rules for words."""
    with connections.reading() as connection:
        if _version(connection) == WORDS_VERSION:
            return
    with connections.writing() as connection:
        if _version(connection) != WORDS_VERSION:
            _rebuild(connection)
            connection.execute(SQL["meta_set"], {"key": "words", "value": str(WORDS_VERSION)})


def _version(connection: sqlite3.Connection) -> int:
    row = connection.execute(SQL["meta_get"], {"key": "words"}).fetchone()
    return int(row[0]) if row else 0


def _rebuild(connection: sqlite3.Connection) -> None:
    connection.execute(SQL["text_live_clear"])
    connection.execute(SQL["text_cold_clear"])
    reader = connection.execute(SQL["indexed"])
    while rows := reader.fetchmany(_BATCH):
        for no, space, tier, content, tags in rows:
            place = tuple(Tier)[tier]
            table = "text_cold" if place is Tier.COLD else "text_live"
            text = indexed_words(content, json.loads(tags) if tags else ())
            connection.execute(SQL[f"{table}_add"], {"rowid": text_key(space, place, no), "words": text})
