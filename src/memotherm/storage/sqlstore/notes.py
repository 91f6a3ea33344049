"""Markdown files and their chunks."""

from __future__ import annotations

from collections.abc import Sequence

from memotherm.model import Scope
from memotherm.storage import notes
from memotherm.storage.sqlstore.base import SqlBase
from memotherm.storage.values import ChunkLocation, ChunkRow, NoteRow, RootRow

__all__ = ["SqlNotes"]


class SqlNotes(SqlBase):
    """The part of `NoteStore` that is the same in SQL everywhere."""

    def collection(self, scope: Scope, collection: str) -> int | None:
        """Return the number of a collection of a scope, if it exists."""
        with self._reading(once=True) as statements:
            return notes.collection_number(statements, scope, collection)

    def roots(self, spaces: Sequence[int]) -> list[RootRow]:
        """Return the folders whose notes are in some spaces."""
        with self._reading(once=True) as statements:
            return notes.roots_of(statements, spaces)

    def notes(self, space: int) -> list[NoteRow]:
        """Return the files of a space."""
        with self._reading(once=True) as statements:
            return notes.notes_of(statements, space)

    def links(self, space: int) -> list[tuple[str, ChunkRow]]:
        """Return the list items of a space's files that are memories of their own, each with its path."""
        with self._reading() as statements:
            return notes.links_of(statements, space, lambda number: self._scope(statements, number, self._scopes))

    def misplaced_notes(self, space: int) -> list[str]:
        """Return the paths of a space's files with a chunk whose memory is in another space."""
        with self._reading(once=True) as statements:
            return notes.misplaced_notes(statements, space)

    def chunk_locations(self, nos: Sequence[int]) -> dict[int, ChunkLocation]:
        """Return the files and lines of memories."""
        with self._reading(once=True) as statements:
            return notes.chunk_locations(statements, nos)
