"""Uses of memories that are not written yet, and the rows of the store as they will be afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from memotherm.storage.rows import COLUMNS
from memotherm.storage.values import Use

__all__ = ["NOTHING_WAITS", "TimedUse", "WaitingUses"]

_ACCESSED, _COUNT, _RECENT, _WEIGHT, _USED = (
    COLUMNS.index(name) for name in ("accessed_at", "access_count", "recent_uses", "use_weight", "last_used_at")
)


#: A use of a memory, and its moment in microseconds.
TimedUse = tuple[Use, int]


class WaitingUses:
    """The uses that rows of a store lack, by memory and in order."""

    def __init__(self, uses: Iterable[TimedUse] = ()) -> None:
        self._of: dict[int, list[TimedUse]] = {}
        #: How often each memory was used, and the moment of its last use.
        self._totals: dict[int, tuple[int, int]] = {}
        self.add(uses)

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._of)

    def __iter__(self) -> Iterator[int]:
        """Iterate over the numbers of the memories."""
        return iter(self._of)

    def add(self, uses: Iterable[TimedUse]) -> None:
        """Add uses that are later than those before."""
        for use, at in uses:
            self._of.setdefault(use.no, []).append((use, at))
            times, _ = self._totals.get(use.no, (0, at))
            self._totals[use.no] = (times + use.times, at)

    def counted_in(self, row: tuple[Any, ...], window_micros: int) -> tuple[Any, ...]:
        """Return a row of `COLUMNS` as the statement `memory_use` changes it."""
        uses = self._of.get(row[0])
        if uses is None:
            return row
        fields = list(row)
        for (_, weight, times), at in uses:
            fields[_COUNT] += times
            fields[_ACCESSED] = at
            if weight:
                within = fields[_USED] is not None and fields[_USED] > at - window_micros
                fields[_RECENT] = weight + (fields[_RECENT] if within else 0)
                fields[_WEIGHT] += weight
                fields[_USED] = at
        return tuple(fields)

    def total(self, no: int) -> tuple[int, int]:
        """Return how often a memory was used, and the moment of the last use."""
        return self._totals[no]

    def totals(self, nos: Iterable[int]) -> list[tuple[int, int, int]]:
        """Return the places of memories with uses among some, each with the total of its uses."""
        used = self._totals
        return [(place, *used[no]) for place, no in enumerate(nos) if no in used] if used else []


#: For rows that lack nothing.
NOTHING_WAITS = WaitingUses()
