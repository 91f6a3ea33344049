"""The text index as a whole: how to make it anew."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

from thermocline.storage.postgres.statements import PostgresStatements
from thermocline.storage.postgres.text import lexemes
from thermocline.storage.writing import indexed_words

__all__ = ["add_text", "rebuild"]


def add_text(statements: PostgresStatements, no: int, space: int, tier: int, content: str, tags: Iterable[str]) -> int:
    """Make a memory findable by its words, and return how many they are."""
    text = indexed_words(content, tags)
    words = text.split()
    place = {"no": no, "space": space, "tier": tier, "length": len(words)}
    for part, row in enumerate(lexemes(words, space)):
        statements.run("text_add", **place, part=part, words="" if part else text, lexemes=row)
    return len(words)


def rebuild(statements: PostgresStatements) -> None:
    """Make the text index anew; the statements must be those for all tenants."""
    statements.run("texts_clear")
    statements.run("texts_uncount")
    counted: Counter[tuple[int, int]] = Counter()
    for no, space, tier, content, tags in statements.each("indexed"):
        counted[space, tier] += add_text(statements, no, space, tier, content, json.loads(tags) if tags else ())
    for (space, tier), words in sorted(counted.items()):
        statements.run("counter_add", space=space, tier=tier, retention=0, memories=0, tokens=0, words=words)
