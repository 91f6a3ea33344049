"""The index of notes as plain values, for assertions."""

from __future__ import annotations

from typing import Any

from memotherm import Memotherm
from memotherm.notes.notes import Notes


def index(mem: Memotherm, notes: Notes) -> list[tuple[Any, ...]]:
    """Return everything the index holds of a folder, without ids and times."""
    rows = []
    cursor = None
    while True:
        page = mem.find(limit=1000, cursor=cursor)
        for memory in page:
            place = memory.metadata
            if "path" in place:
                rows.append(
                    (place["path"], place["start"], place["end"], place["heading"], memory.content,
                     str(memory.tier), memory.tier_rule, memory.source)
                )  # fmt: skip
        cursor = page.cursor
        if cursor is None:
            return sorted(rows)


def cited(results: Any) -> list[str]:
    """Return the citations of results."""
    return [hit.citation for hit in results]
