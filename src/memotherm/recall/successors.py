"""Order what a correction has superseded, or perhaps has, behind the correction."""

from __future__ import annotations

from memotherm.recall.confidence import subject_words
from memotherm.recall.rank import SCORE_GAP
from memotherm.recall.values import State, scores_of
from memotherm.statements.replacing import concerns
from memotherm.storage.store import Store

#: How many of the best candidates may be superseded; the others are seldom shown.
_FIRST = 40


class OrderSuccessors:
    """Puts what a correction has superseded behind its successor, if both were found."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __call__(self, state: State) -> None:
        """Let a successor take the place and the score of what it has superseded, if that comes first."""
        scores = dict(scores_of(state.ranked, len(state.ranked)))
        nos = list(scores)
        found = self._store.successors(nos[:_FIRST], nos, state.question.search.now) if len(nos) > 1 else []
        asked = subject_words(state.terms).keys()
        successors = {
            each.no: each.successor for each in found
            # What else a memory says may be what was asked for.
            if not each.parts or scores[each.no] - scores[each.successor] <= SCORE_GAP
            or any(concerns(asked, part, each.content) for part in each.parts)
        }  # fmt: skip
        if not successors:
            return
        ranked = list(state.ranked)
        places = {candidate.no: place for place, candidate in enumerate(ranked)}
        # Each exchange puts one of them right; several may follow each other.
        for _ in range(len(successors) ** 2):
            wrong = next(((old, new) for old, new in successors.items() if places[old] < places[new]), None)
            if wrong is None:
                break
            high, low = (places[no] for no in wrong)
            older, newer = ranked[high], ranked[low]
            gap = older.score - newer.score
            stands_for = older.row if newer.relevance < older.relevance else None
            ranked[high] = newer._replace(score=older.score, newer=newer.newer + gap, stands_for=stands_for)
            ranked[low] = older._replace(score=newer.score, newer=older.newer - gap)
            places |= {older.no: low, newer.no: high}
        state.ranked = ranked
