"""Markdown files as memory: indexed, searched, cited and appended to.

`mem.notes(folder)` returns a `notes.Notes`. The files are the source; their chunks are memories (kind `note`,
source `file:<path>`) in a collection of the caller's scope, so that `recall` finds them too. The index is
updated from the files and never the other way round.
"""
