"""The vectors of a store in memory: one band for each space and tier, loaded when it is first searched.

Each band has its own lock, so that loading a large one does not stop the searches of others. Large bands are also
kept in files beside the store, which may be deleted at any time. A file is not used when the store has another
history than the one it was made from, or when a byte of it has changed.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memotherm.model import Tier
from memotherm.model.results import Problem
from memotherm.settings.paths import create_file, create_folder
from memotherm.storage.filters import compiled_filter, filtered_numbers
from memotherm.storage.sqlite.band import (
    CODED_MULTIPLE,
    LEAST_RESCORED,
    CodedBand,
    ExactBand,
    best,
    coding_available,
    products,
    strongest_parts,
)
from memotherm.storage.sqlite.columns import Projection
from memotherm.storage.sqlite.statements import PART_BITS, SQL, SqliteStatements, vector_base, vector_range
from memotherm.storage.values import Identity, Scores, Search

Numbers = NDArray[np.int64]

#: How many events identify a state. Two histories differ in the id of a new memory, or in the time of a change.
_EVENTS = 256
#: How many bytes of a file are read at once. After a large block was freed, the C library keeps more of what is free.
_PART = 64 << 10


class _BandFile(NamedTuple):
    """What a file says, besides the codes."""

    #: The newest event that its codes contain.
    seq: int
    origin: str
    keys: Numbers

    @classmethod
    def read(cls, file: Path) -> _BandFile:
        """Read what codes were made from; raise an error if they are not as they were written."""
        # Opened here, because numpy leaves the file open when it is not one of its own.
        with file.open("rb") as handle, np.lib.npyio.NpzFile(handle) as saved:
            checksum = int(saved["checksum"])
            cache = cls(int(saved["seq"]), str(saved["origin"]), saved["keys"].astype(np.int64))
        if _checksum(file.with_suffix(".tvim")) != checksum:
            raise ValueError("the codes have changed since they were written")
        return cache

    def belongs_to(self, connection: sqlite3.Connection) -> bool:
        """Return whether the store has the history that the file was made from."""
        (last,) = connection.execute(SQL["event_last"]).fetchone()
        return self.seq <= last and self.origin == _origin(connection, self.seq)


def _origin(connection: sqlite3.Connection, seq: int) -> str:
    """Return what identifies the history of a store up to an event."""
    rows = connection.execute(SQL["events_identity"], {"seq": seq, "limit": _EVENTS}).fetchall()
    return blake2b(repr(rows).encode(), digest_size=16).hexdigest()


def _checksum(file: Path) -> int:
    """Return the checksum of a file, which is never in memory as a whole."""
    checksum = 0
    with file.open("rb") as handle:
        while part := handle.read(_PART):
            checksum = zlib.crc32(part, checksum)
    return checksum


_log = logging.getLogger(__name__)

Vectors = NDArray[np.float32]
#: A key and its vector as it is stored.
VectorRow = tuple[int, bytes]

#: The most bands in memory, however small they are.
_MOST_BANDS = 512
#: Over-fetch factors tried before a full filtered scan.
_OVERFETCH = (3, 8)
_BATCH = 20_000
#: Fewer events than this are always applied; with more than a band has vectors, reading it again is cheaper.
_FEW_CHANGES = 1000
#: A coded band whose cache file lacks more than this share of changes is rebuilt.
_STALE_SHARE = 0.2


class BandKey(NamedTuple):
    """The space and tier of a band."""

    space: int
    tier: Tier


class _Place(NamedTuple):
    """Where a store keeps the files of its bands, and when a band is large."""

    store: str
    folder: Path | None
    exact_limit: int

    def files(self, pattern: str) -> list[Path]:
        return sorted(self.folder.glob(pattern)) if self.folder and self.folder.is_dir() else []


class _LoadedBand(Projection):
    """The vectors that an embedder has made of the memories of one space and tier."""

    def __init__(self, key: BandKey, identity: Identity, place: _Place) -> None:
        super().__init__()
        self._key = key
        self._identity = identity
        self._base = vector_base(identity.number)
        self._place = place
        self._vectors: ExactBand | CodedBand = ExactBand(identity.dimensions)

    @property
    def size(self) -> int:
        """About how many bytes it takes in memory."""
        return self._vectors.size

    @property
    def most_changes(self) -> int:
        """The number of events above which loading is cheaper than applying them."""
        return max(_FEW_CHANGES, len(self._vectors))

    # Searching

    def nearest(
        self, statements: SqliteStatements, query: Vectors, limit: int, where: Search | None
    ) -> tuple[Numbers, Vectors]:
        """Return up to `limit` memories and their similarities, best first; a memory counts with its nearest part."""
        band = self._vectors
        if not len(band):
            return np.empty(0, np.int64), np.empty(0, np.float32)
        wanted = limit if band.exact else max(limit, LEAST_RESCORED)
        while True:
            keys, similarities = self._search(statements, query, wanted, where)
            nos = keys >> PART_BITS
            # Not numpy's unique, which loads masked arrays the first time: a hook would wait for them.
            memories = len(set(nos.tolist()))
            if memories >= limit or len(keys) < wanted:
                break
            wanted *= 2
        if band.exact and memories == len(nos):
            return nos[:limit], similarities[:limit]
        if not band.exact:
            keys, similarities = self._rescored(statements.connection, keys, query)
            nos = keys >> PART_BITS
        if memories != len(nos):
            # The nearest part of each memory comes first.
            order = np.lexsort((-similarities, nos))
            nos, first = np.unique(nos[order], return_index=True)
            similarities = similarities[order][first]
        return best(nos, similarities, limit)

    def similarities(self, connection: sqlite3.Connection, nos: Sequence[int], query: Vectors) -> dict[int, float]:
        """Return the similarity of each of some memories that is here; its nearest part counts."""
        if isinstance(self._vectors, ExactBand):
            return self._vectors.similarities(nos, query) if len(self._vectors) else {}
        keys, similarities = self._rescored(connection, self._vectors.keys_of(np.array(nos, np.int64)), query)
        return strongest_parts(keys.tolist(), similarities)

    def _search(
        self, statements: SqliteStatements, query: Vectors, wanted: int, where: Search | None
    ) -> tuple[Numbers, Vectors]:
        """Return up to `wanted` (keys, similarities) of the memories that pass a filter (None = all), best first."""
        if where is None:
            return self._vectors.search(query, wanted, None)
        for factor in _OVERFETCH:
            keys, similarities = self._vectors.search(query, factor * wanted, None)
            nos = (keys >> PART_BITS).tolist()
            passing = filtered_numbers(statements, nos, where)
            rows = [row for row, no in enumerate(nos) if no in passing][:wanted]
            if len(rows) == wanted or len(keys) < factor * wanted:
                return keys[rows], similarities[rows]
        conditions, values = compiled_filter(statements, where)
        place = {"space": self._key.space, "tier": self._key.tier.rank}
        matching = statements.rows_of("matching", {"conditions": conditions}, **place, **values)
        return self._vectors.search(query, wanted, np.sort(np.fromiter((no for (no,) in matching), np.int64)))

    def _rescored(self, connection: sqlite3.Connection, keys: Numbers, query: Vectors) -> tuple[Numbers, Vectors]:
        """Return the keys that have vectors, with exact similarities."""
        rows = connection.execute(SQL["vectors_of"], {"keys": json.dumps((keys + self._base).tolist())}).fetchall()
        found, vectors = self._decoded(rows)
        return found, products(vectors, query)

    # Following the ledger

    def load(self, statements: SqliteStatements) -> None:
        """Read the band from its file, or from the store."""
        connection, seq = statements.connection, statements.moment().seq
        cached = self._from_file(connection)
        self._vectors = self._built(connection) if cached is None else cached
        if cached is None and isinstance(self._vectors, CodedBand):
            self._save(connection, self._vectors, seq)

    def apply(self, statements: SqliteStatements, changed: Sequence[int]) -> None:
        """Replace the vectors of changed memories by those that a snapshot sees."""
        self._update(self._vectors, statements.connection, changed)

    def _update(self, band: ExactBand | CodedBand, connection: sqlite3.Connection, changed: Sequence[int]) -> None:
        for no in changed:
            band.discard(no)
        place = {"space": self._key.space, "tier": self._key.tier.rank}
        here = connection.execute(SQL["places_in"], {"nos": json.dumps(list(changed)), **place}).fetchall()
        rows: list[VectorRow] = []
        for (no,) in here:
            rows += connection.execute(SQL["vectors_between"], vector_range(self._identity.number, no)._asdict())
        if rows:
            band.add(*self._decoded(rows))

    def _built(self, connection: sqlite3.Connection) -> ExactBand | CodedBand:
        """Read the band from the store, in batches, so that a large one is never in memory as a whole."""
        dimensions = self._identity.dimensions
        exact = ExactBand(dimensions)
        coded: CodedBand | None = None
        place = {"base": self._base, "space": self._key.space, "tier": self._key.tier.rank}
        cursor = connection.execute(SQL["vectors_of_place"], place)
        while rows := cursor.fetchmany(_BATCH):
            keys, vectors = self._decoded(rows)
            if coded is not None:
                coded.extend(keys, vectors)
                continue
            exact.add(keys, vectors)
            if len(exact) > self._place.exact_limit and not dimensions % CODED_MULTIPLE and coding_available():
                coded = CodedBand.of(exact.keys, exact.vectors)
                exact = ExactBand(dimensions)
        return exact if coded is None else coded

    def agrees(self, connection: sqlite3.Connection) -> bool:
        """Return whether it has the keys that the store has, and, if it is exact, their vectors."""
        band = self._vectors
        place = {"base": self._base, "space": self._key.space, "tier": self._key.tier.rank}
        here = {key: row for row, key in enumerate(band.keys.tolist())}
        stored = 0
        for key, blob in connection.execute(SQL["vectors_of_place"], place):
            row = here.get(key - self._base)
            if row is None:
                return False
            if isinstance(band, ExactBand) and blob != band.vectors[row].astype("<f4").tobytes():
                return False
            stored += 1
        return stored == len(here)

    # Files

    def _from_file(self, connection: sqlite3.Connection) -> CodedBand | None:
        """Load a large band from its file and apply what happened since; None without a usable file."""
        for file in self._place.files(f"{self._prefix}*.npz"):
            try:
                cache = _BandFile.read(file)
                if not cache.belongs_to(connection):
                    continue
                band = CodedBand.load(str(file.with_suffix(".tvim")), cache.keys)
            except Exception as exc:  # noqa: BLE001 - whatever a file contains, the band is in the store
                _log.warning("the vector cache %s is unusable and will be rebuilt: %s", file, exc)
                file.unlink(missing_ok=True)
                continue
            changed = [no for (no,) in connection.execute(SQL["events_changed_since"], {"seq": cache.seq})]
            if len(changed) <= _STALE_SHARE * len(cache.keys):
                self._update(band, connection, changed)
                return band
        return None

    def save(self, connection: sqlite3.Connection) -> None:
        """Write a coded band to its file if it has changed since."""
        if isinstance(self._vectors, CodedBand) and self._vectors.repacked:
            self._save(connection, self._vectors, self.seq)

    def _save(self, connection: sqlite3.Connection, band: CodedBand, seq: int) -> None:
        folder = self._place.folder
        if folder is None:
            return
        stale = self._place.files(f"{self._prefix}*")
        # The process id keeps two processes that save at once from mixing their files.
        codes = folder / f"{self._prefix}{seq}-{os.getpid()}.tvim"
        try:
            create_folder(folder)
            keys = band.save(str(codes))
            codes.chmod(0o600)
            create_file(codes.with_suffix(".npz"))
            with codes.with_suffix(".npz").open("wb") as handle:
                made_from, checksum = np.array(_origin(connection, seq)), np.int64(_checksum(codes))
                np.savez(handle, seq=np.int64(seq), origin=made_from, keys=keys, checksum=checksum)
            for file in stale:
                if file.stem != codes.stem:
                    file.unlink(missing_ok=True)
        except OSError as exc:
            _log.warning("the vector cache %s could not be written: %s", codes, exc)

    @property
    def _prefix(self) -> str:
        return f"{self._place.store}-{self._key.space}-{self._key.tier}-{self._identity.number}-"

    def _decoded(self, rows: Sequence[VectorRow]) -> tuple[Numbers, Vectors]:
        keys, blobs = zip(*rows, strict=True) if rows else ((), ())
        return np.array(keys, np.int64) - self._base, decoded(blobs, self._identity.dimensions)


class Bands:
    """The bands of one store; those that were not searched for longest leave first."""

    def __init__(self, store: str, folder: Path | None, exact_limit: int, most_bytes: int) -> None:
        self._place = _Place(store, folder, exact_limit)
        self._most_bytes = most_bytes
        #: In the order in which they were searched last.
        self._loaded: OrderedDict[tuple[BandKey, Identity], _LoadedBand] = OrderedDict()
        #: Held while this dictionary changes.
        self._lock = threading.Lock()

    def search(
        self,
        statements: SqliteStatements,
        identity: Identity,
        keys: Sequence[BandKey],
        query: Vectors,
        limit: int,
        where: Search | None,
    ) -> Scores:
        """Return the nearest memories of some bands that pass a filter (None = all), nearest first."""
        near = []
        for key in keys:
            band = self._band(key, identity) if statements.committed else _LoadedBand(key, identity, self._place)
            with band.lock:
                size = band.size
                band.follow(statements)
                near.append(band.nearest(statements, query, limit, where))
            if band.size > size:
                self._drop_least_used()
        results = [result for result in near if len(result[0])]
        if not results:
            return {}
        nos, similarities = results[0]
        if len(results) > 1:
            all_nos, all_similarities = zip(*results, strict=True)
            nos, similarities = best(np.concatenate(all_nos), np.concatenate(all_similarities), limit)
        return dict(zip(nos.tolist(), similarities.tolist(), strict=True))

    def similarities(
        self,
        statements: SqliteStatements,
        identity: Identity,
        keys: Sequence[BandKey],
        nos: Sequence[int],
        query: Vectors,
    ) -> dict[int, float]:
        """Return the similarity of some memories, from the loaded bands or from the store."""
        found: dict[int, float] = {}
        for key in keys:
            band = self._loaded.get((key, identity)) if statements.committed else None
            if band is not None:
                with band.lock:
                    band.follow(statements)
                    found |= band.similarities(statements.connection, nos, query)
        if missing := [no for no in nos if no not in found]:
            base = vector_base(identity.number)
            rows = statements.rows("vectors_of_memories", nos=missing, base=base)
            vectors = decoded([blob for _, blob in rows], identity.dimensions)
            found |= strongest_parts([key - base for key, _ in rows], products(vectors, query))
        return found

    def forget_files(self) -> None:
        """Delete the files, whose codes may contain purged vectors."""
        for file in self._place.files("*"):
            file.unlink(missing_ok=True)

    def close(self, connection: sqlite3.Connection) -> None:
        """Save the coded bands that have changed."""
        with self._lock:
            bands = list(self._loaded.values())
            self._loaded.clear()
        for band in bands:
            with band.lock:
                band.save(connection)

    def cache_files(self) -> list[Path]:
        """Return the files of this store."""
        return self._place.files(f"{self._place.store}-*.npz")

    def check(self, statements: SqliteStatements, files: Sequence[Path]) -> Iterator[Problem]:
        """Compare the bands in memory, and files that were there before the read transaction began, with the store."""
        with self._lock:
            bands = list(self._loaded.items())
        for ((space, tier), _), band in bands:
            with band.lock:
                band.follow(statements)
                agrees = band.agrees(statements.connection)
            if not agrees:
                detail = f"the vectors in memory of space {space}, {tier}, differ from the store: open it again"
                yield Problem(code="vector_cache", detail=detail)
        for file in files:
            try:
                belongs = _BandFile.read(file).belongs_to(statements.connection)
                fault = None if belongs else "was made from another state of the store"
            except FileNotFoundError:
                continue  # replaced by a newer one
            except Exception as exc:  # noqa: BLE001 - a file may contain anything
                fault = f"cannot be read ({exc})"
            if fault is not None:
                detail = f"the vector cache {file} {fault}; it is not used and may be deleted"
                yield Problem(code="vector_cache", detail=detail)

    def _band(self, key: BandKey, identity: Identity) -> _LoadedBand:
        with self._lock:
            band = self._loaded.get((key, identity))
            if band is None:
                band = self._loaded[key, identity] = _LoadedBand(key, identity, self._place)
                if len(self._loaded) > _MOST_BANDS:
                    self._loaded.popitem(last=False)
            self._loaded.move_to_end((key, identity))
            return band

    def _drop_least_used(self) -> None:
        """Drop bands until the rest fits into memory; the last one always stays."""
        with self._lock:
            size = sum(band.size for band in self._loaded.values())
            while len(self._loaded) > 1 and size > self._most_bytes:
                _, dropped = self._loaded.popitem(last=False)
                size -= dropped.size


def decoded(blobs: Sequence[bytes], dimensions: int) -> Vectors:
    """Return stored vectors as a matrix."""
    return np.frombuffer(b"".join(blobs), "<f4").reshape(len(blobs), dimensions)
