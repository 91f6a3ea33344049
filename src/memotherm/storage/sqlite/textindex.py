"""The two text indexes: match expressions and rebuilding."""

from __future__ import annotations

import json

from memotherm.model import Tier
from memotherm.storage.sqlite.keys import text_key
from memotherm.storage.sqlite.statements import SqliteStatements
from memotherm.storage.transaction import indexed_words
from memotherm.text.words import is_fragment

__all__ = ["match_expression", "rebuild"]

_TIERS = tuple(Tier)


def match_expression(word: str) -> str:
    """Return the FTS5 query that a word satisfies."""
    return f'"{word}" *' if is_fragment(word) else f'"{word}"'


def rebuild(statements: SqliteStatements) -> None:
    """Rebuild the text indexes."""
    statements.run("text_live_clear")
    statements.run("text_cold_clear")
    for no, space, rank, content, tags in statements.each("indexed"):
        tier = _TIERS[rank]
        table = "text_cold" if tier is Tier.COLD else "text_live"
        text = indexed_words(content, json.loads(tags) if tags else ())
        statements.run(f"{table}_add", rowid=text_key(space, tier, no), words=text)
