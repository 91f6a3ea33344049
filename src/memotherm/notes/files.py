"""The file system, asked carefully: finding notes, reading them whole, knowing when a time stamp can be trusted.

Symbolic links are not followed, other things than plain files are not opened, and a file that
changes while it is read is read again.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from memotherm.errors import NoteUnavailable
from memotherm.notes.layout import Layout
from memotherm.notes.values import Skipped

__all__ = ["Content", "NoteFiles", "Seen", "discover", "read", "seen"]

#: A file written less than this long before it was read may change again under the same time stamp.
_SETTLING_NS = 2_000_000_000
_ATTEMPTS = 8
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class Seen(NamedTuple):
    """A file as the file system lists it: its path among the notes, and where it really is."""

    path: str
    file: str
    stamp: str
    size: int


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes of a file, all from one moment."""

    data: bytes
    hash: str
    stamp: str
    #: Whether the same stamp will mean the same bytes.
    settled: bool


@dataclass(frozen=True, slots=True)
class NoteFiles:
    """What a look at the folders came to."""

    files: dict[str, Seen]
    skipped: list[Skipped]
    #: Folders that exist and cannot be looked into, each with a final slash; '' is the root.
    closed: list[str] = field(default_factory=list)


def discover(layout: Layout, largest: int) -> NoteFiles:
    """List the notes of a root, in order of their paths."""
    if not layout.root.is_dir():
        raise NoteUnavailable(f"the folder {layout.root} is gone: what is indexed of it was left as it is")
    found = NoteFiles({}, [])
    for name in layout.files:
        if layout.accepts(name):
            _list_file(layout, name, largest, found)
    for folder in layout.folders:
        start = layout.root if folder == "." else layout.root / folder
        if _is_plain_folder(folder, start, found):
            _walk(layout, start, largest, found)
    ordered = dict(sorted(found.files.items()))
    return NoteFiles(ordered, sorted(found.skipped, key=lambda each: each.path), found.closed)


def _is_plain_folder(name: str, folder: Path, found: NoteFiles) -> bool:
    if not folder.is_dir():
        return False
    if folder.resolve() != folder:
        found.skipped.append(Skipped(path=name, why="leads through a symbolic link"))
        return False
    return True


def _walk(layout: Layout, folder: Path, largest: int, found: NoteFiles) -> None:
    pending = [str(folder)]
    while pending:
        here = pending.pop()
        for entry in _entries(layout, here, found):
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
            elif entry.name.casefold().endswith(".md"):
                _add(_relative(layout, entry.path), entry, largest, found)
            elif entry.is_symlink() and entry.is_dir():
                found.skipped.append(Skipped(path=_relative(layout, entry.path), why="a symbolic link"))


def _relative(layout: Layout, path: str) -> str:
    """Return a path below the root relative to it; text is much cheaper here than a Path."""
    return path[len(layout.prefix) :].replace(os.sep, "/")


def _entries(layout: Layout, folder: str, found: NoteFiles) -> Iterator[os.DirEntry[str]]:
    """Yield what is in a folder; one that has vanished has nothing, one that cannot be read is closed."""
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as exc:
        path = Path(folder).relative_to(layout.root).as_posix()
        found.closed.append("" if path == "." else f"{path}/")
        found.skipped.append(Skipped(path=path, why=f"cannot be read: {exc.strerror or exc}"))


def _list_file(layout: Layout, name: str, largest: int, found: NoteFiles) -> None:
    folder = (layout.root / name).parent
    wanted = (layout.root / name).name
    listed = _entries(layout, str(folder), found)
    entry = next((each for each in listed if each.name.casefold() == wanted.casefold()), None)
    if entry is not None and folder.resolve() == folder:
        _add(_relative(layout, entry.path), entry, largest, found)


def _add(path: str, entry: os.DirEntry[str], largest: int, found: NoteFiles) -> None:
    try:
        told = entry.stat(follow_symlinks=False)
        path.encode()
    except OSError:
        return
    except UnicodeEncodeError:
        found.skipped.append(Skipped(path=path.encode("utf-8", "replace").decode(), why="its name is not UTF-8"))
        return
    if stat.S_ISLNK(told.st_mode):
        found.skipped.append(Skipped(path=path, why="a symbolic link"))
    elif not stat.S_ISREG(told.st_mode):
        found.skipped.append(Skipped(path=path, why="not a plain file"))
    elif told.st_size > largest:
        found.skipped.append(Skipped(path=path, why=f"larger than {largest:,} bytes (setting note_max_bytes)"))
    else:
        found.files[path] = Seen(path, entry.path, _stamp(told), told.st_size)


def seen(path: str, file: Path) -> Seen | None:
    """Return a single file as the file system lists it; None when it is not a plain file."""
    try:
        told = file.lstat()
    except OSError:
        return None
    return Seen(path, str(file), _stamp(told), told.st_size) if stat.S_ISREG(told.st_mode) else None


def read(file: str | Path) -> Content | None:
    """Return a file's bytes; None when it is gone.

    Raises OSError when it cannot be read.
    """
    for attempt in range(_ATTEMPTS):
        began = time.time_ns()
        try:
            handle = os.open(file, _READ)
        except FileNotFoundError:
            return None
        try:
            before = os.fstat(handle)
            if not stat.S_ISREG(before.st_mode):
                raise OSError(f"{file} is not a plain file")
            data = _all(handle, before.st_size)
            after = os.fstat(handle)
        finally:
            os.close(handle)
        if _stamp(before) == _stamp(after) and len(data) == after.st_size:
            break
        time.sleep(0.01 * attempt)
    settled = began - max(after.st_mtime_ns, after.st_ctime_ns) > _SETTLING_NS and len(data) == after.st_size
    return Content(data, hashlib.sha256(data).hexdigest(), _stamp(after), settled)


def _all(handle: int, size: int) -> bytes:
    pieces = []
    while piece := os.read(handle, max(65_536, size + 1)):
        pieces.append(piece)
    return b"".join(pieces)


def _stamp(told: os.stat_result) -> str:
    return f"{told.st_mtime_ns}:{told.st_ctime_ns}:{told.st_ino}:{told.st_size}"
