"""One transaction on a PostgreSQL store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memotherm.model import Retention, Scope
from memotherm.storage.postgres.statements import PostgresStatements
from memotherm.storage.postgres.textindex import add_text
from memotherm.storage.transaction import SqlTransaction
from memotherm.storage.values import Record

__all__ = ["HIDDEN", "PostgresTransaction"]

#: The tier of the vectors of a memory that must not be found.
HIDDEN = 3
#: How many numbers are fetched ahead at most; what is left over at the end is lost, as numbers may be.
_MOST_AHEAD = 64

Vectors = NDArray[np.float32]


class _CounterKey(NamedTuple):
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


class PostgresTransaction(SqlTransaction):
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
        #: Memories and tokens that each place has won or lost.
        self._counted: defaultdict[_CounterKey, list[int]] = defaultdict(lambda: [0, 0])

    def finish(self) -> None:
        """Write what has been counted, in the same order as everybody else."""
        for place, (memories, tokens) in sorted(self._counted.items()):
            if memories or tokens:
                self._sql.run("counter_add", **place._asdict(), memories=memories, tokens=tokens)

    def _next_seq(self) -> int:
        return self._seqs.next()

    def _next_numbers(self) -> tuple[int, int]:
        return self._numbers.next(), self._seqs.next()

    def _index(self, record: Record) -> None:
        self._add_text(record)
        self._count(record, 1)

    def _reindex(self, record: Record, changed: Record, *, words: bool) -> None:
        there, here = _place(record), _place(changed)
        self._count(record, -1)
        self._count(changed, 1)
        if there == here and not words:
            return
        active = record.memory.retention is changed.memory.retention is Retention.ACTIVE
        if active and record.space == changed.space and not words:
            self._sql.run("text_place", no=record.no, tier=changed.memory.tier.rank)
        else:
            self._sql.run("text_drop", no=record.no)
            self._add_text(changed)
        if there != here:
            self._sql.run("vectors_place", no=changed.no, space=changed.space, tier=_shown_tier(changed))

    def _add_text(self, record: Record) -> None:
        """Make a memory findable by its words, if it may be found."""
        memory = record.memory
        if memory.retention is Retention.ACTIVE:
            add_text(self._sql, record.no, record.space, memory.tier.rank, memory.content, memory.tags)

    def _count(self, record: Record, sign: int) -> None:
        counted = self._counted[_place(record)]
        counted[0] += sign
        counted[1] += sign * record.memory.tokens

    def _made_by(self, number: int) -> dict[str, object]:
        return {"number": number}

    def _store_vectors(self, number: int, record: Record, vectors: Vectors) -> None:
        place = {"number": number, "no": record.no, "space": record.space, "tier": _shown_tier(record)}
        self._sql.run_many("vector_add", [{**place, "part": part, "vector": each} for part, each in enumerate(vectors)])

    def _drop_vectors_of(self, number: int, no: int) -> None:
        self._sql.run("vectors_drop", number=number, no=no)

    def _drop_embedder(self, number: int) -> None:
        self._sql.run("vectors_drop_all", number=number)


def _place(record: Record) -> _CounterKey:
    return _CounterKey(record.space, record.memory.tier.rank, record.memory.retention.rank)


def _shown_tier(record: Record) -> int:
    return record.memory.tier.rank if record.memory.retention is Retention.ACTIVE else HIDDEN
