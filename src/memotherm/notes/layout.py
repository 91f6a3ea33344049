"""Which paths are notes: inside a root, not through a symbolic link, not hidden.

    root/MEMORY.md                  curated
    root/memory/YYYY-MM-DD.md       daily
    root/memory/**/*.md             other notes
    root/<extra path>               a file, or every *.md in a folder

A root that is itself called memory, memories or notes is a memory folder: every *.md in it is a note.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from datetime import date
from pathlib import Path, PurePosixPath

from memotherm.errors import InvalidInput
from memotherm.notes.placement import CURATED, TRANSCRIPTS, is_transcript

__all__ = ["FOLDER", "Layout", "transcript_name"]

#: The folder of daily and other notes.
FOLDER = "memory"
_FOLDERS = {FOLDER, "memories", "notes"}
_SUFFIX = ".md"
_FRAGMENT = re.compile(r"#L(\d+)(?:-L?(\d+))?$")


class Layout:
    """The paths of the notes of one root."""

    def __init__(self, root: str | os.PathLike[str], extra: Iterable[str] = ()) -> None:
        folder = Path(root).expanduser()
        if not folder.is_dir():
            raise InvalidInput(f"{folder} is not a folder: create it first, or name the one that has MEMORY.md")
        self.root = folder.resolve()
        self.prefix = os.path.join(self.root, "")  # noqa: PTH118 - the root with a final separator
        self.whole = self.root.name.casefold() in _FOLDERS
        self.extra = tuple(dict.fromkeys(self._extra(path) for path in extra))

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders, relative to the root, in which every Markdown file is a note."""
        if self.whole or "." in self.extra:
            return (".",)
        return tuple(dict.fromkeys((FOLDER, *(path for path in self.extra if not path.casefold().endswith(_SUFFIX)))))

    @property
    def files(self) -> tuple[str, ...]:
        """The single files that are notes."""
        return tuple(dict.fromkeys((CURATED, *(path for path in self.extra if path.casefold().endswith(_SUFFIX)))))

    def accepts(self, path: str) -> bool:
        """Return whether a path, relative to the root, can be a note."""
        pure = PurePosixPath(path)
        if not path.casefold().endswith(_SUFFIX) or any(part.startswith(".") for part in pure.parts):
            return False
        parents = {str(parent) for parent in pure.parents}
        return path in self.files or any(folder in parents for folder in self.folders)

    def resolve(self, path: str | os.PathLike[str]) -> str:
        """Return a caller's path relative to the root; raise InvalidInput if it cannot be a note."""
        text = os.fspath(path)
        if not isinstance(text, str) or not text.strip() or "\x00" in text or not text.isprintable():
            raise InvalidInput(f"{text!r} is not a path of a note: write for example memory/2026-01-26.md")
        if is_transcript(text) and ".." not in text.split("/"):
            return text
        absolute = Path(os.path.normpath(self.root / text.replace("\\", "/")))
        if not absolute.is_relative_to(self.root):
            raise InvalidInput(f"{text} lies outside {self.root}: only notes inside it can be read or written")
        relative = absolute.relative_to(self.root).as_posix()
        if not self.accepts(relative):
            raise InvalidInput(f"{text} is not a note: notes are {CURATED}, {FOLDER}/**/*.md and the extra paths")
        self.require_plain(relative)
        return relative

    def require_plain(self, relative: str) -> None:
        """Refuse a path that leads through a symbolic link."""
        absolute = self.root / relative
        if absolute.resolve() != absolute:
            raise InvalidInput(f"{relative} leads through a symbolic link: notes are plain files inside {self.root}")

    def day(self, day: date) -> str:
        """Return the path of a day's note."""
        return f"{day.isoformat()}.md" if self.whole else f"{FOLDER}/{day.isoformat()}.md"

    def _extra(self, path: str) -> str:
        absolute = Path(os.path.normpath(self.root / path))
        if not absolute.is_relative_to(self.root):
            raise InvalidInput(
                f"the extra path {path} lies outside {self.root}: open that folder as notes of its own instead"
            )
        return absolute.relative_to(self.root).as_posix()

    @staticmethod
    def split_citation(path: str) -> tuple[str, int | None, int | None]:
        """Return (path, first line, lines) of `path#L10-L15`; a plain path has no lines."""
        match = _FRAGMENT.search(path)
        if match is None:
            return path, None, None
        first = int(match[1])
        return path[: match.start()], first, max(1, int(match[2] or first) - first + 1)


def transcript_name(base: Path, file: Path) -> str:
    """Return the path of a transcript among the notes."""
    relative = file.name if base == file else file.relative_to(base).as_posix()
    return f"{TRANSCRIPTS}{relative}"
