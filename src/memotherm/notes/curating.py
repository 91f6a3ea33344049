"""Copy lines of notes to the curated note."""

from __future__ import annotations

from collections.abc import Sequence

from memotherm.text.markdown import without_link

__all__ = ["new_lines"]


def new_lines(lines: Sequence[str], curated: Sequence[str]) -> list[str]:
    """Return the lines that the curated note does not have yet, without links to memories.

    Blank lines stay between the lines that remain.
    """
    known = {_normalized(line) for line in curated}
    remaining: list[str] = []
    for line in lines:
        plain = without_link(line).rstrip()
        if plain and _normalized(plain) in known:
            continue
        if plain or (remaining and remaining[-1]):
            remaining.append(plain)
        known.add(_normalized(plain))
    while remaining and not remaining[-1]:
        remaining.pop()
    return remaining


def _normalized(line: str) -> str:
    """Return the words of a line without its list marker and its link."""
    return " ".join(without_link(line).strip().lstrip("-*+").split()).casefold()
