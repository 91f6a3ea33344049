"""Exports of chat programs: files conversations*.json in a folder, in a zip file, or named in a manifest."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, Any

from memotherm.history.arrays import elements
from memotherm.history.lines import open_regular
from memotherm.history.listing import files, head_of
from memotherm.history.records import Reading

_CONVERSATIONS = "conversations*.json"
#: A file that grows more than this when it is unpacked, and is larger than that, is no export.
_MOST_GROWTH, _SUSPICIOUS = 200, 256 * 1024 * 1024
_HEAD = 64 * 1024
_NAMED = re.compile(rb'"([\w. -]{1,200}\.(?:zip|json))"')


def export_files(root: Path) -> Iterator[Path]:
    """Yield the files of an export: the root itself, those in it, or those beside a manifest that it names."""
    if root.is_file() and fnmatchcase(root.name, "manifest*.json"):
        named = set(_NAMED.findall(head_of(root, 1_000_000)))
        yield from (path for path in files(root.parent, "*.zip", _CONVERSATIONS) if path.name.encode() in named)
    else:
        yield from files(root, "*.zip", _CONVERSATIONS, f"*/{_CONVERSATIONS}")


def has_field(path: Path, field: str) -> bool:
    """Return whether the first conversations of an export have a field, which tells the program."""
    try:
        with open_regular(path) as file:
            for stream in _streams(path, file, None):
                return f'"{field}"'.encode() in stream.read(_HEAD)
    except (OSError, ValueError, RuntimeError, NotImplementedError, zipfile.BadZipFile):
        pass
    return False


def conversations(path: Path, reading: Reading) -> Iterator[Mapping[str, Any]]:
    """Yield the conversations of a file of an export."""
    try:
        with open_regular(path) as file:
            for stream in _streams(path, file, _MOST_GROWTH):
                yield from elements(stream, reading)
    except zipfile.BadZipFile as exc:
        raise OSError(f"it is no readable zip file: {exc}") from exc


def _streams(path: Path, file: IO[bytes], most_growth: int | None) -> Iterator[IO[bytes]]:
    if path.suffix != ".zip":
        yield file
        return
    with zipfile.ZipFile(file) as archive:
        for member in sorted(archive.infolist(), key=lambda info: info.filename):
            folders, _, name = member.filename.rpartition("/")
            if fnmatchcase(name, _CONVERSATIONS) and "__MACOSX" not in folders:
                if most_growth and member.file_size > max(_SUSPICIOUS, most_growth * member.compress_size):
                    raise OSError(f"{name} in it is much larger than what an export contains")
                with archive.open(member) as stream:
                    yield stream
