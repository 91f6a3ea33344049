"""Numbers with nouns."""

from __future__ import annotations

__all__ = ["pluralize"]

_PLURALS = {"memory": "memories"}


def pluralize(count: int, noun: str) -> str:
    """Return "1 memory", "2 memories", "0 files"."""
    return f"{count:,} {noun if count == 1 else _PLURALS.get(noun, f'{noun}s')}"
