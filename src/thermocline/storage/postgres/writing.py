"""One transaction on a PostgreSQL store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thermocline.model import Retention, Scope
from thermocline.storage.postgres.statements import PostgresStatements
from thermocline.storage.postgres.textindex import add_text
from thermocline.storage.statements import Row
from thermocline.storage.store import Record
from thermocline.storage.writing import SqlWriting

__all__ = ["HIDDEN", "PostgresWriting"]

#: The tier of the vectors of a memory that must not be found.
HIDDEN = 3
#: How many numbers are fetched ahead at most; what is left over at the end is lost, as numbers may be.
_MOST_AHEAD = 64

Vectors = NDArray[np.float32]


class _Place(NamedTuple):
    """What a counter counts."""

    space: int
    tier: int
    retention: int


class _Reserve:
    """Numbers of a sequence, fetched ahead: the more a transaction needs, the more at once."""

    def __init__(self, statements: PostgresStatements, sequence: str) -> None:
        self._statements = statements
        self._sequence = sequence
        self._left: list[int] = []
        self._size = 1

    def next(self) -> int:
        """Return the next number."""
        if not self._left:
            rows = self._statements.rows("numbers", sequence=self._sequence, count=self._size)
            self._left = [number for (number,) in reversed(rows)]
            self._size = min(_MOST_AHEAD, 2 * self._size)
        return self._left.pop()


class PostgresWriting(SqlWriting):
    """The verbs of one transaction; numbers come from sequences, and counters are added up at its end."""

    def __init__(
        self,
        statements: PostgresStatements,
        scope_of: Callable[[int], Scope],
        window_micros: int,
        made_by: int | None = None,
    ) -> None:
        super().__init__(statements, scope_of, window_micros, made_by)
        self._sql: PostgresStatements = statements
        self._numbers, self._seqs = _Reserve(statements, "memory_numbers"), _Reserve(statements, "event_numbers")
        #: Memories, tokens and words that each place has won or lost.
        self._counted: defaultdict[_Place, list[int]] = defaultdict(lambda: [0, 0, 0])

    def finish(self) -> None:
        """Write what has been counted, in the same order as everybody else."""
        for place, (memories, tokens, words) in sorted(self._counted.items()):
            if memories or tokens or words:
                self._sql.run("counter_add", **place._asdict(), memories=memories, tokens=tokens, words=words)

    def _next_seq(self) -> int:
        return self._seqs.next()

    def _next_numbers(self) -> tuple[int, int]:
        return self._numbers.next(), self._seqs.next()

    def _index(self, record: Record) -> None:
        self._count(record, 1, self._add_text(record))

    def _reindex(self, record: Record, changed: Record, *, words: bool) -> None:
        there, here = _place(record), _place(changed)
        if there == here and not words and record.memory.tokens == changed.memory.tokens:
            return
        lost, won = self._moved_text(record, changed, words=words)
        self._count(record, -1, -lost)
        self._count(changed, 1, won)
        if there != here:
            self._sql.run("vectors_place", no=changed.no, space=changed.space, tier=_shown_tier(changed))

    def _moved_text(self, record: Record, changed: Record, *, words: bool) -> tuple[int, int]:
        """Let the words follow a memory; return how many there were in its old place, and are in its new one."""
        visible = record.memory.retention is Retention.ACTIVE, changed.memory.retention is Retention.ACTIVE
        if visible == (True, True) and not words and record.space == changed.space:
            length = _length(self._sql.rows("text_place", no=record.no, tier=changed.memory.tier.rank))
            return length, length
        lost = _length(self._sql.rows("text_drop", no=record.no)) if visible[0] else 0
        return lost, self._add_text(changed)

    def _add_text(self, record: Record) -> int:
        """Make a memory findable by its words, if it may be found; return how many they are."""
        memory = record.memory
        if memory.retention is not Retention.ACTIVE:
            return 0
        return add_text(self._sql, record.no, record.space, memory.tier.rank, memory.content, memory.tags)

    def _count(self, record: Record, sign: int, words: int) -> None:
        counted = self._counted[_place(record)]
        counted[0] += sign
        counted[1] += sign * record.memory.tokens
        counted[2] += words

    def _made_by(self, number: int) -> dict[str, object]:
        return {"number": number}

    def _store_vectors(self, number: int, record: Record, vectors: Vectors) -> None:
        place = {"number": number, "no": record.no, "space": record.space, "tier": _shown_tier(record)}
        self._sql.run_many("vector_add", [{**place, "part": part, "vector": each} for part, each in enumerate(vectors)])

    def _drop_vectors_of(self, number: int, no: int) -> None:
        self._sql.run("vectors_drop", number=number, no=no)

    def _drop_embedder(self, number: int) -> None:
        self._sql.run("vectors_drop_all", number=number)


def _place(record: Record) -> _Place:
    return _Place(record.space, record.memory.tier.rank, record.memory.retention.rank)


def _shown_tier(record: Record) -> int:
    return record.memory.tier.rank if record.memory.retention is Retention.ACTIVE else HIDDEN


def _length(rows: list[Row]) -> int:
    """Return how many words a memory had, as the first part of its text says."""
    return next((length for part, length in rows if part == 0), 0)
