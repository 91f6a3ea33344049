"""The files of notes: which paths are notes, and how they are listed and read.

    root/MEMORY.md                  curated
    root/memory/YYYY-MM-DD.md       daily
    root/memory/**/*.md             other notes
    root/<extra path>               a file, or every *.md in a folder

A root that is itself called memory, memories or notes is a memory folder: every *.md in it is a note. Hidden files
are not notes, symbolic links are not followed, only regular files are opened, and a file that changes while it is
read is read again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from memotherm.errors import InvalidInput, NoteUnavailable
from memotherm.hooks.hosts import PREFIXES, message_of
from memotherm.notes.placement import CURATED, TRANSCRIPTS, is_transcript
from memotherm.notes.values import Skipped
from memotherm.text.content import without_blocks

#: The folder of daily and other notes.
_FOLDER = "memory"
_FOLDERS = {_FOLDER, "memories", "notes"}
_SUFFIX = ".md"
_FRAGMENT = re.compile(r"#L(\d+)(?:-L?(\d+))?$")


class Layout:
    """The paths of the notes of one root."""

    def __init__(self, root: str | os.PathLike[str], extra: Iterable[str] = ()) -> None:
        folder = Path(root).expanduser()
        if not folder.is_dir():
            raise InvalidInput(f"{folder} is not a folder: create it first, or name the one that has MEMORY.md")
        self.root = folder.resolve()
        #: The root as a text that can be stored: bytes that are not UTF-8 are escaped.
        self.name = os.fsencode(self.root).decode("utf-8", "backslashreplace")
        self.prefix = os.path.join(self.root, "")  # noqa: PTH118 - the root with a final separator
        self.whole = self.root.name.casefold() in _FOLDERS
        self.extra = tuple(dict.fromkeys(self._extra(path) for path in extra))
        files = [path for path in self.extra if path.casefold().endswith(_SUFFIX)]
        #: The single files that are notes, and the folders in which every Markdown file is one; relative to the root.
        self.files = tuple(dict.fromkeys((CURATED, *files)))
        self.folders = tuple(dict.fromkeys((_FOLDER, *(path for path in self.extra if path not in files))))
        if self.whole or "." in self.extra:
            self.folders = (".",)

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
        named = isinstance(text, str) and text.strip() and "\x00" not in text
        # No note is created under a name that cannot be printed, but a folder may have such a name.
        if not named or not (text.isprintable() or os.path.isfile(self.root / text)):  # noqa: PTH113 - never raises
            raise InvalidInput(f"{text!r} is not a path of a note: write for example memory/2026-01-26.md")
        if is_transcript(text) and ".." not in text.split("/"):
            return text
        absolute = Path(os.path.normpath(self.root / text.replace("\\", "/")))
        if not absolute.is_relative_to(self.root):
            raise InvalidInput(f"{text} lies outside the folder of the notes: only those inside can be read or written")
        relative = absolute.relative_to(self.root).as_posix()
        if not self.accepts(relative):
            raise InvalidInput(f"{text} is not a note: notes are {CURATED}, {_FOLDER}/**/*.md and the extra paths")
        self.require_plain(relative)
        return relative

    def require_plain(self, relative: str) -> None:
        """Refuse a path that leads through a symbolic link."""
        if not _is_plain(self.root / relative):
            raise InvalidInput(f"{relative} leads through a symbolic link: notes are plain files inside their folder")

    def day(self, day: date) -> str:
        """Return the path of a day's note."""
        return f"{day.isoformat()}.md" if self.whole else f"{_FOLDER}/{day.isoformat()}.md"

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


def transcripts(folders: Iterable[Path]) -> Iterator[tuple[str, Path]]:
    """Yield the path among the notes and the file of each transcript; a folder may also be a single file."""
    for folder in folders:
        if folder.is_dir():
            files = sorted(folder.rglob("*.jsonl"))
            yield from ((f"{TRANSCRIPTS}{file.relative_to(folder).as_posix()}", file) for file in files)
        else:
            yield f"{TRANSCRIPTS}{folder.name}", folder


#: A file modified within this time before reading may change again without a new time stamp.
_SETTLING_NS = 2_000_000_000
_ATTEMPTS = 8
#: Larger files are not indexed.
MAX_BYTES = 32_000_000
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class ListedFile(NamedTuple):
    """A file as the file system lists it: `path` among the notes, and the real path `file`."""

    path: str
    file: str
    stamp: str
    size: int


class FileContent(NamedTuple):
    """The bytes of a file, read at one moment."""

    data: bytes
    hash: str
    stamp: str
    #: Whether an equal time stamp implies equal bytes.
    settled: bool


@dataclass(frozen=True, slots=True)
class FileListing:
    """The files of notes, by path, and what is not indexed."""

    files: dict[str, ListedFile] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    #: Folders that exist and cannot be read, each with a final slash; '' is the root.
    unreadable: list[str] = field(default_factory=list)

    def skip(self, path: str, why: str) -> None:
        """Record a path that is not indexed."""
        self.skipped.append(Skipped(path=path, why=why))


