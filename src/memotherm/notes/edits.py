"""Appending to note files.

An append locks the file, adds whole lines at its end and syncs it; a full disk leaves the file unchanged, and several
processes may append at once.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from memotherm.errors import InvalidInput, NoteUnavailable, StoreFull
from memotherm.settings.paths import try_lock

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
            added = (b"\n" if before and not before.endswith(b"\n") else b"") + block
            try:
                while added:
                    added = added[os.write(handle, added) :]
                os.fsync(handle)
            except BaseException:
                with suppress(OSError):
                    os.ftruncate(handle, len(before))
                raise
    return count + 1, count + lines, True


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
    """Open and lock a file; if it was replaced while waiting for the lock, open the new one.

    The lock is released when the handle is closed or the process ends.
    """
    while True:
        handle = os.open(file, _FLAGS, 0o644)
        try:
            deadline = time.monotonic() + _LOCK_WAIT
            while not try_lock(handle):
                if time.monotonic() > deadline:
                    raise NoteUnavailable(f"{file} has been locked by another writer for {_LOCK_WAIT:g} seconds")
                time.sleep(0.005)
            opened = os.fstat(handle)
            if not stat.S_ISREG(opened.st_mode):
                raise NoteUnavailable(f"{file} is not a plain file")
            try:
                current = file.lstat()
            except FileNotFoundError:
                continue
            if os.path.samestat(opened, current):
                yield handle
                return
        finally:
            os.close(handle)


def _content(handle: int) -> bytes:
    with os.fdopen(handle, "rb", closefd=False) as stream:
        stream.seek(0)
        return stream.read()


def new_lines(lines: Sequence[str], curated: Sequence[str]) -> list[str]:
    """Return the lines that the curated note does not have yet.

    Blank lines stay between the lines that remain.
    """
    known = {_normalized(line) for line in curated}
    remaining: list[str] = []
    for line in lines:
        plain = line.rstrip()
        if plain and _normalized(plain) in known:
            continue
        if plain or (remaining and remaining[-1]):
            remaining.append(plain)
        known.add(_normalized(plain))
    while remaining and not remaining[-1]:
        remaining.pop()
    return remaining


def _normalized(line: str) -> str:
    """Return the words of a line without its list marker."""
    return " ".join(line.strip().lstrip("-*+").split()).casefold()
