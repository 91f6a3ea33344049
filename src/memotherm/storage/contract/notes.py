"""The index of Markdown notes: roots, files and chunks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from memotherm.model import Scope
from memotherm.storage.values import Cause, ChunkPlace, ChunkRow, NoteRow, Record, RootRow

__all__ = ["NoteStore", "NoteTransaction"]


class NoteStore(Protocol):
    """Reads of the note index."""

    def shelf(self, scope: Scope, shelf: str) -> int | None:
        """Return the number of a shelf of a scope, if it exists."""

    def roots(self, spaces: Sequence[int]) -> list[RootRow]:
        """Return the folders whose notes are in some spaces."""

    def notes(self, space: int) -> list[NoteRow]:
        """Return the files of a space."""

    def links(self, space: int) -> list[tuple[str, ChunkRow]]:
        """Return the list items of a space's files that are memories of their own, each with its path."""

    def chunk_places(self, nos: Sequence[int]) -> dict[int, ChunkPlace]:
        """Return where memories stand in files."""


class NoteTransaction(Protocol):
    """Changes of the note index."""

    def shelve(self, record: Record, space: int, cause: Cause) -> Record:
        """Put a memory on another shelf of its scope."""

    def put_root(self, root: RootRow) -> None:
        """Remember a folder of notes."""

    def drop_root(self, space: int) -> None:
        """Forget a folder that has no notes any more."""

    def note(self, space: int, path: str) -> NoteRow | None:
        """Return what is known of a file."""

    def put_note(self, note: NoteRow) -> int:
        """Store what is known of a file and return its number; a known number may get another path."""

    def drop_note(self, note: int) -> None:
        """Forget a file and where its chunks were; their memories are the caller's care."""

    def chunks(self, note: int) -> list[ChunkRow]:
        """Return the chunks of a file in their order, hidden memories included."""

    def set_chunks(self, note: int, chunks: Sequence[ChunkRow]) -> None:
        """Say anew which chunks a file has."""

    def is_linked_elsewhere(self, no: int, note: int) -> bool:
        """Tell whether a memory is a list item of another file."""
