"""Files and folders: where the user's are, private ones, and folders that are not captured."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from memotherm.folders import config_folder, data_folder
from memotherm.settings.schema import Settings

PREFIX = "MEMOTHERM_"
SQLITE = "sqlite:///"


def default_store(settings: Settings, environ: Mapping[str, str] | None = None) -> str:
    """Return the path or URL of the store that is used when none is given."""
    return settings.store or str(data_home(environ) / "memory.db")


def sqlite_path(url: str) -> Path | None:
    """Return the file that a path or URL of a store names; None if it names another kind of store."""
    path = url.removeprefix(SQLITE)
    return None if "://" in path else Path(path).expanduser()


def absolute_store(url: str, folder: Path) -> str:
    """Return the path of a store, which may be relative to a folder, as an absolute one; a URL as it is."""
    path = sqlite_path(url)
    return url if path is None else str(folder.absolute() / path)


def data_home(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder of the user's store and of the files beside it."""
    return Path(data_folder(environ))


def user_file(environ: Mapping[str, str] | None = None) -> Path:
    """Return the path of the user's settings file."""
    return Path(config_folder(environ)) / "config.toml"


def environment() -> Mapping[str, str]:
    """Return the environment of this process, for readers of the files of other programs, which have variables."""
    return os.environ


def client_home(variable: str, default: Path, environ: Mapping[str, str] | None = None) -> Path:
    """Return a folder of another program, which a variable may name."""
    named = (os.environ if environ is None else environ).get(variable)
    return Path(named).expanduser() if named else default


def export(name: str, value: str) -> None:
    """Set a variable of the environment for this process and those that it starts."""
    os.environ[name] = value


_FILE_MODE = 0o600
_FOLDER_MODE = 0o700


def create_folder(folder: Path) -> None:
    """Create a folder and its missing parents; existing ones keep their mode."""
    for each in reversed((folder, *folder.parents)):
        if not each.exists():
            each.mkdir(mode=_FOLDER_MODE, exist_ok=True)


def create_file(path: Path) -> None:
    """Create an empty file; an existing one is left as it is."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE))


def write_text(path: Path, text: str) -> None:
    """Write a text to a file; an existing one keeps its mode."""
    create_file(path)
    path.write_text(text, "utf-8", newline="")


def try_lock(handle: int) -> bool:
    """Lock an open file, and return whether it worked; the operating system releases the lock of a dead process."""
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


#: More than our files of lines have.
_MOST_BYTES = 16_000_000
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def read_regular(path: str | Path, most_bytes: int, *, tail: bool = False) -> bytes:
    """Return the first bytes of a file, or the last ones; raise OSError for a pipe or the like, which could block."""
    handle = os.open(path, _READ)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{path} is not a regular file")
        with os.fdopen(handle, "rb", closefd=False) as file:
            file.seek(max(0, status.st_size - most_bytes) if tail else 0)
            return file.read(most_bytes)
    finally:
        os.close(handle)


def append_line(path: Path, values: Sequence[object]) -> int:
    """Append a JSON array to a file, as one line, and return the size of the file."""
    create_folder(path.parent)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NONBLOCK", 0), _FILE_MODE)
    with os.fdopen(handle, "ab") as file:
        file.write(f"{json.dumps(values)}\n".encode())
        return file.tell()


def read_lines(path: Path) -> Iterator[list[Any]]:
    """Yield the JSON arrays in the lines of a file; none if it cannot be read."""
    with suppress(OSError):
        for line in read_regular(path, _MOST_BYTES).splitlines():
            with suppress(ValueError, RecursionError):
                values = json.loads(line)
                if isinstance(values, list):
                    yield values


#: The digest in the name of a project without a remote.
_DIGEST = re.compile(r"-[0-9a-f]{8}$")


def is_excluded(patterns: Sequence[str], project: str | None, folder: str = "", session: str | None = None) -> bool:
    """Return whether a pattern of `capture_exclude` matches a project, a session, a folder, or a parent of the folder.

    It may match the whole name or path, or its last part: `shop` matches github.com/acme/shop, shop-1a2b3c4d and
    ~/code/shop.
    """
    if not patterns:
        return False
    last = (project or "").rpartition("/")[2]
    names = [session or "", project or "", last, _DIGEST.sub("", last)]
    for path in {Path(folder), Path(os.path.realpath(folder))} if folder else ():
        names += [text for each in (path, *path.parents) for text in (str(each), each.name)]
    expanded = [str(Path(pattern).expanduser()) for pattern in patterns]
    return any(fnmatchcase(name, pattern) for name in filter(None, names) for pattern in expanded)
