"""Join what the parts of a long query have found to one ranking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from memotherm.recall.values import Question, Ranked, State

#: How much a place in the ranking of its part costs a candidate, in units of confidence: parts take turns, the one
#: that is answered best first.
_PLACE = 0.05


def joined_parts(states: Sequence[State], question: Question) -> State:
    """Return the state of the part that is answered best, with the candidates of all parts."""
    best = max(states, key=lambda state: state.confidence)
    turns: dict[int, tuple[float, Ranked]] = {}
    for state in states:
        for place, candidate in enumerate(state.ranked):
            turn = state.confidence - _PLACE * place
            if candidate.no not in turns or turn > turns[candidate.no][0]:
                turns[candidate.no] = turn, candidate
    ordered = [candidate for _, candidate in sorted(turns.values(), key=lambda each: -each[0])]
    degraded = [reason for state in states for reason in state.degraded]
    return replace(best, question=question, ranked=_falling(ordered), degraded=degraded)


def _falling(ordered: Sequence[Ranked]) -> list[Ranked]:
    """Return candidates in their order with scores that never rise; `newer` has what was subtracted."""
    limits = accumulate((candidate.score for candidate in ordered), min)
    return [
        candidate._replace(score=limit, newer=candidate.newer - (candidate.score - limit))
        for candidate, limit in zip(ordered, limits, strict=True)
    ]
