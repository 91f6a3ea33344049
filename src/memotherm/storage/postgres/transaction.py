"""One transaction on a PostgreSQL store, and the text index that it keeps.

Words are stored as they are, without a dictionary or stemming by the database. One more lexeme names the space of a
memory, so that a search is restricted to its scope inside the index.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from memotherm.model import Retention
from memotherm.storage.postgres.statements import PostgresStatements
from memotherm.storage.rows import claim_rows, counter_key, indexed_words, stored_claims
from memotherm.storage.transaction import Transaction
from memotherm.storage.values import LaterUse, Record
from memotherm.text.words import is_fragment

#: Less than the largest tsvector that PostgreSQL stores (1 MB).
_ROW_BYTES = 1_000_000
#: The bytes of a lexeme beside its letters.
_LEXEME_BYTES = 8


def lexemes(words: Sequence[str], space: int) -> Iterator[str]:
    """Yield a memory's words as lexemes, as many as fit one row at a time."""
    row, free = [_space(space)], _ROW_BYTES
    for word in dict.fromkeys(words):
        needed = len(word.encode()) + _LEXEME_BYTES
        if needed > free:
            yield " ".join(row)
            row, free = [_space(space)], _ROW_BYTES
        free -= needed
        row.append(f"'{word}'")
    yield " ".join(row)


def queries(words: Sequence[str], spaces: Sequence[int]) -> list[str]:
    """Return one query for each word, limited to some spaces."""
    where = " | ".join(_space(space) for space in spaces)
    return [f"'{word}'{':*' if is_fragment(word) else ''} & ({where})" for word in words]


def _space(space: int) -> str:
    return f"'#{space}'"


def add_text(statements: PostgresStatements, no: int, space: int, tier: int, content: str, tags: Iterable[str]) -> None:
    """Add a memory to the text index."""
    text = indexed_words(content, tags)
    for part, row in enumerate(lexemes(text.split(), space)):
        words = "" if part else text
        statements.run("text_add", no=no, part=part, space=space, tier=tier, words=words, lexemes=row)


def rebuild(statements: PostgresStatements) -> None:
    """Rebuild the text index and the claims; the statements must be those for all tenants."""
    statements.run("texts_clear")
    statements.run("claims_clear")
    for no, space, tier, content, tags, kind, source in statements.each("indexed"):
        add_text(statements, no, space, tier, content, json.loads(tags) if tags else ())
        statements.run_many("claim_add", claim_rows(no, space, stored_claims(content, kind, source)))


#: The tier of the vectors of a memory that is not active.
HIDDEN = 3
#: How many numbers are fetched ahead at most; what is left over at the end is lost, as numbers may be.
_MOST_AHEAD = 64

Vectors = NDArray[np.float32]


class _Reserve:
    """Numbers of a sequence, fetched ahead: the more a transaction needs, the more at once."""

    def __init__(self, statements: PostgresStatements, sequence: str) -> None:
        self._statements = statements
        self._sequence = sequence
        self._left: list[int] = []
        self._size = 1
        #: How many were requested and not taken yet.
        self._requested = 0

    def expect(self, count: int) -> None:
        """Let the next numbers be fetched at once."""
        self._size = max(self._size, count)

    def request(self) -> None:
        """Send the statement that fetches numbers, if none are left or on their way."""
        if not self._left and not self._requested:
            self._requested = self._size
            self._statements.expect("numbers", sequence=self._sequence, count=self._requested)

    def next(self) -> int:
        """Return the next number."""
        if not self._left:
            rows = self._statements.rows("numbers", sequence=self._sequence, count=self._requested or self._size)
            self._left, self._requested = [number for (number,) in reversed(rows)], 0
            self._size = min(_MOST_AHEAD, 2 * self._size)
        return self._left.pop()


class PostgresTransaction(Transaction):
    """A write transaction; numbers come from sequences."""

    _sql: PostgresStatements

    def _begin(self) -> None:
        self._numbers, self._seqs = _Reserve(self._sql, "memory_numbers"), _Reserve(self._sql, "event_numbers")
        #: The uses that were recorded; the store counts those of memories without a tenant after the commit.
        self.later_uses: list[LaterUse] = []
        #: Digests of contents of which nothing is stored.
        self._new: set[str] = set()

    def add_later_use(self, later: LaterUse) -> bool:
        """Record and count a use that followed a recall; tell whether it was not recorded before."""
        new = super().add_later_use(later)
        if new:
            self.later_uses.append(later)
        return new

    def prefetch_duplicates(self, digests: Collection[str]) -> None:
        """Find out in one round trip which contents are stored, and fetch numbers for all of them."""
        self._request_numbers(len(digests))
        stored = self._sql.rows("digests_stored", digests=[bytes.fromhex(digest) for digest in digests])
        self._new = {*digests} - {digest.hex() for (digest,) in stored}

    def duplicate(
        self, space: int, digest: str, kind: str, now: datetime, since: datetime | None = None
    ) -> Record | None:
        """Return the visible memory of a space with the same content and no key, if it was created since a moment."""
        if digest in self._new:
            return None
        self._request_numbers()
        return super().duplicate(space, digest, kind, now, since)

    def _request_numbers(self, count: int = 1) -> None:
        """Send the statements that fetch the numbers of the next memories and of their events."""
        for reserve in (self._numbers, self._seqs):
            reserve.expect(count)
            reserve.request()

    def _next_seq(self) -> int:
        return self._seqs.next()

    def _next_numbers(self) -> tuple[int, int]:
        self._request_numbers()
        return self._numbers.next(), self._seqs.next()

    def _index(self, record: Record) -> None:
        self._new.discard(record.memory.digest)
        self._add_text(record)

    def _reindex(self, record: Record, changed: Record, *, words: bool) -> None:
        self._new.discard(changed.memory.digest)
        before, after = counter_key(record), counter_key(changed)
        if before == after and not words:
            return
        active = record.memory.retention is changed.memory.retention is Retention.ACTIVE
        if active and record.space == changed.space and not words:
            self._sql.run("text_move", no=record.no, tier=changed.memory.tier.rank)
        else:
            self._sql.run("text_drop", no=record.no)
            self._add_text(changed)
        if before != after:
            self._sql.run("vectors_move", no=changed.no, space=changed.space, tier=_vector_tier(changed))

    def _add_text(self, record: Record) -> None:
        """Add a memory to the text index, if it is active."""
        memory = record.memory
        if memory.retention is Retention.ACTIVE:
            add_text(self._sql, record.no, record.space, memory.tier.rank, memory.content, memory.tags)

    def _store_vectors(self, number: int, record: Record, vectors: Vectors) -> None:
        row = {"number": number, "no": record.no, "space": record.space, "tier": _vector_tier(record)}
        self._sql.run_many(
            "vector_add", [{**row, "part": part, "vector": vector} for part, vector in enumerate(vectors)]
        )


def _vector_tier(record: Record) -> int:
    return record.memory.tier.rank if record.memory.retention is Retention.ACTIVE else HIDDEN
