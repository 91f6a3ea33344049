"""Adding to and rebuilding the text index."""

from __future__ import annotations

import json
from collections.abc import Iterable

from memotherm.storage.postgres.statements import PostgresStatements
from memotherm.storage.postgres.text import lexemes
from memotherm.storage.transaction import indexed_words

__all__ = ["add_text", "rebuild"]


def add_text(statements: PostgresStatements, no: int, space: int, tier: int, content: str, tags: Iterable[str]) -> None:
    """Add a memory to the text index."""
    text = indexed_words(content, tags)
    for part, row in enumerate(lexemes(text.split(), space)):
        words = "" if part else text
        statements.run("text_add", no=no, part=part, space=space, tier=tier, words=words, lexemes=row)


def rebuild(statements: PostgresStatements) -> None:
    """Rebuild the text index; the statements must be those for all tenants."""
    statements.run("texts_clear")
    for no, space, tier, content, tags in statements.each("indexed"):
        add_text(statements, no, space, tier, content, json.loads(tags) if tags else ())
