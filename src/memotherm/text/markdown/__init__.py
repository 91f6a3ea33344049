"""Markdown as lines: what they are, where they may be cut, which bullets are memories. Pure functions of text."""

from __future__ import annotations

from memotherm.text.markdown.bullets import ListItem, bullet_of, item_at, items, linked, links, mark_of, unlinked
from memotherm.text.markdown.chunks import Chunk, Cut, chunks
from memotherm.text.markdown.lines import decoded, lines_of

__all__ = [
    "Chunk",
    "Cut",
    "ListItem",
    "bullet_of",
    "chunks",
    "decoded",
    "item_at",
    "items",
    "lines_of",
    "linked",
    "links",
    "mark_of",
    "unlinked",
]
