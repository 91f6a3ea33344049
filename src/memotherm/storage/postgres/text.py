"""Our words as PostgreSQL's lexemes, and questions as its queries.

The words stay as they are: no dictionary, no stemming of the database's own. One lexeme more names the space
of a memory, so that a search stays inside its scope within the index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memotherm.text.words import is_fragment

__all__ = ["lexemes", "queries"]

#: A little less than the bytes that one row of lexemes may take.
_ROOM = 1_000_000
#: What a lexeme takes beside its letters.
_FRAME = 8


def lexemes(words: Sequence[str], space: int) -> Iterator[str]:
    """Yield a memory's words as lexemes, as many as fit one row at a time."""
    row, room = [_space(space)], _ROOM
    for word in dict.fromkeys(words):
        needed = len(word.encode()) + _FRAME
        if needed > room:
            yield " ".join(row)
            row, room = [_space(space)], _ROOM
        room -= needed
        row.append(f"'{word}'")
    yield " ".join(row)


def queries(words: Sequence[str], spaces: Sequence[int]) -> list[str]:
    """Return one query for each word, limited to some spaces."""
    where = " | ".join(_space(space) for space in spaces)
    return [f"'{word}'{':*' if is_fragment(word) else ''} & ({where})" for word in words]


def _space(space: int) -> str:
    return f"'#{space}'"
