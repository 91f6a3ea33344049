"""Markdown files as memory: indexed, searched, cited and appended to.

`mem.notes(folder)` returns a `Notes`. The files are the source; their chunks are memories (kind `note`,
source `file:<path>`) in a collection of the caller's scope, so that `recall` finds them too. The index is
updated from the files and never the other way round.
"""

from __future__ import annotations

from memotherm.notes.flush import Flush, is_silent
from memotherm.notes.importing import KINDS, Imported
from memotherm.notes.notes import Notes
from memotherm.notes.values import Appended, Conflict, Curated, NoteHit, NoteResults, NoteText, Skipped, Sync
from memotherm.notes.watcher import Watcher

__all__ = [
    "KINDS",
    "Appended",
    "Conflict",
    "Curated",
    "Flush",
    "Imported",
    "NoteHit",
    "NoteResults",
    "NoteText",
    "Notes",
    "Skipped",
    "Sync",
    "Watcher",
    "is_silent",
]
