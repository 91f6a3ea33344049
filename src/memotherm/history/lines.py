"""The lines of a file of JSON, one after the other, without loading the file."""

from __future__ import annotations

import importlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, cast

from memotherm.history.records import Reading
from memotherm.history.values import parsed

#: Longer lines are counted as broken. Agents write lines of 30 MB.
_LONGEST_LINE = 32 * 1024 * 1024
#: Files that are one value are read as a whole.
_LONGEST_FILE = 2 * _LONGEST_LINE
#: The beginning of a line that tells whether the rest is needed.
_HEAD = 1024
_BUFFER = 256 * 1024
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
#: A crash may leave NUL bytes in front of a line, and an editor a mark of the byte order.
_LEADING = b"\0\xef\xbb\xbf \t\r\n"


def open_regular(path: Path) -> IO[bytes]:
    """Open a file for reading; raise OSError for a link, a pipe or a device."""
    handle = os.open(path, _FLAGS)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(f"{path} is not a regular file")
    return os.fdopen(handle, "rb", buffering=_BUFFER)


def lines(
    file: IO[bytes], reading: Reading | None = None, needed: Callable[[bytes], bool] = lambda head: True  # noqa: ARG005
) -> Iterator[bytes]:  # fmt: skip
    """Yield the lines of a file that are not blank.

    Args:
        file: The file, from its current place on.
        reading: Counts lines that are too long.
        needed: Tells from the beginning of a line whether to yield it; the rest of others is not loaded.
    """
    while head := file.readline(_HEAD):
        complete = head.endswith(b"\n")
        start = head.lstrip(_LEADING)
        while not start and not complete and head:
            head = file.readline(_HEAD)
            complete = head.endswith(b"\n")
            start = head.lstrip(_LEADING)
        if not start:
            continue
        if not needed(start):
            if not complete:
                _skip_line(file)
            continue
        if not complete:
            start += file.readline(_LONGEST_LINE)
            if len(start) > _LONGEST_LINE and not start.endswith(b"\n"):
                _skip_line(file)
                if reading is not None:
                    reading.broken += 1
                continue
        yield start


def _skip_line(file: IO[bytes]) -> None:
    while (part := file.readline(_BUFFER)) and not part.endswith(b"\n"):
        pass


def entries(
    path: Path, reading: Reading, needed: Callable[[bytes], bool] = lambda head: True  # noqa: ARG005
) -> Iterator[Mapping[str, Any]]:  # fmt: skip
    """Yield the JSON objects in the lines of a file, and count the lines that are broken."""
    with open_regular(path) as file:
        for line in lines(file, reading, needed):
            entry = parsed(line)
            if entry is None:
                reading.broken += 1
            else:
                yield entry


def read_object(path: Path, reading: Reading) -> Mapping[str, Any] | None:
    """Return the JSON object in a file; None, and a broken entry, if there is none or it is too long."""
    try:
        with open_regular(path) as file:
            data = file.read(_LONGEST_FILE + 1)
    except FileNotFoundError:
        return None
    found = parsed(data.lstrip(_LEADING)) if len(data) <= _LONGEST_FILE else None
    reading.broken += found is None
    return found


def open_lines(path: Path) -> IO[bytes]:
    """Open a file of lines for reading, which may be compressed with Zstandard."""
    file = open_regular(path)
    if path.suffix != ".zst":
        return file
    try:
        zstd = importlib.import_module("compression.zstd")
    except ImportError:
        file.close()
        raise OSError("it is compressed with Zstandard, which Python can read from 3.14 on") from None
    return cast("IO[bytes]", zstd.ZstdFile(file))
