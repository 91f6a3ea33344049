"""Listing and reading the files of notes.

Symbolic links are not followed, only regular files are opened, and a file that changes while it is read
is read again.
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

__all__ = ["FileContent", "FileListing", "ListedFile", "list_file", "list_notes", "read_file"]

#: A file modified less than this long before it was read may change again with the same time stamp.
_SETTLING_NS = 2_000_000_000
_ATTEMPTS = 8
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class ListedFile(NamedTuple):
    """A file as the file system lists it: `path` among the notes, and the real path `file`."""

    path: str
    file: str
    stamp: str
    size: int


@dataclass(frozen=True, slots=True)
class FileContent:
    """The bytes of a file, read at one moment."""

    data: bytes
    hash: str
    stamp: str
    #: Whether an equal stamp will mean equal bytes.
    settled: bool


@dataclass(frozen=True, slots=True)
class FileListing:
    """The files of notes, by path, and what is not indexed."""

    files: dict[str, ListedFile]
    skipped: list[Skipped]
    #: Folders that exist and cannot be read, each with a final slash; '' is the root.
    unreadable: list[str] = field(default_factory=list)


def list_notes(layout: Layout, largest: int) -> FileListing:
    """List the notes of a root, in order of their paths."""
    if not layout.root.is_dir():
        raise NoteUnavailable(f"the folder {layout.root} is gone: what is indexed of it was left as it is")
    listing = FileListing({}, [])
    for name in layout.files:
        if layout.accepts(name):
            _list_file(layout, name, largest, listing)
    for folder in layout.folders:
        start = layout.root if folder == "." else layout.root / folder
        if _is_plain_folder(folder, start, listing):
            _walk(layout, start, largest, listing)
    return FileListing(
        dict(sorted(listing.files.items())),
        sorted(listing.skipped, key=lambda skipped: skipped.path),
        listing.unreadable,
    )


def _is_plain_folder(name: str, folder: Path, listing: FileListing) -> bool:
    if not folder.is_dir():
        return False
    if folder.resolve() != folder:
        listing.skipped.append(Skipped(path=name, why="leads through a symbolic link"))
        return False
    return True


def _walk(layout: Layout, folder: Path, largest: int, listing: FileListing) -> None:
    pending = [str(folder)]
    while pending:
        for entry in _entries(layout, pending.pop(), listing):
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
            elif entry.name.casefold().endswith(".md"):
                _add(_relative(layout, entry.path), entry, largest, listing)
            elif entry.is_symlink() and entry.is_dir():
                listing.skipped.append(Skipped(path=_relative(layout, entry.path), why="a symbolic link"))


def _relative(layout: Layout, path: str) -> str:
    """Return a path below the root relative to it; a str is much faster here than a Path."""
    return path[len(layout.prefix) :].replace(os.sep, "/")


def _entries(layout: Layout, folder: str, listing: FileListing) -> Iterator[os.DirEntry[str]]:
    """Yield the entries of a folder: none if it does not exist; one that cannot be read is added to the listing."""
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as exc:
        path = Path(folder).relative_to(layout.root).as_posix()
        listing.unreadable.append("" if path == "." else f"{path}/")
        listing.skipped.append(Skipped(path=path, why=f"cannot be read: {exc.strerror or exc}"))


def _list_file(layout: Layout, name: str, largest: int, listing: FileListing) -> None:
    folder = (layout.root / name).parent
    file_name = (layout.root / name).name.casefold()
    entries = _entries(layout, str(folder), listing)
    entry = next((entry for entry in entries if entry.name.casefold() == file_name), None)
    if entry is not None and folder.resolve() == folder:
        _add(_relative(layout, entry.path), entry, largest, listing)


def _add(path: str, entry: os.DirEntry[str], largest: int, listing: FileListing) -> None:
    try:
        status = entry.stat(follow_symlinks=False)
        path.encode()
    except OSError:
        return
    except UnicodeEncodeError:
        listing.skipped.append(Skipped(path=path.encode("utf-8", "replace").decode(), why="its name is not UTF-8"))
        return
    if stat.S_ISLNK(status.st_mode):
        listing.skipped.append(Skipped(path=path, why="a symbolic link"))
    elif not stat.S_ISREG(status.st_mode):
        listing.skipped.append(Skipped(path=path, why="not a plain file"))
    elif status.st_size > largest:
        listing.skipped.append(Skipped(path=path, why=f"larger than {largest:,} bytes (setting note_max_bytes)"))
    else:
        listing.files[path] = ListedFile(path, entry.path, _stamp(status), status.st_size)


def list_file(path: str, file: Path) -> ListedFile | None:
    """Return one file as the file system lists it; None when it is not a regular file."""
    try:
        status = file.lstat()
    except OSError:
        return None
    return ListedFile(path, str(file), _stamp(status), status.st_size) if stat.S_ISREG(status.st_mode) else None


def read_file(file: str | Path) -> FileContent | None:
    """Return the bytes of a file; None when it does not exist.

    Raises OSError when it cannot be read.
    """
    for attempt in range(_ATTEMPTS):
        began = time.time_ns()
        try:
            handle = os.open(file, _OPEN_FLAGS)
        except FileNotFoundError:
            return None
        try:
            before = os.fstat(handle)
            if not stat.S_ISREG(before.st_mode):
                raise OSError(f"{file} is not a plain file")
            data = _read_all(handle, before.st_size)
            after = os.fstat(handle)
        finally:
            os.close(handle)
        if _stamp(before) == _stamp(after) and len(data) == after.st_size:
            break
        time.sleep(0.01 * attempt)
    settled = began - max(after.st_mtime_ns, after.st_ctime_ns) > _SETTLING_NS and len(data) == after.st_size
    return FileContent(data, hashlib.sha256(data).hexdigest(), _stamp(after), settled)


def _read_all(handle: int, size: int) -> bytes:
    pieces = []
    while piece := os.read(handle, max(65_536, size + 1)):
        pieces.append(piece)
    return b"".join(pieces)


def _stamp(status: os.stat_result) -> str:
    return f"{status.st_mtime_ns}:{status.st_ctime_ns}:{status.st_ino}:{status.st_size}"
