"""The rerank stage: an optional model scores the contents of the best candidates."""

from __future__ import annotations

import math

from memotherm.embed.protocol import ScoreTexts
from memotherm.recall.values import State
from memotherm.text.content import pluralize

__all__ = ["Rerank"]


class Rerank:
    """Orders the best candidates by the score of a reranker; the others follow in their order.

    The number of candidates does not depend on the limit of a query, so the answer for a smaller limit begins
    the answer for a larger one. If the reranker fails, the order stays and the recall says so.
    """

    def __init__(self, score: ScoreTexts, count: int) -> None:
        self._score = score
        self._count = count

    def __call__(self, state: State) -> None:
        """Reorder the best candidates."""
        best = state.ranked[: self._count]
        if not best:
            return
        texts = [state.records[candidate.no].memory.content for candidate in best]
        try:
            scores = [float(score) for score in self._score(state.question.text, texts)]
        except Exception as exc:  # noqa: BLE001 - a recall has an answer whatever a plugin raises
            state.degraded.append(f"not reranked: the reranker failed: {type(exc).__name__}: {exc}")
            return
        if len(scores) != len(best):
            returned = f"{pluralize(len(scores), 'score')} for {pluralize(len(best), 'text')}"
            state.degraded.append(f"not reranked: the reranker returned {returned}")
            return
        if any(map(math.isnan, scores)):
            state.degraded.append("not reranked: the reranker returned a score that is not a number")
            return
        scored = [candidate._replace(rerank=score) for candidate, score in zip(best, scores, strict=True)]
        scored.sort(key=lambda candidate: -(candidate.rerank or 0.0))
        state.ranked = [*scored, *state.ranked[self._count :]]
