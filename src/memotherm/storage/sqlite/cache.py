"""The cache file of a band: codes, their keys, and the state of the store that they were made from.

A cache is worthless when the store has another history than the one it was made from, as after a backup was put
back, or when a byte of it has changed. Both are noticed before it is used.
"""

from __future__ import annotations

import sqlite3
import zlib
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memotherm.settings.private_files import create_file
from memotherm.storage.sqlite.band import CodedBand
from memotherm.storage.sqlite.statements import SQL

__all__ = ["BandCache", "last_seq", "origin", "read_cache", "write_cache"]

Numbers = NDArray[np.int64]

#: How many events identify a state. Two histories differ in the id of a new memory, or in the time of a change.
_EVENTS = 256
#: How many bytes of a file are read at once. After a large block was freed, the C library keeps more of what is free.
_PART = 64 << 10


class BandCache(NamedTuple):
    """What a cache file says, besides the codes."""

    #: The newest event that its codes contain.
    seq: int
    origin: str
    keys: Numbers
    #: The checksum of the codes.
    checksum: int

    def belongs_to(self, connection: sqlite3.Connection) -> bool:
        """Return whether the store has the history that the cache was made from."""
        return self.seq <= last_seq(connection) and self.origin == origin(connection, self.seq)


def last_seq(connection: sqlite3.Connection) -> int:
    """Return the newest event of a store."""
    return int(connection.execute(SQL["event_last"]).fetchone()[0])


def origin(connection: sqlite3.Connection, seq: int) -> str:
    """Return what identifies the history of a store up to an event."""
    rows = connection.execute(SQL["events_identity"], {"seq": seq, "limit": _EVENTS}).fetchall()
    return blake2b(repr(rows).encode(), digest_size=16).hexdigest()


def write_cache(codes: Path, band: CodedBand, seq: int, made_from: str) -> None:
    """Write the codes of a band, and beside them what they were made from."""
    keys = band.save(str(codes))
    codes.chmod(0o600)
    create_file(codes.with_suffix(".npz"))
    with codes.with_suffix(".npz").open("wb") as handle:
        checksum = np.int64(_checksum(codes))
        np.savez(handle, seq=np.int64(seq), origin=np.array(made_from), keys=keys, checksum=checksum)


def read_cache(file: Path) -> BandCache:
    """Read what the codes in a cache were made from; raise an error if they are not as they were written."""
    # Opened here, because numpy leaves the file open when it is not one of its own.
    with file.open("rb") as handle, np.lib.npyio.NpzFile(handle) as saved:
        seq, checksum = int(saved["seq"]), int(saved["checksum"])
        cache = BandCache(seq, str(saved["origin"]), saved["keys"].astype(np.int64), checksum)
    if _checksum(file.with_suffix(".tvim")) != cache.checksum:
        raise ValueError("the codes have changed since they were written")
    return cache


def _checksum(file: Path) -> int:
    """Return the checksum of a file, which is never in memory as a whole."""
    checksum = 0
    with file.open("rb") as handle:
        while part := handle.read(_PART):
            checksum = zlib.crc32(part, checksum)
    return checksum
