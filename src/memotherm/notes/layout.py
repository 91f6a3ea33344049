"""Which paths are notes: confined to a root, never through a symbolic link, never hidden.

    root/MEMORY.md                  curated
    root/memory/YYYY-MM-DD.md       daily
    root/memory/**/*.md             anything else worth keeping
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
    """The notes of one root, as far as names can tell."""

    def __init__(self, root: str | os.PathLike[str], extra: Iterable[str] = ()) -> None:
        given = Path(root).expanduser()
        if not given.is_dir():
            raise InvalidInput(f"{given} is not a folder: create it first, or name the one that has MEMORY.md")
        self.root = given.resolve()
        self.prefix = os.path.join(self.root, "")  # noqa: PTH118 - the root with a final separator
        self.whole = self.root.name.casefold() in _FOLDERS
        self.extra = tuple(dict.fromkeys(self._extra(each) for each in extra))

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders, relative to the root, in which every Markdown file is a note."""
        if self.whole or "." in self.extra:
            return (".",)
        return tuple(dict.fromkeys((FOLDER, *(each for each in self.extra if not each.casefold().endswith(_SUFFIX)))))

    @property
    def files(self) -> tuple[str, ...]:
        """The single files that are notes."""
        return tuple(dict.fromkeys((CURATED, *(each for each in self.extra if each.casefold().endswith(_SUFFIX)))))

    def accepts(self, path: str) -> bool:
        """Tell whether a path, relative to the root, may be a note."""
        pure = PurePosixPath(path)
        if not path.casefold().endswith(_SUFFIX) or any(part.startswith(".") for part in pure.parts):
            return False
        parents = {str(parent) for parent in pure.parents}
        return path in self.files or any(folder in parents for folder in self.folders)

    def located(self, path: str | os.PathLike[str]) -> str:
        """Return a caller's path relative to the root, or say why it cannot be a note."""
        text = os.fspath(path)
        if not isinstance(text, str) or not text.strip() or "\x00" in text or not text.isprintable():
            raise InvalidInput(f"{text!r} is no path of a note: write for example memory/2026-01-26.md")
        if is_transcript(text) and ".." not in text.split("/"):
            return text
        whole = Path(os.path.normpath(self.root / text.replace("\\", "/")))
        if not whole.is_relative_to(self.root):
            raise InvalidInput(f"{text} lies outside {self.root}: only notes inside it can be read or written")
        relative = whole.relative_to(self.root).as_posix()
        if not self.accepts(relative):
            raise InvalidInput(f"{text} is not a note: notes are {CURATED}, {FOLDER}/**/*.md and the extra paths")
        self.require_plain(relative)
        return relative

    def require_plain(self, relative: str) -> None:
        """Refuse a path that leads through a symbolic link."""
        whole = self.root / relative
        if whole.resolve() != whole:
            raise InvalidInput(f"{relative} leads through a symbolic link: notes are plain files inside {self.root}")

    def day(self, day: date) -> str:
        """Return the path of a day's note."""
        return f"{day.isoformat()}.md" if self.whole else f"{FOLDER}/{day.isoformat()}.md"

    def _extra(self, path: str) -> str:
        whole = Path(os.path.normpath(self.root / path))
        if not whole.is_relative_to(self.root):
            raise InvalidInput(
                f"the extra path {path} lies outside {self.root}: open that folder as notes of its own instead"
            )
        return whole.relative_to(self.root).as_posix()

    @staticmethod
    def split_citation(path: str) -> tuple[str, int | None, int | None]:
        """Return (path, first line, lines) of `path#L10-L15`; a plain path has no lines."""
        found = _FRAGMENT.search(path)
        if found is None:
            return path, None, None
        first = int(found[1])
        return path[: found.start()], first, max(1, int(found[2] or first) - first + 1)


def transcript_name(base: Path, file: Path) -> str:
    """Return under which path a transcript appears among the notes."""
    relative = file.name if base == file else file.relative_to(base).as_posix()
    return f"{TRANSCRIPTS}{relative}"
