"""Reads and writes of the note index."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from memotherm.model import Scope, Tier
from memotherm.storage.rows import COLUMNS, record_of, scope_of, scope_row
from memotherm.storage.statements import Statements
from memotherm.storage.values import ChunkLocation, ChunkRow, NoteRow, RootRow

__all__ = [
    "chunk_locations",
    "chunks_of",
    "claim_flush",
    "collection_number",
    "drop_note",
    "is_linked_elsewhere",
    "links_of",
    "misplaced_notes",
    "note_of",
    "notes_of",
    "put_note",
    "put_root",
    "roots_of",
    "set_chunks",
]

_TIERS = tuple(Tier)


def collection_number(statements: Statements, scope: Scope, collection: str) -> int | None:
    """Return the number of a collection, if it exists."""
    row = statements.row("space_find", **scope_row(scope), collection=collection)
    return None if row is None else int(row[0])


def roots_of(statements: Statements, spaces: Sequence[int]) -> list[RootRow]:
    """Return the folders whose chunks are in some spaces."""
    rows = statements.rows("roots_of", spaces=list(spaces))
    return [RootRow(row[0], row[1], tuple(json.loads(row[2])), scope_of(row[4:]), row[3]) for row in rows]


def put_root(statements: Statements, root: RootRow) -> None:
    """Store a folder."""
    extra = json.dumps(root.extra, ensure_ascii=False)
    statements.run("root_put", space=root.space, path=root.path, extra=extra)


def notes_of(statements: Statements, space: int) -> list[NoteRow]:
    """Return all files of a space."""
    return [_note(row) for row in statements.rows("notes_of", space=space)]


def note_of(statements: Statements, space: int, path: str) -> NoteRow | None:
    """Return one file of a space."""
    row = statements.row("note_get", space=space, path=path)
    return None if row is None else _note(row)


def put_note(statements: Statements, note: NoteRow) -> int:
    """Store the row of a file and return its number; a known number may get another path."""
    values = {
        "note": note.note, "space": note.space, "path": note.path, "hash": note.hash, "stamp": note.stamp,
        "size": note.size, "messages": note.messages, "settled": int(note.settled), "cut": note.cut,
        "tier": note.tier.rank,
    }  # fmt: skip
    known = statements.value("note_set", **values) if note.note else None
    return int(known if known is not None else statements.value("note_add", **values))


def drop_note(statements: Statements, note: int) -> None:
    """Delete the row of a file and of its chunks."""
    statements.run("chunks_drop", note=note)
    statements.run("note_drop", note=note)


def chunks_of(statements: Statements, note: int, scope_named: Callable[[int], Scope]) -> list[ChunkRow]:
    """Return the chunks of a file in their order."""
    rows = statements.rows("chunks_of", note=note)
    width = len(COLUMNS)
    return [_chunk(row, width, scope_named) for row in rows]


def links_of(statements: Statements, space: int, scope_named: Callable[[int], Scope]) -> list[tuple[str, ChunkRow]]:
    """Return the linked list items of a space, each with the path of its file."""
    rows = statements.rows("links_of", space=space)
    return [(row[-1], _chunk(row, len(COLUMNS), scope_named)) for row in rows]


def misplaced_notes(statements: Statements, space: int) -> list[str]:
    """Return the paths of files with a chunk whose memory is in another space."""
    return [row[0] for row in statements.rows("notes_misplaced", space=space)]


def is_linked_elsewhere(statements: Statements, no: int, note: int) -> bool:
    """Return whether a memory is a list item of another file."""
    return bool(statements.value("link_elsewhere", no=no, note=note))


def set_chunks(statements: Statements, note: int, chunks: Sequence[ChunkRow]) -> None:
    """Replace the chunks of a file."""
    statements.run("chunks_drop", note=note)
    rows = [
        {"note": note, "position": position, "no": chunk.record.no, "first": chunk.first, "last": chunk.last,
         "heading": chunk.heading, "digest": chunk.digest, "linked": int(chunk.linked)}
        for position, chunk in enumerate(chunks)
    ]  # fmt: skip
    statements.run_many("chunk_add", rows)


def chunk_locations(statements: Statements, nos: Sequence[int]) -> dict[int, ChunkLocation]:
    """Return the files and lines of memories."""
    rows = statements.rows("chunk_locations", nos=list(nos))
    return {row[0]: ChunkLocation(row[1], row[2], row[3], row[4], bool(row[5])) for row in rows}


def claim_flush(statements: Statements, space: int, cycle: int | None, *, due: bool) -> bool:
    """Return whether to prompt for a flush in this cycle, and record that it was done.

    A number names the cycle; without one, a cycle ends when a flush is no longer due.
    """
    row = statements.row("flush_get", space=space)
    prompted, armed = row if row is not None else (-1, 1)
    if cycle is None:
        claimed = due and bool(armed)
        after = (prompted, 0 if due else 1)
    else:
        claimed = due and prompted != cycle
        after = (cycle if claimed else prompted, armed)
    if after != (prompted, armed):
        statements.run("flush_put", space=space, cycle=after[0], armed=after[1])
    return claimed


def _chunk(row: Sequence[Any], width: int, scope_named: Callable[[int], Scope]) -> ChunkRow:
    first, last, heading, digest, linked = row[width : width + 5]
    return ChunkRow(record_of(row[:width], scope_named(row[2])), first, last, heading, digest, bool(linked))


def _note(row: Sequence[Any]) -> NoteRow:
    note, space, path, hash_, stamp, size, messages, settled, cut, tier = row
    return NoteRow(note, space, path, hash_, stamp, size, messages, bool(settled), cut, _TIERS[tier])
