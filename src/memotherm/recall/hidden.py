"""Search that also finds archived, deleted and expired memories, which are in no index.

The store selects them by one statement for each tier, with the scope, the retention and the filters of the query
in it. Their words are compared here, their vectors by the store; the other stages are those of every recall.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memotherm.model import Priority, Retention, Tier
from memotherm.model.clock import to_micros
from memotherm.model.memory import author_of
from memotherm.recall.evidence import has_terms
from memotherm.recall.mentioned import pages
from memotherm.recall.values import Question
from memotherm.storage.candidates import Candidates
from memotherm.storage.store import Store
from memotherm.storage.transaction import indexed_words
from memotherm.storage.values import CandidateRow, Filter, Find, Identity, Record, Scores, Search, TextMatches

if TYPE_CHECKING:
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

_PAGE = 1000


@dataclass(frozen=True, slots=True)
class _Hidden:
    record: Record
    words: str


class WithHidden:
    """A store whose searches also find hidden memories of some retentions.

    Args:
        store: The store.
        question: The query whose scope and filters select the hidden memories.
        retentions: Which memories to find; without active, only hidden ones.
    """

    def __init__(self, store: Store, question: Question, retentions: Sequence[Retention]) -> None:
        self._store = store
        self._question = question
        self._retentions = tuple(retentions)
        self._with_active = Retention.ACTIVE in retentions
        self._hidden: dict[int, _Hidden] = {}

    @contextmanager
    def snapshot(self, search: Search | None = None) -> Iterator[int | None]:
        """Let all reads see one state of the store, and select the hidden memories of that state."""
        with self._store.snapshot(search) as seen:
            self._hidden = {
                record.no: _Hidden(record, indexed_words(record.memory.content, record.memory.tags))
                for record in self._selected()
            }
            yield seen

    def _selected(self) -> Iterator[Record]:
        """Yield the hidden memories that the scope and the filters of the query let through."""
        question = self._question
        where = question.where
        for tier in question.tiers:
            find = Find(
                **{name: getattr(where, name) for name in Filter.__slots__} | {"tier": tier},
                retention=None if self._with_active else self._retentions[0],
                hidden=self._with_active,
                limit=_PAGE,
            )
            yield from pages(self._store, question.spaces, find)

    def find(self, spaces: Sequence[int], find: Find) -> list[Record]:
        """Return a page of a listing, such as that of the aliases, as the store has it."""
        return self._store.find(spaces, find)

    def pinned(self, spaces: Sequence[int], now: datetime) -> list[Record]:
        """Return the pinned memories, oldest first."""
        pinned = [each.record for each in self._hidden.values() if each.record.memory.priority is Priority.PINNED]
        return sorted([*pinned, *(self._store.pinned(spaces, now) if self._with_active else ())], key=_number)

    def records(self, nos: Sequence[int]) -> Mapping[int, Record]:
        """Return memories by number."""
        return self._store.records(nos)

    def pending(self, spaces: Sequence[int]) -> int:
        """Return the number of visible memories without vectors."""
        return self._store.pending(spaces) if self._with_active else 0

    def recall_problems(self) -> list[str]:
        """Return a sentence about each thing that is wrong with what recalls read."""
        return self._store.recall_problems()

    def candidates(self, spaces: Sequence[int], tiers: Sequence[Tier], nos: Sequence[int], where: Filter) -> Candidates:
        """Return those of some memories that scope, tiers, retention and filter let through."""
        shown = [no for no in nos if no not in self._hidden]
        hidden = Candidates.of(_row(self._hidden[no]) for no in nos if no in self._hidden)
        return self._store.candidates(spaces, tiers, shown, where).joined([hidden])

    def search_text(
        self, spaces: Sequence[int], tiers: Sequence[Tier], words: Sequence[str], limit: int, where: Filter
    ) -> TextMatches:
        """Return the best keyword matches, strongest first; a word weighs the same in active and hidden memories."""
        hidden = Candidates.of(map(_row, self._hidden.values()))
        counts: list[int] = has_terms(hidden, words).sum(axis=0).tolist()
        candidates, total = hidden, len(hidden)
        if self._with_active:
            found = self._store.search_text(spaces, tiers, words, limit, where)
            candidates = hidden.joined([self._store.active(list(found.scores))])
            counts = [count + found.frequencies[word] for word, count in zip(words, counts, strict=True)]
            total += found.total
        weights = [math.log(1 + max(total - count + 0.5, 0.0) / (count + 0.5)) for count in counts]
        strengths = (has_terms(candidates, words) @ weights).tolist() if words else ()
        scores = zip(candidates.no.tolist(), strengths, strict=False)
        best = _best({no: strength for no, strength in scores if strength}, limit)
        return TextMatches(best, total, dict(zip(words, counts, strict=True)))

    def search_vector(
        self,
        spaces: Sequence[int],
        tiers: Sequence[Tier],
        vector: Vectors,
        limit: int,
        where: Filter,
        by: Identity | None = None,
    ) -> Scores:
        """Return the memories with the nearest vectors, nearest first."""
        found = dict(self._store.search_vector(spaces, tiers, vector, limit, where, by)) if self._with_active else {}
        return _best(found | self._store.similarities(spaces, tiers, list(self._hidden), vector, by), limit)

    def similarities(
        self,
        spaces: Sequence[int],
        tiers: Sequence[Tier],
        nos: Sequence[int],
        vector: Vectors,
        by: Identity | None = None,
    ) -> dict[int, float]:
        """Return the cosine of each of the memories that has vectors."""
        return self._store.similarities(spaces, tiers, nos, vector, by)

    def active(self, nos: Sequence[int]) -> Candidates:
        """Return those of some memories that are active, in any space and tier."""
        return self._store.active(nos)


def _row(hidden: _Hidden) -> CandidateRow:
    record, memory = hidden.record, hidden.record.memory
    return CandidateRow(
        no=record.no,
        space=record.space,
        tier=memory.tier.rank,
        priority=memory.priority.rank,
        kind=memory.kind,
        created_at=to_micros(memory.created_at),
        accessed_at=math.nan if memory.accessed_at is None else to_micros(memory.accessed_at),
        access_count=memory.access_count,
        text=hidden.words,
        author=author_of(memory),
    )


def _best(scores: Mapping[int, float], limit: int) -> Scores:
    """Return the highest scores, highest first, newest first among equals."""
    ordered: Iterable[tuple[int, float]] = sorted(scores.items(), key=lambda pair: (-pair[1], -pair[0]))
    return dict(list(ordered)[:limit])


def _number(record: Record) -> int:
    return record.no
