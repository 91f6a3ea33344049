"""From a ranking to hits, and a line in the log of recalls."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memotherm.model import Hit, Move, Priority, Recall
from memotherm.recall.search import Question, Ranking, Search
from memotherm.settings import Settings
from memotherm.storage.contract import Store
from memotherm.storage.values import RecallEntry

__all__ = ["Recaller"]

_CANDIDATES_LOGGED = 50


@dataclass(frozen=True, slots=True)
class _Answer:
    """Hits with their numbers in the store."""

    hits: tuple[Hit, ...]
    nos: tuple[int, ...]


class Recaller:
    """Answers questions, counts the use of what it returned, and keeps the log."""

    def __init__(self, store: Store, search: Search, settings: Settings) -> None:
        self._store = store
        self._search = search
        self._settings = settings

    def recall(
        self,
        question: Question,
        limit: int,
        *,
        promote: Callable[[Sequence[Hit]], tuple[list[Move], tuple[str, ...]]] | None = None,
        track: bool = True,
        average: bool = False,
    ) -> Recall:
        """Answer a question.

        Args:
            question: What is asked, and where to look.
            limit: How many hits beside the pinned ones.
            promote: Called with the hits; moves those that earned it and returns the moves, and the rules that failed.
            track: Whether this counts as a use of the hits.
            average: Whether the running relevance of the hits moves half-way to that of this query.
        """
        started = time.perf_counter_ns()
        ranking = self._search.rank(question, limit)
        answer = self._answer(ranking, limit)
        promoted, failures = ([], ()) if promote is None else promote(answer.hits)
        recall = Recall(
            query=question.text,
            hits=answer.hits,
            promoted=tuple(move.id for move in promoted),
            tiers=question.tiers,
            degraded=(*ranking.degraded, *failures),
        )
        entry = self._entry(question, ranking, answer, recall, track=track, average=average and track)
        micros = (time.perf_counter_ns() - started) // 1000
        if self._settings.log_recalls != "off" or track:
            self._store.log_recall(entry(micros), keep=self._settings.log_recalls != "off")
        return recall

    def _answer(self, ranking: Ranking, limit: int) -> _Answer:
        """Return the pinned memories, then the best of the rest."""
        best = ranking.ranked[:limit]
        records = self._search.records([each.no for each in best])
        pinned = sorted(ranking.pinned, key=lambda each: (-each[1].score, each[0].no))
        found = [*pinned, *((records[each.no], each) for each in best if each.no in records)]
        return _Answer(
            hits=tuple(Hit(memory=record.memory, score=ranked.score, why=ranked.why) for record, ranked in found),
            nos=tuple(record.no for record, _ in found),
        )

    def _entry(
        self, question: Question, ranking: Ranking, answer: _Answer, recall: Recall, *, track: bool, average: bool
    ) -> Callable[[int], RecallEntry]:
        """Return what completes the log's entry with the time that the recall took."""
        numbers = {hit.memory.id: no for no, hit in zip(answer.nos, answer.hits, strict=True)}
        searched = [hit for hit in answer.hits if hit.memory.priority is not Priority.PINNED]
        best = max((hit.why.relevance for hit in searched), default=0.0)
        relevance = [
            (no, (hit.memory.relevance + hit.why.relevance) / 2)
            for no, hit in zip(answer.nos, answer.hits, strict=True)
        ]

        def entry(micros: int) -> RecallEntry:
            return RecallEntry(
                at=question.where.now,
                space=question.spaces[-1] if question.spaces else None,
                query=self._logged(question.text),
                tiers=question.tiers,
                micros=micros,
                candidates=[(each.no, each.score) for each in ranking.ranked[:_CANDIDATES_LOGGED]],
                returned=answer.nos,
                promoted=[numbers[memory_id] for memory_id in recall.promoted],
                degraded=recall.degraded,
                best=best,
                found=bool(searched) and best >= self._settings.hit_threshold,
                touched=answer.nos if track else (),
                relevance=relevance if average else (),
            )

        return entry

    def _logged(self, query: str) -> str:
        if self._settings.log_recalls == "text":
            return query
        return hashlib.sha256(query.encode()).hexdigest()
