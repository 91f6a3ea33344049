"""From a ranking to hits: promotion, uses and the log."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memotherm.model import Hit, Move, Recall
from memotherm.model.value import constructor
from memotherm.recall.log import RecallLog
from memotherm.recall.pipeline import Pipeline
from memotherm.recall.values import Question, Ranked
from memotherm.settings import Settings
from memotherm.storage.store import Store
from memotherm.storage.values import Record

__all__ = ["Recaller"]

_new_hit = constructor(Hit)


def _relevances(results: Sequence[tuple[Record, Ranked]]) -> list[tuple[int, float]]:
    """Return the numbers of hits with their relevance."""
    return [(record.no, candidate.relevance) for record, candidate in results]


def _averages(question: Question, results: Sequence[tuple[Record, Ranked]]) -> list[tuple[int, float]]:
    """Return the numbers of hits in the searched spaces with their new running relevance."""
    return [
        (record.no, (record.memory.relevance + candidate.relevance) / 2)
        for record, candidate in results
        if record.space in question.spaces
    ]


def _numbers(promoted: Sequence[str], results: Sequence[tuple[Record, Ranked]]) -> list[int]:
    """Return the numbers of hits that were promoted, in the order of their ids."""
    numbers = {record.memory.id: record.no for record, _ in results} if promoted else {}
    return [numbers[memory_id] for memory_id in promoted]


class Recaller:
    """Answers queries, counts the use of the hits, and writes the log."""

    def __init__(self, store: Store, pipeline: Pipeline, settings: Settings) -> None:
        self._store = store
        self._pipeline = pipeline
        self._log = RecallLog(store, settings)

    def recall(
        self,
        question: Question,
        limit: int,
        *,
        promote: Callable[[Sequence[Hit]], tuple[list[Move], tuple[str, ...]]] | None = None,
        track: bool = True,
        average: bool = False,
    ) -> Recall:
        """Return the pinned memories, then the best of the others.

        Args:
            question: The query, and where to look.
            limit: How many hits beside the pinned ones.
            promote: Called with the hits; moves some of them to hot and returns the moves, and the rules that failed.
            track: Whether this counts as a use of the hits.
            average: Whether the running relevance of the hits in the searched spaces moves half-way to that of
                this query.
        """
        ranking = self._pipeline.run(question, limit)
        best = [(ranking.records[candidate.no], candidate) for candidate in ranking.ranked[:limit]]
        results = [*ranking.pinned, *best]
        hits = tuple([_new_hit(record.memory, candidate.score, candidate.why) for record, candidate in results])
        nos = [record.no for record, _ in results]
        moves, failures = ([], ()) if promote is None else promote(hits)
        promoted = [move.id for move in moves]
        recall_id = self._log.write(
            ranking,
            nos,
            [candidate for _, candidate in best],
            track=track,
            promoted=_numbers(promoted, results),
            relevance=_averages(question, results) if average and track else (),
            options={
                "limit": limit,
                **({"average": True} if average and track else {}),
                **({"promote": True, "seq": self._store.seq()} if promote is not None else {}),
                **({"relevance": _relevances(results)} if promote is not None or average else {}),
            },
        )
        return Recall(
            recall_id=recall_id,
            query=question.text,
            hits=hits,
            promoted=tuple(promoted),
            tiers=question.tiers,
            confidence=ranking.confidence,
            degraded=(*ranking.degraded, *failures),
        )
