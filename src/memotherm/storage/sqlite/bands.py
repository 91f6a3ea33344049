"""The vector bands of one store, updated from the ledger.

A band is a projection: before each search, the events that other threads and processes have
appended since the last one are applied, or taken back for a thread whose snapshot is older.
A band that is lost is read again from the store; large ones are also cached in files beside it,
which may be deleted at any time.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import threading
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memotherm.model import Tier
from memotherm.model.results import Problem
from memotherm.settings.private_files import create_folder
from memotherm.storage.selecting import filtered_numbers
from memotherm.storage.sqlite.band import (
    CODED_MULTIPLE,
    LEAST_RESCORED,
    Band,
    CodedBand,
    ExactBand,
    best,
    coding_available,
    products,
    strongest_parts,
)
from memotherm.storage.sqlite.cache import origin, read_cache, write_cache
from memotherm.storage.sqlite.filters import BandKey, Filters
from memotherm.storage.sqlite.keys import PART_BITS, vector_base, vector_range
from memotherm.storage.sqlite.statements import SQL, SqliteStatements
from memotherm.storage.sqlite.strengths import StrengthCache
from memotherm.storage.values import Filter, Identity, Scores

__all__ = ["Bands", "decoded"]


_log = logging.getLogger(__name__)

Numbers = NDArray[np.int64]
Vectors = NDArray[np.float32]
#: A key and its vector as it is stored.
VectorRow = tuple[int, bytes]

#: Every event is looked up in all bands, so there are not too many, however small they are.
_MOST_BANDS = 512
#: The share of the bytes for vectors that the strengths of the last queries may take: one of this many.
_STRENGTH_SHARE = 128
#: How many times as many of the nearest memories as are wanted are filtered first, and then, before the whole band is.
_FILTERED_FIRST = (3, 8)
_BATCH = 20_000
#: With more changes than this, reading the band again is cheaper than applying them.
_MOST_CHANGES = 20_000
#: A coded band whose cache file lacks more than this share of changes is rebuilt.
_STALE_SHARE = 0.2
#: How many times the ledger may be followed before a snapshot is too old, so that bands are read again for it.
_MOST_APPLIED = 64


class _Applied(NamedTuple):
    """The memories that events have changed since one of them."""

    seq: int
    nos: Sequence[int]


class Bands:
    """The bands of one store, loaded when they are first searched."""

    def __init__(
        self,
        store: str,
        folder: Path | None,
        exact_limit: int,
        most_bytes: int,
        filters: Filters,
        *,
        keep_strengths: bool = True,
    ) -> None:
        self._store = store
        self._folder = folder
        strength_bytes = most_bytes // _STRENGTH_SHARE
        self._most_bytes = most_bytes - strength_bytes
        self._exact_limit = exact_limit
        #: In the order in which they were searched last.
        self._bands: OrderedDict[BandKey, Band] = OrderedDict()
        #: The strengths of the vectors of coded bands.
        self._strengths = StrengthCache(strength_bytes if keep_strengths else 0)
        self._filters = filters
        self._identity: Identity | None = None
        #: The newest event whose change they contain.
        self._seq = 0
        #: What was applied last, in order; empty without bands.
        self._applied: deque[_Applied] = deque(maxlen=_MOST_APPLIED)
        self._lock = threading.RLock()

    def search(
        self,
        statements: SqliteStatements,
        identity: Identity,
        keys: Sequence[BandKey],
        query: Vectors,
        limit: int,
        where: Filter,
    ) -> Scores:
        """Return the nearest memories of some bands, nearest first."""
        with self._lock:
            self._catch_up(statements, identity)
            near = [self._nearest(statements, key, query, limit, where) for key in keys]
        results = [result for result in near if len(result[0])]
        if not results:
            return {}
        nos, strengths = results[0]
        if len(results) > 1:
            all_nos, all_strengths = zip(*results, strict=True)
            nos, strengths = best(np.concatenate(all_nos), np.concatenate(all_strengths), limit)
        return dict(zip(nos.tolist(), strengths.tolist(), strict=True))

    def cosines(
        self,
        statements: SqliteStatements,
        identity: Identity,
        keys: Sequence[BandKey],
        nos: Sequence[int],
        query: Vectors,
    ) -> dict[int, float]:
        """Return the strength of some memories, from the loaded bands or from the store."""
        with self._lock:
            self._catch_up(statements, identity)
            cosines: dict[int, float] = {}
            for key in keys:
                band = self._bands.get(key)
                if isinstance(band, ExactBand) and len(band):
                    cosines |= band.strengths(nos, query)
                elif isinstance(band, CodedBand):
                    coded = band.keys_of(np.array(nos, np.int64))
                    vector_keys, strengths = self._rescored(statements.connection, coded, query)
                    cosines |= strongest_parts(vector_keys.tolist(), strengths)
        if missing := [no for no in nos if no not in cosines]:
            vector_keys, vectors = self._read(
                statements.connection, "vectors_of_memories", nos=json.dumps(missing), base=vector_base(identity.number)
            )
            cosines |= strongest_parts(vector_keys.tolist(), products(vectors, query))
        return cosines

    def forget_files(self) -> None:
        """Delete the cache files, whose codes may contain purged vectors."""
        for file in self._files("*"):
            file.unlink(missing_ok=True)

    def close(self, connection: sqlite3.Connection) -> None:
        """Save the coded bands that have changed."""
        with self._lock:
            for key, band in self._bands.items():
                if isinstance(band, CodedBand) and band.repacked:
                    self._save(connection, key, band)
            self._clear()

    def cache_files(self) -> list[Path]:
        """Return the cache files of this store."""
        return self._files(f"{self._store}-*.npz")

    def check(self, connection: sqlite3.Connection, files: Sequence[Path]) -> Iterator[Problem]:
        """Compare cache files with the store.

        Args:
            connection: A connection inside a read transaction.
            files: The files that were there before it began.
        """
        for file in files:
            try:
                fault = None if read_cache(file).belongs_to(connection) else "was made from another state of the store"
            except FileNotFoundError:
                continue  # replaced by a newer one
            except Exception as exc:  # noqa: BLE001 - a file may contain anything
                fault = f"cannot be read ({exc})"
            if fault is not None:
                detail = f"the vector cache {file} {fault}; it is not used and may be deleted"
                yield Problem(code="vector_cache", detail=detail)

    # Applying events

    def _catch_up(self, statements: SqliteStatements, identity: Identity) -> None:
        """Let the bands have the state that a snapshot sees."""
        seq = statements.moment().seq
        if identity != self._identity:
            self._identity = identity
            self._clear()
        elif seq > self._seq and self._bands:
            changed = statements.changed_since(self._seq)
            self._applied.append(_Applied(self._seq, changed))
            self._apply(statements.connection, changed)
        elif seq < self._seq and self._bands:
            self._apply(statements.connection, self._applied_since(seq))
        self._seq = seq

    def _applied_since(self, seq: int) -> list[int] | None:
        """Return at least the memories whose changes after an event the bands contain; None if that is not known."""
        changed: list[int] = []
        for since, nos in reversed(self._applied):
            changed += nos
            if since <= seq:
                return changed
        return None

    def _clear(self) -> None:
        self._bands.clear()
        self._strengths.clear()
        self._applied.clear()

    def _apply(self, connection: sqlite3.Connection, changed: Sequence[int] | None) -> None:
        """Read again what was changed; all bands if that is not known, or too much."""
        if changed is None or len(changed) > _MOST_CHANGES:
            self._clear()
            return
        self._strengths.discard(changed)
        for band in self._bands.values():
            for no in changed:
                band.discard(no)
        for key, nos in _bands_of(connection, changed).items():
            if key in self._bands:
                keys, vectors = self._read_memories(connection, nos)
                self._bands[key].add(keys, vectors)

    # Searching one band

    def _nearest(
        self, statements: SqliteStatements, key: BandKey, query: Vectors, limit: int, where: Filter
    ) -> tuple[Numbers, Vectors]:
        """Return up to `limit` memories and their strengths, best first; a memory counts with its nearest part."""
        band = self._band(statements.connection, key)
        if not len(band):
            return np.empty(0, np.int64), np.empty(0, np.float32)
        wanted = limit if band.exact else max(limit, LEAST_RESCORED)
        while True:
            keys, strengths = self._search_band(statements, key, band, query, wanted, where)
            nos = keys >> PART_BITS
            # Not numpy's unique, which loads masked arrays the first time: a hook would wait for them.
            memories = len(set(nos.tolist()))
            if memories >= limit or len(keys) < wanted:
                break
            wanted *= 2
        if band.exact and memories == len(nos):
            return nos[:limit], strengths[:limit]
        if not band.exact:
            keys, strengths = self._rescored(statements.connection, keys, query)
            nos = keys >> PART_BITS
        if memories != len(nos):
            # The nearest part of each memory comes first.
            order = np.lexsort((-strengths, nos))
            nos, first = np.unique(nos[order], return_index=True)
            strengths = strengths[order][first]
        return best(nos, strengths, limit)

    def _rescored(self, connection: sqlite3.Connection, keys: Numbers, query: Vectors) -> tuple[Numbers, Vectors]:
        """Return the exact strengths of those keys that have vectors."""

        def compare(missing: Numbers) -> tuple[Numbers, Vectors]:
            found, vectors = self._read(connection, "vectors_of", keys=json.dumps((missing + self._base).tolist()))
            return found, products(vectors, query)

        return self._strengths.strengths(query, keys, compare)

    def _search_band(
        self, statements: SqliteStatements, key: BandKey, band: Band, query: Vectors, wanted: int, where: Filter
    ) -> tuple[Numbers, Vectors]:
        """Return up to `wanted` (keys, strengths) of the memories that a filter lets through, best first."""
        if not where.selective:
            return band.search(query, wanted, None)
        allowed = self._filters.known(statements, key, where)
        if allowed is None:
            near = _nearest_allowed(statements, band, query, wanted, where)
            if near is not None:
                return near
            allowed = self._filters.read(statements, key, where)
        return band.search(query, wanted, allowed)

    # Loading and saving bands

    def _band(self, connection: sqlite3.Connection, key: BandKey) -> Band:
        band = self._bands.get(key)
        if band is None:
            band = self._bands[key] = self._cached(connection, key) or self._built(connection, key)
            self._drop_least_used()
        self._bands.move_to_end(key)
        return band

    def _drop_least_used(self) -> None:
        """Drop bands until the rest fits into memory; the last one always stays."""
        size = sum(band.size for band in self._bands.values())
        while len(self._bands) > 1 and (size > self._most_bytes or len(self._bands) > _MOST_BANDS):
            _, dropped = self._bands.popitem(last=False)
            size -= dropped.size

    def _built(self, connection: sqlite3.Connection, key: BandKey) -> Band:
        """Read a band from the store, in batches, so that a large one is never in memory as a whole."""
        exact = ExactBand(self._dimensions)
        coded: CodedBand | None = None
        cursor = connection.execute(
            SQL["vectors_of_place"], {"base": self._base, "space": key.space, "tier": key.tier.rank}
        )
        while rows := cursor.fetchmany(_BATCH):
            keys, vectors = self._decoded(rows)
            if coded is not None:
                coded.extend(keys, vectors)
                continue
            exact.add(keys, vectors)
            if len(exact) > self._exact_limit and not self._dimensions % CODED_MULTIPLE and coding_available():
                coded = CodedBand.of(exact.keys, exact.vectors)
                exact = ExactBand(self._dimensions)
        if coded is None:
            return exact
        self._save(connection, key, coded)
        return coded

    def _cached(self, connection: sqlite3.Connection, key: BandKey) -> CodedBand | None:
        """Load a large band from its file and apply what happened since; None when there is none."""
        for file in self._files(f"{self._prefix(key)}*.npz"):
            try:
                cache = read_cache(file)
                if not cache.belongs_to(connection):
                    continue
                band = CodedBand.load(str(file.with_suffix(".tvim")), cache.keys)
            except Exception as exc:  # noqa: BLE001 - whatever a file contains, the band is in the store
                _log.warning("the vector cache %s is unusable and will be rebuilt: %s", file, exc)
                file.unlink(missing_ok=True)
                continue
            changed = _changed_since(connection, cache.seq)
            if len(changed) > _STALE_SHARE * len(cache.keys):
                continue
            for no in changed:
                band.discard(no)
            for where, nos in _bands_of(connection, changed).items():
                if where == key:
                    band.add(*self._read_memories(connection, nos))
            return band
        return None

    def _save(self, connection: sqlite3.Connection, key: BandKey, band: CodedBand) -> None:
        if self._folder is None:
            return
        stale = self._files(f"{self._prefix(key)}*")
        # The process id keeps two processes that save at once from mixing their files.
        codes = self._folder / f"{self._prefix(key)}{self._seq}-{os.getpid()}.tvim"
        try:
            create_folder(self._folder)
            write_cache(codes, band, self._seq, origin(connection, self._seq))
            for file in stale:
                if file.stem != codes.stem:
                    file.unlink(missing_ok=True)
        except OSError as exc:
            _log.warning("the vector cache %s could not be written: %s", codes, exc)

    def _prefix(self, key: BandKey) -> str:
        return f"{self._store}-{key.space}-{key.tier}-{self._number}-"

    def _files(self, pattern: str) -> list[Path]:
        return sorted(self._folder.glob(pattern)) if self._folder and self._folder.is_dir() else []

    # Reading vectors

    @property
    def _number(self) -> int:
        return self._identity.number if self._identity else 0

    @property
    def _base(self) -> int:
        return vector_base(self._number)

    @property
    def _dimensions(self) -> int:
        return self._identity.dimensions if self._identity else 0

    def _read_memories(self, connection: sqlite3.Connection, nos: Sequence[int]) -> tuple[Numbers, Vectors]:
        rows: list[VectorRow] = []
        for no in nos:
            rows += connection.execute(SQL["vectors_between"], vector_range(self._number, no)._asdict())
        return self._decoded(rows)

    def _read(self, connection: sqlite3.Connection, name: str, **values: object) -> tuple[Numbers, Vectors]:
        return self._decoded(connection.execute(SQL[name], values).fetchall())

    def _decoded(self, rows: Sequence[VectorRow]) -> tuple[Numbers, Vectors]:
        keys, blobs = zip(*rows, strict=True) if rows else ((), ())
        return np.array(keys, np.int64) - self._base, decoded(blobs, self._dimensions)


def decoded(blobs: Sequence[bytes], dimensions: int) -> Vectors:
    """Return stored vectors as a matrix."""
    return np.frombuffer(b"".join(blobs), "<f4").reshape(len(blobs), dimensions)


def _nearest_allowed(
    statements: SqliteStatements, band: Band, query: Vectors, wanted: int, where: Filter
) -> tuple[Numbers, Vectors] | None:
    """Return what a filter lets through of the nearest, best first; None if that is not enough.

    A filter that lets many through need not be applied to all.
    """
    for multiple in _FILTERED_FIRST:
        keys, strengths = band.search(query, multiple * wanted, None)
        nos = (keys >> PART_BITS).tolist()
        passing = filtered_numbers(statements, nos, where)
        rows = [row for row, no in enumerate(nos) if no in passing][:wanted]
        if len(rows) == wanted:
            return keys[rows], strengths[rows]
    return None


def _changed_since(connection: sqlite3.Connection, seq: int) -> list[int]:
    return [no for (no,) in connection.execute(SQL["events_changed_since"], {"seq": seq})]


def _bands_of(connection: sqlite3.Connection, nos: Sequence[int]) -> dict[BandKey, list[int]]:
    """Return the bands of some memories; those that are not active have none."""
    by_band: dict[BandKey, list[int]] = {}
    for no, space, tier, retention in connection.execute(SQL["places"], {"nos": json.dumps(list(nos))}):
        if retention == 0:
            by_band.setdefault(BandKey(space, tuple(Tier)[tier]), []).append(no)
    return by_band
