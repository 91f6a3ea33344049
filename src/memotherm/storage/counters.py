"""The counters of memories and tokens by space, tier and retention, as a transaction changes them."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from memotherm.storage.statements import Statements
from memotherm.storage.values import Record

__all__ = ["CounterChanges", "counter_key"]


class _CounterKey(NamedTuple):
    """The key of a counter."""

    space: int
    tier: int
    retention: int


class CounterChanges:
    """What a transaction adds to the counters; it is written once, at its end."""

    def __init__(self) -> None:
        #: Memories and tokens by counter.
        self._changes: defaultdict[_CounterKey, list[int]] = defaultdict(lambda: [0, 0])

    def add(self, record: Record) -> None:
        """Count a new memory."""
        self._add(record, 1)

    def move(self, before: Record, after: Record) -> None:
        """Count a memory as it is after a change."""
        self._add(before, -1)
        self._add(after, 1)

    def write(self, statements: Statements) -> None:
        """Update the counters, in the order of their keys, to prevent deadlocks."""
        for key, (memories, tokens) in sorted(self._changes.items()):
            if memories or tokens:
                statements.run("counter_add", **key._asdict(), memories=memories, tokens=tokens)

    def _add(self, record: Record, sign: int) -> None:
        changed = self._changes[counter_key(record)]
        changed[0] += sign
        changed[1] += sign * record.memory.tokens


def counter_key(record: Record) -> _CounterKey:
    """Return the counter that counts a memory."""
    return _CounterKey(record.space, record.memory.tier.rank, record.memory.retention.rank)
