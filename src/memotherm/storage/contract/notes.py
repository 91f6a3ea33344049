"""The index of Markdown notes: roots, files and chunks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from memotherm.model import Scope
from memotherm.storage.values import Cause, ChunkLocation, ChunkRow, NoteRow, Record, RootRow

__all__ = ["NoteStore", "NoteTransaction"]


class NoteStore(Protocol):
    """Reads of the note index."""

    def collection(self, scope: Scope, collection: str) -> int | None:
        """Return the number of a collection of a scope, if it exists."""

    def roots(self, spaces: Sequence[int]) -> list[RootRow]:
        """Return the folders whose notes are in some spaces."""

    def notes(self, space: int) -> list[NoteRow]:
        """Return the files of a space."""

    def links(self, space: int) -> list[tuple[str, ChunkRow]]:
        """Return the list items of a space's files that are memories of their own, each with its path."""

    def misplaced_notes(self, space: int) -> list[str]:
        """Return the paths of a space's files with a chunk whose memory is in another space."""

    def chunk_locations(self, nos: Sequence[int]) -> dict[int, ChunkLocation]:
        """Return the files and lines of memories."""


class NoteTransaction(Protocol):
    """Changes of the note index."""

    def move_to_collection(self, record: Record, space: int, cause: Cause) -> Record:
        """Move a memory to another collection of its scope."""

    def put_root(self, root: RootRow) -> None:
        """Store a folder of notes."""

    def drop_root(self, space: int) -> None:
        """Delete a folder that has no notes."""

    def note(self, space: int, path: str) -> NoteRow | None:
        """Return the row of a file."""

    def put_note(self, note: NoteRow) -> int:
        """Store the row of a file and return its number; a known number may get another path."""

    def drop_note(self, note: int) -> None:
        """Delete the row of a file and of its chunks; the caller deletes their memories."""

    def chunks(self, note: int) -> list[ChunkRow]:
        """Return the chunks of a file in order, including memories that are not active."""

    def set_chunks(self, note: int, chunks: Sequence[ChunkRow]) -> None:
        """Replace the chunks of a file."""

    def chunk_locations(self, nos: Sequence[int]) -> dict[int, ChunkLocation]:
        """Return the files and lines of memories."""

    def is_linked_elsewhere(self, no: int, note: int) -> bool:
        """Return whether a memory is a list item of another file."""
