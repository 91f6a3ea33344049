"""Words as PostgreSQL lexemes, and queries.

The words are stored as they are, without a dictionary or stemming by the database. One more lexeme names the space
of a memory, so that a search is restricted to its scope inside the index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memotherm.text.words import is_fragment

__all__ = ["lexemes", "queries"]

#: Less than the largest tsvector that PostgreSQL stores (1 MB).
_ROW_BYTES = 1_000_000
#: The bytes of a lexeme beside its letters.
_LEXEME_BYTES = 8


def lexemes(words: Sequence[str], space: int) -> Iterator[str]:
    """Yield a memory's words as lexemes, as many as fit one row at a time."""
    row, free = [_space(space)], _ROW_BYTES
    for word in dict.fromkeys(words):
        needed = len(word.encode()) + _LEXEME_BYTES
        if needed > free:
            yield " ".join(row)
            row, free = [_space(space)], _ROW_BYTES
        free -= needed
        row.append(f"'{word}'")
    yield " ".join(row)


def queries(words: Sequence[str], spaces: Sequence[int]) -> list[str]:
    """Return one query for each word, limited to some spaces."""
    where = " | ".join(_space(space) for space in spaces)
    return [f"'{word}'{':*' if is_fragment(word) else ''} & ({where})" for word in words]


def _space(space: int) -> str:
    return f"'#{space}'"
