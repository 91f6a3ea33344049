"""The parts of a long query: a bug report, a plan or a log is searched sentence by sentence.

The words and the vector of a whole report are about everything and close to nothing. Most of its sentences are answered
by no memory; the one that is decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from memotherm.recall.values import Question, Ranked, State
from memotherm.text.phrases import is_filler, sentences

#: A shorter query, or one of fewer sentences, is searched as a whole.
_SHORT, _FEWEST = 200, 3
#: Of a longer one, so many characters at the beginning and at the end are searched: between them are logs and code.
_FIRST, _LAST = 2000, 1000
#: A shorter sentence belongs to the next one.
_LEAST = 25
#: The most parts; each costs as much as a query of its own.
_MOST = 8


def query_parts(query: str) -> list[str]:
    """Return the parts of a query that are searched apart; a short query is its only part."""
    if len(query) <= _SHORT:
        return [query]
    ends = [query] if len(query) <= _FIRST + _LAST else [query[:_FIRST], query[-_LAST:]]
    found: list[str] = []
    short = ""
    for sentence in (each.strip() for end in ends for each in sentences(end) if not is_filler(each)):
        short = f"{short} {sentence}".strip()
        if len(short) >= _LEAST:
            found.append(short)
            short = ""
    if len(found) < _FEWEST:
        return [query]
    size = -(-len(found) // _MOST)
    return [" ".join(found[start : start + size]) for start in range(0, len(found), size)]


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
