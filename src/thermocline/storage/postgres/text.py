"""Our words as PostgreSQL's lexemes, and questions as its queries.

The words stay as they are: no dictionary, no stemming of the database's own. One lexeme more names the space
of a memory, so that a search stays inside its scope within the index.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from thermocline.text.words import is_fragment

__all__ = ["asked", "lexemes", "scoped"]

#: A query of more words than this says nothing more, and costs.
_MOST_WORDS = 64
#: How often a word is counted at most; the database keeps no more positions.
_MOST_TIMES = 255
#: A little less than the bytes that one row of lexemes may take.
_ROOM = 1_000_000
#: What a lexeme takes beside its letters: its place in the list, the number of its positions, padding.
_FRAME = 8


def lexemes(words: Sequence[str], space: int) -> Iterator[str]:
    """Yield a memory's words as lexemes, as many as fit one row at a time; a position for each occurrence."""
    row, room = [_space(space)], _ROOM
    for word, count in Counter(words).items():
        times = min(count, _MOST_TIMES)
        needed = len(word.encode()) + 2 * times + _FRAME
        if needed > room:
            yield " ".join(row)
            row, room = [_space(space)], _ROOM
        room -= needed
        row.append(f"'{word}':{','.join(map(str, range(1, times + 1)))}" if times > 1 else f"'{word}'")
    yield " ".join(row)


def asked(words: Sequence[str]) -> list[str]:
    """Return one query for each word."""
    return [f"'{word}':*" if is_fragment(word) else f"'{word}'" for word in words[:_MOST_WORDS]]


def scoped(queries: Sequence[str], spaces: Sequence[int]) -> list[str]:
    """Return each query, limited to some spaces."""
    where = " | ".join(_space(space) for space in spaces)
    return [f"{query} & ({where})" for query in queries]


def _space(space: int) -> str:
    return f"'#{space}'"
