"""The memories whose vectors are nearest to that of a query, and nothing else of a recall."""

from __future__ import annotations

from memotherm.model import Memory
from memotherm.recall.values import Question
from memotherm.storage.store import Store
from memotherm.vectors.vectorizer import Vectorizer

__all__ = ["nearest"]


def nearest(store: Store, vectorizer: Vectorizer, question: Question, limit: int) -> list[tuple[Memory, float]]:
    """Return memories and their cosines, nearest first; none if the query has no vector."""
    query = vectorizer.for_query(question.text)
    if query.vector is None or limit == 0:
        return []
    with store.snapshot():
        cosines = store.search_vector(
            question.spaces, question.tiers, query.vector, limit, question.where, query.identity
        )
        records = store.records(list(cosines))
        return [(records[no].memory, cosine) for no, cosine in cosines.items()]
