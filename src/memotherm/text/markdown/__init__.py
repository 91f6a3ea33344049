"""Markdown as lines: their structure, chunks, and list items that are linked to memories. Pure functions."""

from __future__ import annotations

from memotherm.text.markdown.chunks import Chunk, ChunkSize, chunks
from memotherm.text.markdown.items import (
    ListItem,
    format_item,
    item_at,
    item_marker,
    items,
    linked_items,
    with_link,
    without_link,
)
from memotherm.text.markdown.lines import decode, split_lines

__all__ = [
    "Chunk",
    "ChunkSize",
    "ListItem",
    "chunks",
    "decode",
    "format_item",
    "item_at",
    "item_marker",
    "items",
    "linked_items",
    "split_lines",
    "with_link",
    "without_link",
]
