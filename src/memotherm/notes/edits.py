"""Changes of note files: appending, rewriting list items, and links to memories.

An append locks the file, adds whole lines at its end and syncs it; a full disk leaves the file unchanged, and several
processes may append at once. A rewrite uses a temporary file in the same folder, and raises StaleWrite if the file
has changed in the meantime.

`export` writes a memory into a note, `adopt` stores an item of a note as a memory. A linked item has the memory's id
in a comment. A sync updates the memory when only the item has changed; a change of the memory, or of both, is a
conflict until it is resolved.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from memotherm.errors import InvalidInput, NoteUnavailable, NotFound, StaleWrite, StoreFull
from memotherm.model import Memory, Retention
from memotherm.notes.files import read_file
from memotherm.notes.values import Appended, Conflict
from memotherm.storage.store import Store
from memotherm.storage.values import ChunkRow
from memotherm.text.content import digest
from memotherm.text.markdown import (
    ListItem,
    decode,
    format_item,
    item_at,
    item_marker,
    linked_items,
    split_lines,
    with_link,
    without_link,
)

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


def rewrite(file: Path, before: bytes, after: bytes) -> None:
    """Replace the content of a file atomically, if it is still `before`."""
    # Imported here because it imports the compression modules, and most processes rewrite no file.
    import tempfile

    with _errors(file), _locked(file) as handle:
        if _content(handle) != before:
            raise StaleWrite(f"{file} has changed since it was read: sync and try again")
        mode = stat.S_IMODE(os.fstat(handle).st_mode)
        temporary, name = tempfile.mkstemp(dir=file.parent, prefix=".memotherm-", suffix=".tmp")
        try:
            with os.fdopen(temporary, "wb") as stream:
                os.fchmod(temporary, mode)
                stream.write(after)
                stream.flush()
                os.fsync(temporary)
            Path(name).replace(file)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        # Make the rename durable, where folders can be synced.
        with suppress(OSError):
            folder = os.open(file.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


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
            while not _try_lock(handle):
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


def _try_lock(handle: int) -> bool:
    try:
        if os.name == "nt":
            import msvcrt

            os.lseek(handle, 0, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as exc:
        if os.name == "nt" or isinstance(exc, BlockingIOError):
            return False
        raise
    return True


def _content(handle: int) -> bytes:
    with os.fdopen(handle, "rb", closefd=False) as stream:
        stream.seek(0)
        return stream.read()


def new_lines(lines: Sequence[str], curated: Sequence[str]) -> list[str]:
    """Return the lines that the curated note does not have yet, without links to memories.

    Blank lines stay between the lines that remain.
    """
    known = {_normalized(line) for line in curated}
    remaining: list[str] = []
    for line in lines:
        plain = without_link(line).rstrip()
        if plain and _normalized(plain) in known:
            continue
        if plain or (remaining and remaining[-1]):
            remaining.append(plain)
        known.add(_normalized(plain))
    while remaining and not remaining[-1]:
        remaining.pop()
    return remaining


def _normalized(line: str) -> str:
    """Return the words of a line without its list marker and its link."""
    return " ".join(without_link(line).strip().lstrip("-*+").split()).casefold()


def export(file: Path, path: str, memory: Memory) -> Appended:
    """Append a memory to a note as a list item, unless it is there already."""
    if memory.retention is not Retention.ACTIVE:
        raise InvalidInput(f"{memory.id} is {memory.retention}: restore it before you export it")
    item = _linked_items(file).get(memory.id)
    if item is not None:
        return Appended(path=path, start_line=item.start + 1, end_line=item.end, written=False)
    start, end, written = append(file, format_item(memory.content, memory.id))
    return Appended(path=path, start_line=start, end_line=end, written=written)


def adopt(file: Path, path: str, line: int, remember: Callable[[str], Memory]) -> str:
    """Store the list item at a line as a memory, unless it is linked to one; return the memory's id."""
    data, lines = _existing(file)
    item = item_at(lines, line)
    if item is None or not item.text:
        raise NotFound(f"there is no list item at {path}#L{line}")
    if item.memory_id:
        return item.memory_id
    memory = remember(item.text)
    linked = next((other for other in linked_items(lines) if other.memory_id == memory.id), None)
    if linked is not None:
        raise InvalidInput(f"{path}#L{linked.start + 1} already says this and is linked to {memory.id}")
    _rewrite_lines(file, data, item.start, item.start + 1, [with_link(lines[item.start], memory.id)])
    return memory.id


def write_item(file: Path, memory: Memory) -> None:
    """Write the content of a memory to its list item; delete the item of a memory that is not active."""
    data, lines = _existing(file)
    item = next((item for item in linked_items(lines) if item.memory_id == memory.id), None)
    if item is None:
        raise NotFound(f"{file.name} has no list item of {memory.id}")
    hidden = memory.retention is not Retention.ACTIVE
    text = [] if hidden else format_item(memory.content, memory.id, item_marker(lines[item.start])).split("\n")
    _rewrite_lines(file, data, item.start, item.end, text)


def _rewrite_lines(file: Path, data: bytes, start: int, end: int, lines: Sequence[str]) -> None:
    """Replace lines of a file; the new ones have the line break of the first old one."""
    pieces = data.split(b"\n")
    ending = b"\r" if pieces[start].endswith(b"\r") else b""
    pieces[start:end] = [line.encode() + ending for line in lines]
    rewrite(file, data, b"\n".join(pieces))


def conflicts(store: Store, space: int, root: Path) -> list[Conflict]:
    """Return every linked item whose text differs from its memory."""
    items: dict[str, dict[str, ListItem]] = {}
    differing = []
    for path, row in store.links(space):
        if row.record.memory.digest == row.digest and row.record.memory.retention is Retention.ACTIVE:
            continue
        if path not in items:
            items[path] = _linked_items(root / path)
        item = items[path].get(row.record.memory.id)
        differing.append(_conflict(path, row, item.text if item is not None else ""))
    return differing


def _conflict(path: str, row: ChunkRow, in_file: str) -> Conflict:
    memory = row.record.memory
    if memory.retention is not Retention.ACTIVE:
        why = f"the memory is {memory.retention} and the note still says it"
    elif digest(in_file) == row.digest:
        why = "the memory was changed and the note was not"
    else:
        why = "both were changed" if row.digest else "they differed when they were linked"
    return Conflict(memory_id=memory.id, path=path, line=row.first, in_file=in_file, in_memory=memory.content, why=why)


def _linked_items(file: Path) -> dict[str, ListItem]:
    content = read_file(file)
    lines = split_lines(decode(content.data)) if content is not None else []
    return {item.memory_id: item for item in linked_items(lines)}


def _existing(file: Path) -> tuple[bytes, list[str]]:
    content = read_file(file)
    if content is None:
        raise NotFound(f"there is no note {file.name}")
    return content.data, split_lines(decode(content.data))
