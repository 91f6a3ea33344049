"""The lines of a file of JSON, or the elements of an array, one after the other, without loading the file."""

from __future__ import annotations

import codecs
import importlib
import json
import os
import re
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
#: The size of a file of which the entries are kept in memory; those of a larger one are read twice.
SMALL = 4 * 1024 * 1024
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


# Arrays

#: Elements of twice this length are skipped, and counted as broken: a file is read in steps that double.
_LONGEST = 8 * 1024 * 1024
_CHUNK = 256 * 1024
_BETWEEN = re.compile(r"[\s,]*")
_OUTSIDE, _INSIDE = re.compile(r'["{}\[\]]'), re.compile(r'["\\]')


class _Text:
    """The text of a file from some place on."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self.text, self.place, self.ended = "", 0, False

    def more(self) -> bool:
        """Append to the text, twice as much each time, without what was passed; return whether there was more."""
        rest = self.text[self.place :]
        data = self._file.read(max(_CHUNK, len(rest)))
        self.ended = not data
        self.text, self.place = rest + self._decoder.decode(data, not data), 0
        return not self.ended

    def next_sign(self) -> str:
        """Pass spaces and commas, and return the character behind them; "" at the end."""
        while True:
            match = _BETWEEN.match(self.text, self.place)
            self.place = match.end() if match else self.place
            if self.place < len(self.text):
                return self.text[self.place]
            if not self.more():
                return ""

    def skip_element(self) -> bool:
        """Pass the element that begins here, whatever it contains; return whether it has an end."""
        depth, inside = 0, False
        while True:
            sign = (_INSIDE if inside else _OUTSIDE).search(self.text, self.place)
            if sign is None or (sign[0] == "\\" and sign.end() >= len(self.text)):
                self.place = len(self.text) if sign is None else sign.start()
                if not self.more():
                    return False
                continue
            self.place = sign.end() + (sign[0] == "\\")
            if sign[0] == '"':
                inside = not inside
            elif sign[0] != "\\":
                depth += 1 if sign[0] in "{[" else -1
                if depth <= 0:
                    return True


def elements(file: IO[bytes], reading: Reading) -> Iterator[Mapping[str, Any]]:
    """Yield the objects in an array; other elements, and those that are broken or too long, are counted as broken."""
    source, decoder = _Text(file), json.JSONDecoder()
    if source.next_sign() != "[":
        reading.broken += 1
        return
    source.place += 1
    while (sign := source.next_sign()) not in ("", "]"):
        try:
            value, source.place = decoder.raw_decode(source.text, source.place)
        except (ValueError, RecursionError) as exc:
            complete = source.ended or len(source.text) - source.place > _LONGEST or isinstance(exc, RecursionError)
            if not complete:
                source.more()
                continue
            reading.broken += 1
            if sign not in "{[" or not source.skip_element():
                reading.problem = "its end is broken"
                return
            continue
        if isinstance(value, dict):
            yield value
        else:
            reading.broken += 1