def list_files(layout: Layout, transcript_folders: Iterable[Path] = ()) -> FileListing:
    """List the notes of a root, in order of their paths, and the transcripts."""
    if not layout.root.is_dir():
        raise NoteUnavailable(f"the folder {layout.root} is gone: its index was left unchanged")
    found = FileListing()
    for name in filter(layout.accepts, layout.files):
        folder, file_name = (layout.root / name).parent, PurePosixPath(name).name.casefold()
        entries = _entries(layout, str(folder), found)
        entry = next((entry for entry in entries if entry.name.casefold() == file_name), None)
        if entry is not None and _is_plain(folder):
            _add(_relative(layout, entry.path), entry, found)
    for name in layout.folders:
        folder = layout.root / name
        if folder.is_dir() and not _is_plain(folder):
            found.skip(name, "leads through a symbolic link")
        elif folder.is_dir():
            _walk(layout, folder, found)
    skipped = sorted(found.skipped, key=lambda skipped: skipped.path)
    listing = FileListing(dict(sorted(found.files.items())), skipped, found.unreadable)
    for path, file in transcripts(transcript_folders):
        if file.is_file() and not file.is_symlink():
            _add(path, file, listing)
    return listing


def _is_plain(path: Path) -> bool:
    """Return whether no part of a path is a symbolic link, not even one that leads to itself."""
    return os.path.realpath(path) == str(path) and not path.is_symlink()


def _walk(layout: Layout, folder: Path, listing: FileListing) -> None:
    pending = [str(folder)]
    while pending:
        for entry in _entries(layout, pending.pop(), listing):
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
            elif entry.name.casefold().endswith(_SUFFIX):
                _add(_relative(layout, entry.path), entry, listing)
            elif entry.is_symlink() and entry.is_dir():
                listing.skip(_relative(layout, entry.path), "a symbolic link")


def _relative(layout: Layout, path: str) -> str:
    """Return a path relative to the root; strings are much faster here than Path objects."""
    return path[len(layout.prefix) :].replace(os.sep, "/")


def _entries(layout: Layout, folder: str, listing: FileListing) -> Iterator[os.DirEntry[str]]:
    """Yield the entries of a folder; one that cannot be read is added to `skipped`, a missing one has no entries."""
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as exc:
        path = Path(folder).relative_to(layout.root).as_posix()
        listing.unreadable.append("" if path == "." else f"{path}/")
        listing.skip(path, f"cannot be read: {exc.strerror or exc}")


def _add(path: str, file: os.DirEntry[str] | Path, listing: FileListing) -> None:
    try:
        status = file.stat(follow_symlinks=False)
        path.encode()
    except OSError:
        return
    except UnicodeEncodeError:
        listing.skip(path.encode("utf-8", "replace").decode(), "its name is not UTF-8")
        return
    if stat.S_ISLNK(status.st_mode):
        listing.skip(path, "a symbolic link")
    elif not stat.S_ISREG(status.st_mode):
        listing.skip(path, "not a plain file")
    elif status.st_size > MAX_BYTES:
        listing.skip(path, f"larger than {MAX_BYTES:,} bytes")
    else:
        listing.files.setdefault(path, ListedFile(path, os.fspath(file), _stamp(status), status.st_size))


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
            with os.fdopen(handle, "rb", closefd=False) as stream:
                data = stream.read()
            after = os.fstat(handle)
        finally:
            os.close(handle)
        if _stamp(before) == _stamp(after) and len(data) == after.st_size:
            break
        time.sleep(0.01 * attempt)
    settled = began - max(after.st_mtime_ns, after.st_ctime_ns) > _SETTLING_NS and len(data) == after.st_size
    return FileContent(data, hashlib.sha256(data).hexdigest(), _stamp(after), settled)


def _stamp(status: os.stat_result) -> str:
    return f"{status.st_mtime_ns}:{status.st_ctime_ns}:{status.st_ino}:{status.st_size}"


_SPEAKERS = {"user": "User", "assistant": "Assistant"}
_TEXTS = {"text", "input_text", "output_text"}
_LONGEST_LINE = 4_000_000


def transcript(data: bytes, redact: Callable[[str], str] = str) -> list[str]:
    """Parse a transcript to one line of text per line of JSON, so that line numbers are those of the file.

    Claude Code, Codex and OpenClaw write JSON lines; plain `{"role": ..., "content": ...}` lines are read as well.
    Only messages of user and assistant are kept, without recalled blocks, so that recalled text is not stored again.
    Any other line is empty. `redact` returns a message without its secrets.
    """
    lines = data.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    return [_line_text(line, redact) for line in lines]


def _line_text(line: bytes, redact: Callable[[str], str]) -> str:
    if not line.startswith(b"{") or len(line) > _LONGEST_LINE:
        return ""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    message = message_of(entry) or (entry if entry.get("type") in (None, "message") else {})
    speaker = _SPEAKERS.get(str(message.get("role")))
    text = " ".join(redact(without_blocks(_text(message.get("content")))).split()) if speaker else ""
    if not text or text.startswith(PREFIXES):
        return ""
    return f"{speaker}: {text}".replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    blocks = (block for block in content if isinstance(block, dict) and block.get("type") in _TEXTS)
    return "\n".join(str(block.get("text", "")) for block in blocks)
