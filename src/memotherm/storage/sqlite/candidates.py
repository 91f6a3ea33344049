"""What ranking uses of the memories that were candidates last, in memory.

It is a projection of the ledger, as the bands are. Uses are counted without an event, but each transaction that counts
some has a number: those of this process are added here, and after one of another process the uses are read again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from memotherm.model import Tier
from memotherm.storage.candidates import Candidates
from memotherm.storage.sqlite.candidate_table import CandidateTable, ReadTexts, TakenRows
from memotherm.storage.sqlite.projection import Projection
from memotherm.storage.sqlite.statements import CountedUses, SqliteStatements
from memotherm.storage.values import Filter

__all__ = ["CandidateCache"]


class CandidateCache(Projection):
    """The fields of memories that ranking uses.

    Args:
        capacity: How many bytes they may take; those that were used again stay longer.
        read_texts: Returns the words of some active memories, as one text each; they are not kept.
    """

    def __init__(self, capacity: int, read_texts: ReadTexts) -> None:
        super().__init__(capacity)
        self._read_texts = read_texts
        self._table = CandidateTable()

    def __len__(self) -> int:
        """Return the number of memories in it."""
        return len(self._table.slots)

    @property
    def size(self) -> int:
        """About how many bytes they take."""
        return self._table.size

    def __contains__(self, no: int) -> bool:
        """Return whether a memory is in it."""
        return no in self._table.slots

    def visible(
        self,
        statements: SqliteStatements,
        spaces: Collection[int],
        tiers: Collection[Tier],
        nos: Sequence[int],
        where: Filter,
    ) -> Candidates:
        """Return those memories that scope, tiers, retention, expiry and the filter let through, in their order."""
        visible = self._taken(statements, nos).visible(statements, spaces, tiers, where)
        visible.add_uses(statements.waiting)
        return visible

    def active(self, statements: SqliteStatements, nos: Sequence[int]) -> Candidates:
        """Return those memories that are active, in their order."""
        return self._taken(statements, nos).candidates

    def add_uses(self, counted: CountedUses) -> None:
        """Add the uses that this process has counted, unless the cache is from another time."""
        with self._lock:
            if self._follows(counted):
                self._table.use(counted.uses)

    def _taken(self, statements: SqliteStatements, nos: Sequence[int]) -> TakenRows:
        """Return the rows of the active ones of some memories."""
        with self._lock:
            current = self._catch_up(statements)
            slots = self._table.known(nos) if current else None
            if slots is not None:
                self._table.mark_taken(slots)
                return self._table.taken(slots, self._read_texts)
            missing, outdated = self._unknown(nos) if current else (nos, [])
        read = statements.rows("candidates", nos=list(missing)) if missing else []
        uses = statements.rows("memory_uses", nos=outdated) if outdated else []
        with self._lock:
            if current and self._is_at(statements) and (missing, outdated) == self._unknown(nos):
                self._table.mark_taken(self._table.here(nos))
                self._table.add(read)
                self._table.set_uses(uses)
                taken = self._table.taken(self._table.here(nos), self._read_texts)
                if self._table.size > self._capacity:
                    self._table = self._table.cut(self._capacity // 2)
                return taken
        table = CandidateTable()
        table.add(read if missing is nos else statements.rows("candidates", nos=list(nos)))
        return table.taken(table.here(nos), self._read_texts)

    def _unknown(self, nos: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return those of some memories that are not here, and those whose uses are to be read again."""
        return [no for no in nos if no not in self._table.slots], self._table.outdated(nos)

    def _clear(self) -> None:
        self._table = CandidateTable()

    def _remove(self, nos: Iterable[int]) -> None:
        for no in nos:
            self._table.slots.pop(no, None)

    def _forget_uses(self) -> None:
        self._table.mark_outdated()
