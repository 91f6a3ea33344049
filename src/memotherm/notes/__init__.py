"""Markdown memory: notes a person can read, indexed, searched, cited and appended to.

This package stands on the step of the facade: `mem.notes(folder)` returns a `Notes`. Files are the
truth. Their chunks are memories (kind `note`, source `file:<path>`) on a shelf of the caller's scope,
so that an ordinary recall finds them too; the index follows the files and never the other way round.
"""

from __future__ import annotations

from memotherm.notes.flush import Flush, is_silent
from memotherm.notes.importing import KINDS, Imported
from memotherm.notes.notes import Notes
from memotherm.notes.values import Appended, Conflict, NoteHit, NoteResults, NoteText, Skipped, Sync
from memotherm.notes.watcher import Watcher

__all__ = [
    "KINDS",
    "Appended",
    "Conflict",
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
