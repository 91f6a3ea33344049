"""The log of the hooks: what went wrong in the last days, for `doctor`. Nobody reads the standard error of a hook."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import NamedTuple

from memotherm.settings import data_home
from memotherm.settings.paths import append_line, read_lines

#: A recall that was not ready in time, and any other error.
DEADLINE, ERROR = "deadline", "error"

_SECONDS = 7 * 86_400
#: Some 5,000 entries; then the older half is removed.
_MAX_BYTES = 1_000_000
_MAX_CHARS = 300


class Entry(NamedTuple):
    """An entry of the log."""

    #: Seconds since 1970.
    at: float
    kind: str
    detail: str


def log_file() -> Path:
    """Return the file of the log, one JSON array on each line."""
    return data_home() / "hooks.jsonl"


def add(kind: str, detail: str) -> None:
    """Add an entry; without one if the file cannot be written."""
    with contextlib.suppress(OSError):
        path = log_file()
        if append_line(path, [time.time_ns() / 1e9, kind, detail[:_MAX_CHARS]]) > _MAX_BYTES:
            lines = path.read_bytes().splitlines(keepends=True)
            path.write_bytes(b"".join(lines[len(lines) // 2 :]))


def last_week() -> list[Entry]:
    """Return the entries of the last seven days, oldest first."""
    entries = []
    for values in read_lines(log_file()):
        with contextlib.suppress(ValueError, TypeError):
            at, kind, detail = values
            entries.append(Entry(float(at), str(kind), str(detail)))
    now = time.time_ns() / 1e9
    return [entry for entry in entries if now - _SECONDS <= entry.at <= now]
