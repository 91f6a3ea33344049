"""One question, two searches, one order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from thermocline.clock import to_micros
from thermocline.model import Priority, Tier
from thermocline.rank import Evidence, Ranked, Weights, rank, text_scores
from thermocline.services.vectors import Vectorizer
from thermocline.settings import Settings
from thermocline.storage.store import Candidate, Filter, Found, Record, Store
from thermocline.text.words import query_words

__all__ = ["Question", "Ranking", "Search"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A query with everything that limits its answer, except how many hits are wanted."""

    text: str
    spaces: tuple[int, ...]
    tiers: tuple[Tier, ...]
    where: Filter
    min_score: float
    #: Whether lower tiers rank lower (queries that span all tiers).
    penalise: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Ranking:
    """All candidates in order, pinned ones apart, and what did not work."""

    ranked: list[Ranked] = field(default_factory=list)
    pinned: list[tuple[Record, Ranked]] = field(default_factory=list)
    degraded: tuple[str, ...] = ()


class Search:
    """Hybrid search over one store."""

    def __init__(self, store: Store, vectorizer: Vectorizer, settings: Settings) -> None:
        self._store = store
        self._vectorizer = vectorizer
        self._settings = settings

    def rank(self, question: Question) -> Ranking:
        """Return every candidate of both legs in order; the pool does not depend on any limit."""
        weights = Weights.of(self._settings, penalise=question.penalise)
        now = to_micros(question.where.now)
        vector, degraded = self._vector_leg(question)
        text = self._text_leg(question)
        nos = list(dict.fromkeys([*vector, *text]))
        shown = self._store.candidates(question.spaces, question.tiers, nos, question.where)
        evidence = [_evidence(each, vector, text) for each in shown.values()]
        pinned = self._pinned(question, vector, text)
        return Ranking(
            ranked=rank(
                [each for each in evidence if each.priority is not Priority.PINNED],
                weights,
                now,
                question.min_score,
            ),
            pinned=[(record, rank([each], weights, now, 0.0)[0]) for record, each in pinned],
            degraded=degraded,
        )

    def _vector_leg(self, question: Question) -> tuple[dict[int, float], tuple[str, ...]]:
        """Return calibrated relevance by memory, and what is missing from it."""
        vector, reason = self._vectorizer.for_query(question.text)
        if vector is None:
            return {}, (reason,) if reason else ()
        found = self._store.search_vector(
            question.spaces, question.tiers, vector, self._settings.pool_size, question.where
        )
        waiting = self._store.pending(question.spaces)
        degraded = (f"{waiting} memories wait for their vectors: run reembed",) if waiting else ()
        return self._relevance(found), degraded

    def _relevance(self, found: Sequence[Found]) -> dict[int, float]:
        import numpy as np

        cosines = np.array([each.strength for each in found], np.float64)
        relevance = self._vectorizer.calibration().relevance(cosines)
        return dict(zip((each.no for each in found), relevance.tolist(), strict=True))

    def _text_leg(self, question: Question) -> dict[int, float]:
        found = self._store.search_text(
            question.spaces, question.tiers, query_words(question.text), self._settings.pool_size, question.where
        )
        return text_scores({each.no: each.strength for each in found})

    def _pinned(
        self, question: Question, vector: dict[int, float], text: dict[int, float]
    ) -> list[tuple[Record, Evidence]]:
        """Return the pinned memories that the filter allows, from any tier, oldest first."""
        records = self._store.pinned(question.spaces, question.where.now)
        if not records:
            return []
        allowed = self._store.candidates(
            question.spaces, tuple(Tier), [record.no for record in records], question.where
        )
        return [(record, _evidence(allowed[record.no], vector, text)) for record in records if record.no in allowed]


def _evidence(each: Candidate, vector: dict[int, float], text: dict[int, float]) -> Evidence:
    return Evidence(
        no=each.no,
        vector=vector.get(each.no),
        text=text.get(each.no),
        priority=each.priority,
        tier=each.tier,
        access_count=each.access_count,
        accessed_at=each.accessed_at,
    )
