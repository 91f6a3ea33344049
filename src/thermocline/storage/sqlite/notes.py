"""Statements about Markdown files on one SQLite connection; what they mean is decided elsewhere."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

from thermocline.model import Scope, Tier
from thermocline.storage.rows import COLUMNS, record_of, scope_of, scope_row
from thermocline.storage.sqlite.statements import SQL
from thermocline.storage.store import ChunkPlace, ChunkRow, NoteRow, RootRow

__all__ = [
    "chunk_places",
    "chunks_of",
    "claim_flush",
    "drop_note",
    "is_linked_elsewhere",
    "links_of",
    "note_of",
    "notes_of",
    "put_note",
    "put_root",
    "roots_of",
    "set_chunks",
    "shelf_of",
]

_TIERS = tuple(Tier)


def shelf_of(connection: sqlite3.Connection, scope: Scope, shelf: str) -> int | None:
    """Return the number of a shelf, if it exists."""
    row = connection.execute(SQL["space_find"], {**scope_row(scope), "shelf": shelf}).fetchone()
    return None if row is None else int(row[0])


def roots_of(connection: sqlite3.Connection, spaces: Sequence[int]) -> list[RootRow]:
    """Return the folders whose chunks are in some spaces."""
    rows = connection.execute(SQL["roots_of"], {"spaces": json.dumps(spaces)}).fetchall()
    return [RootRow(row[0], row[1], tuple(json.loads(row[2])), scope_of(row[4:]), row[3]) for row in rows]


def put_root(connection: sqlite3.Connection, root: RootRow) -> None:
    """Remember a folder."""
    connection.execute(
        SQL["root_put"], {"space": root.space, "path": root.path, "extra": json.dumps(root.extra, ensure_ascii=False)}
    )


def notes_of(connection: sqlite3.Connection, space: int) -> list[NoteRow]:
    """Return all files of a space."""
    return [_note(row) for row in connection.execute(SQL["notes_of"], {"space": space})]


def note_of(connection: sqlite3.Connection, space: int, path: str) -> NoteRow | None:
    """Return one file of a space."""
    row = connection.execute(SQL["note_get"], {"space": space, "path": path}).fetchone()
    return None if row is None else _note(row)


def put_note(connection: sqlite3.Connection, note: NoteRow) -> int:
    """Store what is known of a file and return its number; a known number may get another path."""
    values = {
        "note": note.note or None, "space": note.space, "path": note.path, "hash": note.hash, "stamp": note.stamp,
        "size": note.size, "messages": note.messages, "settled": int(note.settled), "cut": note.cut,
        "tier": note.tier.rank,
    }  # fmt: skip
    return int(connection.execute(SQL["note_put"], values).fetchone()[0])


def drop_note(connection: sqlite3.Connection, note: int) -> None:
    """Forget a file and where its chunks were."""
    connection.execute(SQL["chunks_drop"], {"note": note})
    connection.execute(SQL["note_drop"], {"note": note})


def chunks_of(connection: sqlite3.Connection, note: int, scope_named: Callable[[int], Scope]) -> list[ChunkRow]:
    """Return the chunks of a file in their order."""
    rows = connection.execute(SQL["chunks_of"], {"note": note}).fetchall()
    width = len(COLUMNS)
    return [_chunk(row, width, scope_named) for row in rows]


def links_of(
    connection: sqlite3.Connection, space: int, scope_named: Callable[[int], Scope]
) -> list[tuple[str, ChunkRow]]:
    """Return the linked list items of a space, each with the path of its file."""
    rows = connection.execute(SQL["links_of"], {"space": space}).fetchall()
    return [(row[-1], _chunk(row, len(COLUMNS), scope_named)) for row in rows]


def is_linked_elsewhere(connection: sqlite3.Connection, no: int, note: int) -> bool:
    """Tell whether a memory is a list item of another file."""
    return bool(connection.execute(SQL["link_elsewhere"], {"no": no, "note": note}).fetchone()[0])


def set_chunks(connection: sqlite3.Connection, note: int, chunks: Sequence[ChunkRow]) -> None:
    """Say anew which chunks a file has."""
    connection.execute(SQL["chunks_drop"], {"note": note})
    rows = [
        {"note": note, "place": place, "no": each.record.no, "first": each.first, "last": each.last,
         "heading": each.heading, "digest": each.digest, "linked": int(each.linked)}
        for place, each in enumerate(chunks)
    ]  # fmt: skip
    connection.executemany(SQL["chunk_add"], rows)


def chunk_places(connection: sqlite3.Connection, nos: Sequence[int]) -> dict[int, ChunkPlace]:
    """Return where memories stand in files."""
    rows = connection.execute(SQL["chunk_places"], {"nos": json.dumps(nos)}).fetchall()
    return {row[0]: ChunkPlace(row[1], row[2], row[3], row[4], bool(row[5])) for row in rows}


def claim_flush(connection: sqlite3.Connection, space: int, cycle: int | None, *, due: bool) -> bool:
    """Tell whether a flush is due that nobody was told of in this cycle, and remember that it was told.

    A number names the cycle; without one, a cycle ends when a flush is no longer due.
    """
    row = connection.execute(SQL["flush_get"], {"space": space}).fetchone()
    told, armed = row if row is not None else (-1, 1)
    if cycle is None:
        claimed = due and bool(armed)
        after = (told, 0 if due else 1)
    else:
        claimed = due and told != cycle
        after = (cycle if claimed else told, armed)
    if after != (told, armed):
        connection.execute(SQL["flush_put"], {"space": space, "cycle": after[0], "armed": after[1]})
    return claimed


def _chunk(row: Sequence[Any], width: int, scope_named: Callable[[int], Scope]) -> ChunkRow:
    first, last, heading, digest, linked = row[width : width + 5]
    return ChunkRow(record_of(row[:width], scope_named(row[2])), first, last, heading, digest, bool(linked))


def _note(row: Sequence[Any]) -> NoteRow:
    note, space, path, hash_, stamp, size, messages, settled, cut, tier = row
    return NoteRow(note, space, path, hash_, stamp, size, messages, bool(settled), cut, _TIERS[tier])
