"""Searches of a store by words and by vectors, and what ranking needs of their results.

Active memories are found by the indexes. Archived, deleted, proposed and expired ones are in no index: one statement
selects them with the scope, the tiers, the retentions and the conditions of the search, once in a snapshot. Their words
are compared here, their vectors as those of active ones.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from memotherm.model import Priority, Retention
from memotherm.model.clock import to_micros
from memotherm.model.memory import author_of
from memotherm.storage.candidates import Candidates, candidate_row
from memotherm.storage.filters import hidden_rows, passing_rows
from memotherm.storage.memories import MemoryStore
from memotherm.storage.transaction import indexed_words
from memotherm.storage.values import CandidateRow, Identity, Record, Scores, Search, TextMatches

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

#: At this time, nothing has expired.
_FIRST_MOMENT = 0


class _Hidden(NamedTuple):
    """The memories of a search that are in no index."""

    records: Mapping[int, Record]
    candidates: Candidates


class SearchStore(MemoryStore):
    """The part of a store that searches; a subclass says how its database finds active memories."""

    def search_text(self, search: Search, words: Sequence[str], limit: int) -> TextMatches:
        """Return the best keyword matches, strongest first, and how many memories contain each word."""
        if not search.hidden:
            return self._active_matches(search, words, limit)
        found, (_, hidden) = TextMatches({}, 0, dict.fromkeys(words, 0)), self._hidden(search)
        if Retention.ACTIVE in search.retentions:
            found = self._active_matches(search, words, limit)
        candidates, counts = hidden, hidden.have(words).sum(axis=0).tolist()
        if found.scores:
            candidates = hidden.joined([self.active(list(found.scores))])
        # A word weighs the same in active and hidden memories.
        total = found.total + len(hidden)
        frequencies = {word: found.frequencies[word] + count for word, count in zip(words, counts, strict=True)}
        weights = [math.log(1 + max(total - count + 0.5, 0.0) / (count + 0.5)) for count in frequencies.values()]
        strengths = (candidates.have(words) @ weights).tolist() if words else ()
        scores = zip(candidates.no.tolist(), strengths, strict=False)
        return TextMatches(_best({no: score for no, score in scores if score}, limit), total, frequencies)

    def search_vector(self, search: Search, vector: Vectors, limit: int, by: Identity | None = None) -> Scores:
        """Return the memories with the nearest vectors `by` an embedder (None = the serving one), nearest first."""
        if not search.hidden:
            return self._active_nearest(search, vector, limit, by)
        found = self.similarities(search, list(self._hidden(search).records), vector, by)
        if Retention.ACTIVE in search.retentions:
            found |= self._active_nearest(search, vector, limit, by)
        return _best(found, limit)

    @abstractmethod
    def similarities(
        self, search: Search, nos: Sequence[int], vector: Vectors, by: Identity | None = None
    ) -> dict[int, float]:
        """Return the cosine of each of some memories that has vectors; its nearest part counts.

        Most of them are in the spaces and tiers of the search.
        """

    def candidates(self, search: Search, nos: Sequence[int]) -> Candidates:
        """Return what ranking needs of those of some memories that a search lets through."""
        if not search.hidden:
            return self._active_candidates(search, nos)
        hidden = self._hidden(search)
        own = hidden.candidates.where(np.isin(hidden.candidates.no, list(nos)))
        if Retention.ACTIVE not in search.retentions:
            return own
        return self._active_candidates(search, [no for no in nos if no not in hidden.records]).joined([own])

    def active(self, nos: Sequence[int]) -> Candidates:
        """Return those of some memories that are active, in any space and tier: the turns before a message."""
        return Candidates.of(map(candidate_row, self._rows("candidates", nos=list(nos), now=_FIRST_MOMENT)))

    def pinned(self, search: Search) -> list[Record]:
        """Return the pinned memories of some spaces, oldest first, in any tier if they are active."""
        if not search.hidden:
            return self._active_pinned(search)
        hidden = self._hidden(search).records.values()
        pinned = [record for record in hidden if record.fields.priority is Priority.PINNED]
        if Retention.ACTIVE in search.retentions:
            pinned += self._active_pinned(search)
        return sorted(pinned, key=attrgetter("no"))

    def _hidden(self, search: Search) -> _Hidden:
        """Return the hidden memories of a search, which are known if it was the last one of the same snapshot."""
        with self._reading() as statements:
            known, hidden = statements.hidden
            if known != search or not statements.committed:
                records = self._converted(statements, hidden_rows(statements, search))
                hidden = _Hidden({record.no: record for record in records}, Candidates.of(map(_row, records)))
                statements.hidden = search, hidden
            found: _Hidden = hidden
            return found

    # Active memories

    @abstractmethod
    def _active_matches(self, search: Search, words: Sequence[str], limit: int) -> TextMatches:
        """Return the best keyword matches among active memories."""

    @abstractmethod
    def _active_nearest(self, search: Search, vector: Vectors, limit: int, by: Identity | None) -> Scores:
        """Return the active memories with the nearest vectors."""

    def _active_candidates(self, search: Search, nos: Sequence[int]) -> Candidates:
        with self._reading(once=not search.selective) as statements:
            ranks = {tier.rank for tier in search.tiers}
            rows = statements.rows("candidates", nos=list(nos), now=to_micros(search.now))
            rows = [row for row in rows if row[2] in ranks and row[1] in search.spaces]
            candidates = Candidates.of(map(candidate_row, passing_rows(statements, rows, search)))
            candidates.add_uses(statements.unwritten)
            return candidates

    def _active_pinned(self, search: Search) -> list[Record]:
        return self._records("pinned", spaces=list(search.spaces), now=to_micros(search.now))


def _row(record: Record) -> CandidateRow:
    memory = record.memory
    return CandidateRow(
        no=record.no,
        space=record.space,
        tier=memory.tier.rank,
        priority=memory.priority.rank,
        kind=memory.kind,
        created_at=to_micros(memory.created_at),
        accessed_at=math.nan if memory.accessed_at is None else to_micros(memory.accessed_at),
        access_count=memory.access_count,
        text=indexed_words(memory.content, memory.tags),
        author=author_of(memory),
    )


def _best(scores: Mapping[int, float], limit: int) -> Scores:
    """Return the highest scores, highest first, newest first among equals."""
    return dict(sorted(scores.items(), key=lambda pair: (-pair[1], -pair[0]))[:limit])
