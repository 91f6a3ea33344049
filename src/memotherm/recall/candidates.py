"""The candidates stage: a text search and a vector search, and the pinned memories."""

from __future__ import annotations

import math
from collections.abc import Collection

from memotherm.model import Tier
from memotherm.recall.values import State
from memotherm.settings import Settings
from memotherm.storage.store import Store
from memotherm.storage.values import Search
from memotherm.vectors.vectorizer import Vectorizer, missing_vectors

__all__ = ["FindCandidates"]

#: How many candidates are ranked together; measured, more of them change nothing that comes first.
_BLOCK = 100


class FindCandidates:
    """Searches by words and by vector, and reads what ranking needs of the results."""

    def __init__(self, store: Store, vectorizer: Vectorizer, settings: Settings) -> None:
        self._store = store
        self._vectorizer = vectorizer
        self._settings = settings

    def __call__(self, state: State) -> None:
        """Add the candidates in blocks of a fixed size, so that they do not depend on how many are wanted."""
        question, size = state.question, self._size(state)
        state.pinned_records = self._store.pinned(question.all_spaces, question.where.now)
        self._search(state, size)
        nos = _alternate(state.vector_scores, state.text_scores, size)
        for start in range(0, max(1, len(nos)), _BLOCK):
            block = nos[start : start + _BLOCK]
            state.blocks.append(self._store.candidates(question.spaces, question.tiers, block, question.where))
        if state.pinned_records:
            # Pinned memories are candidates in every tier.
            pinned = list({record.no for record in state.pinned_records} - set(state.blocks[0].no.tolist()))
            others = self._store.candidates(question.all_spaces, tuple(Tier), pinned, question.where)
            state.blocks[0] = state.blocks[0].joined([others])

    def search(self, state: State) -> Search:
        """Return what is going to be read first."""
        question, query = state.question, state.query
        return Search(
            spaces=question.spaces,
            tiers=question.tiers,
            where=question.where,
            words=tuple(state.terms),
            vector=query.vector,
            by=query.identity,
            limit=self._size(state),
            pinned_spaces=question.all_spaces,
            pending=self._vectorizer.enabled,
        )

    def _size(self, state: State) -> int:
        return min(self._settings.pool_size, _BLOCK * max(1, math.ceil(state.depth / _BLOCK)))

    def _search(self, state: State, size: int) -> None:
        """Run both searches, and note what is missing."""
        question, query = state.question, state.query
        where = question.where
        matches = self._store.search_text(question.spaces, question.tiers, list(state.terms), size, where)
        state.text_scores, state.total, state.frequencies = matches
        if query.vector is not None:
            state.vector_scores = self._store.search_vector(
                question.spaces, question.tiers, query.vector, size, where, query.identity
            )
        state.degraded += self._store.recall_problems()
        if self._vectorizer.enabled and (waiting := self._store.pending(question.spaces)):
            state.degraded.append(missing_vectors(waiting))


def _alternate(first: Collection[int], second: Collection[int], size: int) -> list[int]:
    """Return the results of two searches, alternating between them, without repetitions."""
    firsts, seconds, both = list(first), list(second), min(len(first), len(second))
    merged = [0] * (2 * both)
    merged[::2], merged[1::2] = firsts[:both], seconds[:both]
    return list(dict.fromkeys(merged + firsts[both:] + seconds[both:]))[:size]
