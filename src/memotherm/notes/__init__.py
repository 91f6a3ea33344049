"""Markdown files as memory: indexed, searched, cited and appended to.

`mem.notes(folder)` returns a `Notes`. The files are the source; their chunks are memories (kind `note`,
source `file:<path>`) in a collection of the caller's scope, so that `recall` finds them too. The index is
updated from the files and never the other way round. Names are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memotherm.notes.flush import Flush, is_silent
    from memotherm.notes.imports import KINDS, Imported
    from memotherm.notes.notes import Notes
    from memotherm.notes.values import Appended, Conflict, Curated, NoteHit, NoteResults, NoteText, Skipped, Sync
    from memotherm.notes.watcher import Watcher

_HOMES = {
    "flush": ("Flush", "is_silent"),
    "imports": ("KINDS", "Imported"),
    "notes": ("Notes",),
    "values": ("Appended", "Conflict", "Curated", "NoteHit", "NoteResults", "NoteText", "Skipped", "Sync"),
    "watcher": ("Watcher",),
}

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

# Type checkers would take any name for one that this function returns.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Load a public name from its module when it is first asked for."""
        home = next((module for module, names in _HOMES.items() if name in names), None)
        if home is None:
            raise AttributeError(f"module 'memotherm.notes' has no attribute {name!r}")
        value = getattr(import_module(f"memotherm.notes.{home}"), name)
        globals()[name] = value
        return value
