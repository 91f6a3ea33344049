"""Appending to notes, and rewriting list items.

An append locks the file, adds whole lines at its end and syncs it; a full disk leaves the file unchanged.
Several processes may append at once. A rewrite (of one list item) uses a temporary file in the same folder
and raises StaleWrite if the file has changed in the meantime.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memotherm.errors import InvalidInput, NoteUnavailable, StaleWrite, StoreFull

__all__ = ["append", "rewrite", "writable"]

_FLAGS = (
    os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)  # fmt: skip
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_LOCK_WAIT = 30.0


def append(file: Path, text: str) -> tuple[int, int, bool]:
    """Append lines to a file; return the first and last of them, and whether they were written.

    Nothing is written when the file already ends with exactly these lines.
    """
    block = text.replace("\r\n", "\n").strip("\n").encode() + b"\n"
    with _errors(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        with _locked(file) as handle:
            before = _content(handle)
            count = before.count(b"\n") + (1 if before and not before.endswith(b"\n") else 0)
            lines = block.count(b"\n")
            if before == block or before.endswith(b"\n" + block):
                return count - lines + 1, count, False
            _write(handle, (b"\n" if before and not before.endswith(b"\n") else b"") + block, len(before))
    return count + 1, count + lines, True


def rewrite(file: Path, before: bytes, after: bytes) -> None:
    """Replace the content of a file atomically, if it is still `before`."""
    # Imported here with the compression modules that it imports, because a recall rewrites no file.
    import tempfile

    with _errors(file), _locked(file) as handle:
        if _content(handle) != before:
            raise StaleWrite(f"{file} has changed since it was read: sync and try again")
        mode = stat.S_IMODE(os.fstat(handle).st_mode)
        temporary, name = tempfile.mkstemp(dir=file.parent, prefix=".memotherm-", suffix=".tmp")
        try:
            try:
                os.fchmod(temporary, mode)
                _write_all(temporary, after)
                os.fsync(temporary)
            finally:
                os.close(temporary)
            Path(name).replace(file)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        _sync_folder(file.parent)


def writable(root: Path) -> bool:
    """Return whether notes can be written in a folder."""
    folder = root / "memory"
    return os.access(folder if folder.is_dir() else root, os.W_OK | os.X_OK)


@contextmanager
def _errors(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        if exc.errno in _FULL:
            raise StoreFull(f"no space left for {file}: free some; the note is unchanged") from exc
        if exc.errno == errno.ELOOP:
            raise InvalidInput(f"{file} is a symbolic link: notes are plain files") from exc
        raise NoteUnavailable(f"cannot write {file}: {exc.strerror or exc}") from exc


@contextmanager
def _locked(file: Path) -> Iterator[int]:
    """Open and lock a file; if it was replaced while waiting for the lock, open the new one."""
    while True:
        handle = os.open(file, _FLAGS, 0o644)
        try:
            _lock(handle, file)
            if _is_current(handle, file):
                yield handle
                return
        finally:
            os.close(handle)


def _is_current(handle: int, file: Path) -> bool:
    opened = os.fstat(handle)
    if not stat.S_ISREG(opened.st_mode):
        raise NoteUnavailable(f"{file} is not a plain file")
    try:
        current = file.lstat()
    except FileNotFoundError:
        return False
    return (opened.st_dev, opened.st_ino) == (current.st_dev, current.st_ino)


def _lock(handle: int, file: Path) -> None:
    """Wait for the lock, which is released when the handle is closed or the process ends."""
    deadline = time.monotonic() + _LOCK_WAIT
    while not _try_lock(handle):
        if time.monotonic() > deadline:
            raise NoteUnavailable(f"{file} has been locked by another writer for {_LOCK_WAIT:g} seconds")
        time.sleep(0.005)


def _try_lock(handle: int) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows
        return _try_lock_windows(handle)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _try_lock_windows(handle: int) -> bool:
    import msvcrt

    try:
        os.lseek(handle, 0, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
    except OSError:
        return False
    return True


def _content(handle: int) -> bytes:
    os.lseek(handle, 0, os.SEEK_SET)
    pieces = []
    while piece := os.read(handle, 1 << 20):
        pieces.append(piece)
    return b"".join(pieces)


def _write(handle: int, data: bytes, size: int) -> None:
    """Write and sync all data, or truncate the file to `size`."""
    try:
        _write_all(handle, data)
        os.fsync(handle)
    except BaseException:
        with suppress(OSError):
            os.ftruncate(handle, size)
        raise


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _sync_folder(folder: Path) -> None:
    """Make a rename durable where folders can be synced."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
