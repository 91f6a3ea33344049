"""Rate limits that the processes of a server share, in a file that each of them has in its memory.

If each counted for itself, a server of 4 processes would allow 80 wrong keys in a minute from one address instead of
20. A store or another service that counts would be asked for every request; this takes 10 microseconds.
"""

from __future__ import annotations

import fcntl
import hashlib
import mmap
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memotherm.rest.middleware import Numbers

__all__ = ["SharedEntries"]

#: The hash of a caller, the requests left, and the time when that was so.
_ENTRY = struct.Struct("8sdd")
#: A caller takes the place that its hash selects from whoever had it, whose count begins anew.
_PLACES = 1 << 16


class SharedEntries:
    """A table of callers with two numbers each, as `TokenBuckets` keeps it, for several processes."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.ftruncate(self._file, _ENTRY.size * _PLACES)
        self._table = mmap.mmap(self._file, _ENTRY.size * _PLACES)

    def get(self, caller: str) -> Numbers | None:
        """Return the numbers of a caller; None if there are none."""
        name, place = _place(caller)
        with self._locked():
            return self._read(name, place)

    def change(self, caller: str, compute: Callable[[Numbers | None], Numbers]) -> None:
        """Replace the numbers of a caller by what a function makes of them, before another process reads them."""
        name, place = _place(caller)
        with self._locked():
            _ENTRY.pack_into(self._table, place, name, *compute(self._read(name, place)))

    def _read(self, name: bytes, place: int) -> Numbers | None:
        known, left, then = _ENTRY.unpack_from(self._table, place)
        return (left, then) if known == name else None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)


def _place(caller: str) -> tuple[bytes, int]:
    name = hashlib.blake2b(caller.encode(), digest_size=8).digest()
    return name, int.from_bytes(name[:4]) % _PLACES * _ENTRY.size
